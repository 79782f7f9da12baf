"""Bring the tables to this release's form; first on a copy, to see that it works and how long."""

import time
from pathlib import Path

from theodolite_study.database import migrate
from theodolite_study.operate.backup import DUMP, note_operation
from theodolite_study.operate.restore import (
    RehearsalReport,
    problems_of,
    restored,
    row_sums_of,
)
from theodolite_study.operate.revision import need_same_revision

KEPT_TABLES = (
    "study", "participant", "consent", "instance", "slot", "assignment", "baseline", "vote",
)  # fmt: skip
"""Tables in which an upgrade may change columns, but never the number of rows."""


def check_upgrade(backup: Path, url: str) -> RehearsalReport:
    """Restore a backup into a scratch database, upgrade it there, verify it, and drop it again.

    Args:
        backup: A folder that `backup` wrote, or a file of `pg_dump --format=custom`.
        url: A database beside which the scratch one is made.
    """
    with restored(backup / DUMP if backup.is_dir() else backup, url) as scratch:
        before = row_sums_of(scratch)
        begun = time.monotonic()
        upgrade(scratch)
        minutes = (time.monotonic() - begun) / 60
        after, problems = row_sums_of(scratch), problems_of(scratch)
    problems += [
        f"{name}: {after[name][0]:,} rows after the upgrade, {before[name][0]:,} before"
        for name in KEPT_TABLES if after[name][0] != before[name][0]
    ]  # fmt: skip
    rows = sum(int(n) for n, _ in after.values())
    return RehearsalReport(tuple(problems), rows, minutes)


def upgrade(url: str) -> None:
    """Bring the tables up to date, all or nothing."""
    migrate(url)
    need_same_revision(url)


def verify_all(url: str) -> list[str]:
    """All that is wrong in a database; when it was looked at is on the page of figures."""
    problems = problems_of(url)
    note_operation(url, "verify", {"problems": len(problems)})
    return problems
