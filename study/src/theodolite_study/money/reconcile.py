"""Compare the platform's submissions with ours, since webhooks can be lost. Used by the job."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from psycopg.types.json import Jsonb

from theodolite_study.keys import Keys
from theodolite_study.money.platform_link import Connection, PlatformLink, digest_submission
from theodolite_study.money.prolific import Prolific, Submission

OUTCOMES = {"RETURNED": "returned", "TIMED-OUT": "timed_out"}


@dataclass(frozen=True)
class Difference:
    """Numbers of submissions that the platform and we record differently; all should be 0."""

    unknown_here: int = 0
    """Submissions that wait for review or were paid there, and are unknown here."""
    unknown_there: int = 0
    """Submissions known here and missing in the platform's list."""
    out_here_only: int = 0
    """Submissions that ended here some time ago and are still active there."""
    paid_not_owed: int = 0
    """Submissions paid there without an entry in the ledger."""
    owed_not_paid: int = 0
    """Submissions paid according to the ledger, and not there."""
    unreturned: int = 0
    """Submissions paid by a bonus, asked to return, and still waiting for review there. Prolific
    approves them after three weeks and would pay again: a person has to check before."""

    def total(self) -> int:
        """Return the total number of differences."""
        return sum(asdict(self).values())


def reconcile(
    connection: Connection, keys: Keys, link: PlatformLink, client: Prolific
) -> Difference:
    """Apply outcomes that the platform did not report, and store what still differs."""
    theirs = {digest_submission(keys, s.id): s for s in client.submissions(link.external_id)}
    for digest, submission in theirs.items():
        if submission.status in OUTCOMES:
            connection.execute("select job_out(%s, %s)", (digest, OUTCOMES[submission.status]))
    # money that can be settled by what was just read is looked at in the next round
    settled = [d for d, s in theirs.items() if s.status not in ("RESERVED", "ACTIVE")]
    connection.execute(
        "update payout set due_at = clock_timestamp() where study_id = %s"
        " and submission_digest = any (%s) and state = 'owed' and due_at > clock_timestamp()",
        (link.study, settled),
    )
    difference = _difference(connection, link, theirs)
    connection.execute(
        "update platform_link set read_at = clock_timestamp(), difference = %s where study_id = %s",
        (Jsonb(asdict(difference)), link.study),
    )
    return difference


def _difference(
    connection: Connection, link: PlatformLink, theirs: dict[bytes, Submission]
) -> Difference:
    ours = dict(connection.execute(
        "select submission_digest, outcome from participant"
        " where study_id = %s and submission_digest is not null and not preview",
        (link.study,),
    ).fetchall())  # fmt: skip
    paid, amounts = _load_paid_submissions(connection, link)
    waiting = {row[0] for row in connection.execute(
        "select submission_digest from payout where study_id = %s"
        " and state in ('owed', 'sending', 'sent', 'failed')", (link.study,),
    ).fetchall()}  # fmt: skip
    known = ours.keys() | paid.keys() | waiting
    return Difference(
        unknown_here=_count(
            s.status in ("AWAITING REVIEW", "APPROVED", "ACTIVE") and d not in known
            for d, s in theirs.items()
        ),
        unknown_there=_count(digest not in theirs for digest in ours),
        out_here_only=_count(
            ours.get(d) is not None and s.status in ("RESERVED", "ACTIVE") and d not in waiting
            for d, s in theirs.items()
        ),
        paid_not_owed=_count(
            (_is_paid_in_full(s) and not paid.get(d, set()) - {"bonus"} and d not in waiting)
            or (sum(s.bonuses) > amounts.get(d, 0) and d not in waiting)
            for d, s in theirs.items()
        ),
        owed_not_paid=_count(
            d not in theirs or sum(theirs[d].bonuses) < amounts[d]
            or bool(kinds - {"bonus"}) != _is_paid_in_full(theirs[d])
            for d, kinds in paid.items()
        ),
        unreturned=_count(
            d in theirs and theirs[d].status == "AWAITING REVIEW" for d in paid
        ),
    )  # fmt: skip


def _load_paid_submissions(
    connection: Connection, link: PlatformLink
) -> tuple[dict[bytes, set[str]], dict[bytes, int]]:
    """Return how the ledger says submissions were paid, and the bonuses of each."""
    paid: dict[bytes, set[str]] = {}
    amounts: dict[bytes, int] = {}
    for digest, kind, batch, amount in connection.execute(
        "select submission_digest, kind, batch, amount_minor from payout where study_id = %s"
        " and state = 'confirmed' and submission_digest is not null", (link.study,),
    ).fetchall():  # fmt: skip
        paid.setdefault(digest, set()).add("bonus" if batch is not None else kind)
        amounts[digest] = amounts.get(digest, 0) + (amount if batch is not None else 0)
    return paid, amounts


def _is_paid_in_full(submission: Submission) -> bool:
    return submission.status in ("APPROVED", "PARTIALLY APPROVED", "SCREENED OUT")


def _count(each: Iterable[bool]) -> int:
    return sum(each)
