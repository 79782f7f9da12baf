"""List payouts for Mechanical Turk as a table and as AWS commands. No credentials of Amazon are in
this server."""

import csv
import io
import shlex
from uuid import UUID

from theodolite_study.keys import Keys
from theodolite_study.money.platform_link import Connection

COLUMNS = ("assignment", "kind", "outcome", "amount", "currency", "state")
REASON = "For the part of the study that you did."


def list_owed_payouts(
    connection: Connection, keys: Keys, study: UUID
) -> list[tuple[str, str, str, str, str, str]]:
    """Return a row for each unpaid payout, with the assignment id of Mechanical Turk."""
    rows = connection.execute(
        "select s.slug, p.sealed_submission, p.kind, p.outcome, p.amount_minor, p.currency, p.state"
        " from payout p join study s on s.id = p.study_id where p.study_id = %s"
        " and p.state in ('owed', 'failed') and p.sealed_submission is not null"
        " order by p.at, p.id",
        (study,),
    ).fetchall()  # fmt: skip
    return [
        (keys.decrypt(sealed, slug), kind, outcome, f"{minor // 100}.{minor % 100:02d}", currency,
         state)
        for slug, sealed, kind, outcome, minor, currency, state in rows
    ]  # fmt: skip


def format_payouts_csv(rows: list[tuple[str, str, str, str, str, str]]) -> str:
    """Format the rows as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(rows)
    return text.getvalue()


def list_aws_commands(
    rows: list[tuple[str, str, str, str, str, str]], workers: dict[str, str]
) -> list[str]:
    """Return AWS commands that pay the rows. A token makes a repeated bonus count once.

    Args:
        rows: What is owed.
        workers: The worker of each assignment: a bonus is sent to a worker.
    """
    lines = []
    for assignment, kind, _, amount, _, _ in rows:
        name = shlex.quote(assignment)
        if kind == "reward":
            lines.append(f"aws mturk approve-assignment --assignment-id {name}")
        elif assignment in workers:
            token = shlex.quote(f"{assignment}-{kind}")
            lines.append(
                f"aws mturk send-bonus --assignment-id {name} --worker-id "
                f"{shlex.quote(workers[assignment])} --bonus-amount {amount} "
                f"--unique-request-token {token} --reason {shlex.quote(REASON)}"
            )
    return lines
