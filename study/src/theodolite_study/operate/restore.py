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
from theodolite_study.export.verify import excess_rights, missing_guards
from theodolite_study.export.violations import violations
from theodolite_study.operate.backup import CONTENT, DUMP, IMAGE_LIST, note_operation
from theodolite_study.operate.programs import postgres_program, row_sums, scratch_database


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
    content = backup_content(backup)
    with restored(backup / DUMP, url) as scratch:
        sums = row_sums_of(scratch)
        problems = [*_differences(content["tables"], sums), *problems_of(scratch)]
    if folder is not None:
        problems += _missing_images(backup, folder)
    rows = sum(int(n) for n, _ in sums.values())
    report = RehearsalReport(tuple(problems), rows, (time.monotonic() - begun) / 60)
    detail = {"problems": len(problems), "minutes": round(report.minutes, 2)}
    note_operation(url, "restore", detail)
    return report


def backup_content(backup: Path) -> dict[str, Any]:
    """Read what a backup contains, after checking the digest of its dump."""
    try:
        content: dict[str, Any] = json.loads((backup / CONTENT).read_text())
    except OSError as error:
        raise EvidenceError(
            "backup", f"no {CONTENT} in {backup}", "a folder of a backup"
        ) from error
    if sha256_of(backup / DUMP) != content["dump_sha256"]:
        raise EvidenceError("backup", f"another {DUMP}", "the one that was written")
    return content


@contextmanager
def restored(dump: Path, url: str) -> Iterator[str]:
    """Yield a scratch database with the content of a dump: all or nothing."""
    with scratch_database(url) as scratch:
        postgres_program(
            "pg_restore", scratch, "--exit-on-error", "--single-transaction",
            "--dbname", _name(scratch), str(dump),
        )  # fmt: skip
        yield scratch


def row_sums_of(url: str) -> dict[str, Any]:
    """Return the row counts and checksums of a database."""
    with psycopg.connect(url) as connection:
        return row_sums(connection)


def problems_of(url: str) -> list[str]:
    """List broken rules, missing guards and excess rights of a database."""
    with psycopg.connect(url, autocommit=True) as connection:
        problems = [str(violation) for violation in violations(connection)]
        return [*problems, *missing_guards(connection), *excess_rights(connection)]


def _differences(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name, [0, ""]), after.get(name, [0, ""])
        if was[0] != now[0]:
            yield f"{name}: {now[0]:,} rows came back, {was[0]:,} were there"
        elif was != now:
            yield f"{name}: rows came back changed"


def _missing_images(backup: Path, folder: Path) -> list[str]:
    listed = json.loads((backup / IMAGE_LIST).read_text())
    files = [str(entry["file"]) for entry in listed]
    missing = [file for file in files if not (folder / IMAGES / file).is_file()]
    return [f"{len(missing):,} images are missing, {missing[0]} among them"] if missing else []


def _name(url: str) -> str:
    return str(conninfo_to_dict(url)["dbname"])
