"""Upgrade the tables to this release, first on a copy of the data. Used by `study upgrade`."""

import time
from pathlib import Path

from theodolite_study.database import migrate
from theodolite_study.operate.backup import DUMP_FILE, record_operation
from theodolite_study.operate.restore import (
    RehearsalReport,
    find_problems,
    load_row_sums,
    restore_to_scratch,
)
from theodolite_study.operate.revision import require_same_revision

KEPT_TABLES = (
    "study", "participant", "consent", "instance", "slot", "assignment", "baseline", "vote",
)  # fmt: skip
"""Tables in which an upgrade may change columns, but never the number of rows."""


def check_upgrade(backup: Path, url: str) -> RehearsalReport:
    """Restore a backup into a scratch database, upgrade and verify it there, and drop it.

    Args:
        backup: A folder that `backup` wrote, or a file of `pg_dump --format=custom`.
        url: A database beside which the scratch one is made.
    """
    with restore_to_scratch(backup / DUMP_FILE if backup.is_dir() else backup, url) as scratch:
        before = load_row_sums(scratch)
        begun = time.monotonic()
        upgrade(scratch)
        minutes = (time.monotonic() - begun) / 60
        after, problems = load_row_sums(scratch), find_problems(scratch)
    problems += [
        f"{name}: {after[name][0]:,} rows after the upgrade, {before[name][0]:,} before"
        for name in KEPT_TABLES if after[name][0] != before[name][0]
    ]  # fmt: skip
    rows = sum(int(n) for n, _ in after.values())
    return RehearsalReport(tuple(problems), rows, minutes)


def upgrade(url: str) -> None:
    """Migrate the tables to this release, all or nothing."""
    migrate(url)
    require_same_revision(url)


def verify_all(url: str) -> list[str]:
    """List all problems of a database, and record when it was verified."""
    problems = find_problems(url)
    record_operation(url, "verify", {"problems": len(problems)})
    return problems
