"""Rehearse a restore: restore a backup into a scratch database and verify it."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from theodolite.errors import EvidenceError
from theodolite.ext.studies import IMAGES, sha256_of
from theodolite_study.export.data_rules import find_violations
from theodolite_study.export.verify import find_excess_rights, find_missing_guards
from theodolite_study.operate.backup import (
    CONTENT_FILE,
    DUMP_FILE,
    IMAGE_LIST_FILE,
    record_operation,
)
from theodolite_study.operate.postgres_programs import (
    compute_row_sums,
    create_scratch_database,
    run_postgres_program,
)


@dataclass(frozen=True)
class RehearsalReport:
    """Problems, size and duration of a rehearsed restore."""

    problems: tuple[str, ...]
    rows: int
    minutes: float

    def __str__(self) -> str:
        end = self.problems or ("All rows came back, all rules hold, all guards are there.",)
        return "\n".join([f"{self.rows:,} rows, {self.minutes:.1f} minutes.", *end])


def rehearse_restore(backup: Path, url: str, folder: Path | None = None) -> RehearsalReport:
    """Restore a backup into a scratch database, compare and verify it, and drop it.

    Args:
        backup: A folder that `backup` wrote.
        url: A database beside which the scratch one is made; it hears how it went.
        folder: Where images are; then those that the backup needs have to be there.
    """
    begun = time.monotonic()
    content = read_backup_content(backup)
    with restore_to_scratch(backup / DUMP_FILE, url) as scratch:
        sums = load_row_sums(scratch)
        problems = [*_compare_row_sums(content["tables"], sums), *find_problems(scratch)]
    if folder is not None:
        problems += _find_missing_images(backup, folder)
    rows = sum(int(n) for n, _ in sums.values())
    report = RehearsalReport(tuple(problems), rows, (time.monotonic() - begun) / 60)
    detail = {"problems": len(problems), "minutes": round(report.minutes, 2)}
    record_operation(url, "restore", detail)
    return report


def read_backup_content(backup: Path) -> dict[str, Any]:
    """Read what a backup contains, after checking the digest of its dump."""
    try:
        content: dict[str, Any] = json.loads((backup / CONTENT_FILE).read_text())
    except OSError as error:
        raise EvidenceError(
            "backup", f"no {CONTENT_FILE} in {backup}", "a folder of a backup"
        ) from error
    if sha256_of(backup / DUMP_FILE) != content["dump_sha256"]:
        raise EvidenceError("backup", f"another {DUMP_FILE}", "the one that was written")
    return content


@contextmanager
def restore_to_scratch(dump: Path, url: str) -> Iterator[str]:
    """Yield a scratch database with the content of a dump: all or nothing."""
    with create_scratch_database(url) as scratch:
        run_postgres_program(
            "pg_restore", scratch, "--exit-on-error", "--single-transaction",
            "--dbname", _get_database_name(scratch), str(dump),
        )  # fmt: skip
        yield scratch


def load_row_sums(url: str) -> dict[str, Any]:
    """Return the row counts and checksums of a database."""
    with psycopg.connect(url) as connection:
        return compute_row_sums(connection)


def find_problems(url: str) -> list[str]:
    """List broken rules, missing guards and excess rights of a database."""
    with psycopg.connect(url, autocommit=True) as connection:
        problems = [str(violation) for violation in find_violations(connection)]
        return [*problems, *find_missing_guards(connection), *find_excess_rights(connection)]


def _compare_row_sums(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name, [0, ""]), after.get(name, [0, ""])
        if was[0] != now[0]:
            yield f"{name}: {now[0]:,} rows came back, {was[0]:,} were there"
        elif was != now:
            yield f"{name}: rows came back changed"


def _find_missing_images(backup: Path, folder: Path) -> list[str]:
    listed = json.loads((backup / IMAGE_LIST_FILE).read_text())
    files = [str(entry["file"]) for entry in listed]
    missing = [file for file in files if not (folder / IMAGES / file).is_file()]
    return [f"{len(missing):,} images are missing, {missing[0]} among them"] if missing else []


def _get_database_name(url: str) -> str:
    return str(conninfo_to_dict(url)["dbname"])
