"""Compare what the ledger says was paid with what a platform paid. Used by tests and benchmarks."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from theodolite_study.keys import Keys
from theodolite_study.money.platform_link import Connection, digest_submission


@dataclass(frozen=True)
class Balance:
    """Result of a payment rehearsal, in minor units and numbers of participants."""

    outcomes: Mapping[str, int]
    """Number of participants by outcome. Those who declined or found the study full left no row."""
    ledger: int
    """Total that the ledger says was paid and confirmed."""
    platform: int
    """Total that the platform paid."""
    unequal: int
    """Submissions that got another amount than the ledger says: too much, too little, twice."""
    unsettled: int
    """Payouts that are neither confirmed nor void."""
    forgotten: int
    """Participants with a paid outcome for whom nothing was ever owed."""

    def holds(self) -> bool:
        """Return whether the books agree, to the penny."""
        odd = self.unequal + self.unsettled + self.forgotten
        return self.ledger == self.platform and odd == 0


def compute_balance(
    connection: Connection, keys: Keys, study: UUID, paid: Mapping[str, int]
) -> Balance:
    """Compare the ledger of a study with the payments of its platform, by submission."""
    by_digest = {digest_submission(keys, name): amount for name, amount in paid.items() if amount}
    ours = {digest: int(amount) for digest, amount in connection.execute(
        "select submission_digest, sum(amount_minor) from payout"
        " where study_id = %s and state = 'confirmed' group by 1", (study,),
    ).fetchall()}  # fmt: skip
    outcomes = {outcome: int(number) for outcome, number in connection.execute(
        "select outcome, count(*) from participant"
        " where study_id = %s and outcome is not null and not preview group by 1", (study,),
    ).fetchall()}  # fmt: skip
    every = by_digest.keys() | ours.keys()
    return Balance(
        outcomes,
        sum(ours.values()),
        sum(paid.values()),
        sum(by_digest.get(digest, 0) != ours.get(digest, 0) for digest in every),
        _number(connection, "select count(*) from payout where study_id = %s"
                " and state not in ('confirmed', 'void')", study),
        _number(connection, "select count(*) from participant p where p.study_id = %s"
                " and p.outcome is not null and not p.preview and p.version_id is not null"
                " and st_amount(p.version_id, p.outcome, (select count(*)::integer from vote"
                "     where participant_id = p.id), coalesce(p.promised, p.quota)) > 0"
                " and not exists (select from payout o where o.participant_id = p.id)", study),
    )  # fmt: skip


def _number(connection: Connection, query: str, study: UUID) -> int:
    row = connection.execute(query, (study,)).fetchone()
    return 0 if row is None else int(row[0])
