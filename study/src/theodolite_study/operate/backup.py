"""Write a backup: a database dump, and the list of images that it needs. Used by `study backup`."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from theodolite.errors import EvidenceError
from theodolite.ext.studies import IMAGES, sha256_of
from theodolite_study.keys import KEYS_FILE
from theodolite_study.operate.postgres_programs import compute_row_sums, run_postgres_program

DUMP_FILE = "database.dump"
IMAGE_LIST_FILE = "images.json"
CONTENT_FILE = "backup.json"
KEYS_REMINDER = (
    f"{KEYS_FILE} is not in it: keep a copy, encrypted, elsewhere. Who has both can name people; "
    "without it nobody can be paid or known again."
)


@dataclass(frozen=True)
class BackupSummary:
    """Size and duration of a backup that was written."""

    folder: Path
    rows: int
    images: int
    megabytes: float
    minutes: float

    def __str__(self) -> str:
        return (
            f"backup:   {self.folder}\n"
            f"rows:     {self.rows:,} in {self.megabytes:.1f} MB, {self.minutes:.1f} minutes\n"
            f"images: {self.images:,}, listed in {IMAGE_LIST_FILE}; copy them once, they do not"
            f" change\n{KEYS_REMINDER}"
        )


def write_backup(url: str, folder: Path, out: Path) -> BackupSummary:
    """Write a dump, the list of images, and row sums to compare a restore with.

    Args:
        url: The database, with a login that reads all of it.
        folder: Where images are.
        out: A new folder, which only its owner can read.
    """
    begun = time.monotonic()
    try:
        out.mkdir(mode=0o700, parents=True)
    except FileExistsError as error:
        raise EvidenceError("--out", f"{out}, which is there", "a new folder") from error
    with psycopg.connect(url) as connection:
        connection.execute("set transaction isolation level repeatable read, read only")
        snapshot = _one(connection, "select pg_export_snapshot()")
        run_postgres_program(
            "pg_dump", url, "--format=custom", f"--snapshot={snapshot}", f"--file={out / DUMP_FILE}"
        )
        sums = compute_row_sums(connection)
        revision = _one(connection, "select version_num from alembic_version")
    images = list(_images(folder))
    (out / IMAGE_LIST_FILE).write_text(json.dumps(images, indent=1) + "\n")
    content = {
        "at": datetime.now(timezone.utc).isoformat(timespec="seconds"), "revision": revision,
        "dump_sha256": sha256_of(out / DUMP_FILE), "tables": sums,
    }  # fmt: skip
    (out / CONTENT_FILE).write_text(json.dumps(content, indent=1) + "\n")
    for file in out.iterdir():
        file.chmod(0o600)
    minutes = (time.monotonic() - begun) / 60
    size = (out / DUMP_FILE).stat().st_size
    record_operation(url, "backup", {"bytes": size, "minutes": round(minutes, 2)})
    rows = sum(int(n) for n, _ in sums.values())
    return BackupSummary(out, rows, len(images), size / 2**20, minutes)


def _images(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield each image with its digest, which is its name; a mismatch means a broken file."""
    for file in sorted((folder / IMAGES).glob("*.*")):
        digest = sha256_of(file)
        if digest != file.stem:
            raise EvidenceError("image", f"{file.name} with other bytes", "bytes of that digest")
        yield {"file": file.name, "bytes": file.stat().st_size}


def record_operation(url: str, what: str, detail: dict[str, Any]) -> None:
    """Record an operation in the database, if its tables can store it."""
    with psycopg.connect(url, autocommit=True) as connection:
        if _one(connection, "select to_regproc('op_note') is not null"):
            connection.execute("select op_note(%s, %s)", (what, Jsonb(detail)))


def _one(connection: psycopg.Connection[Any], query: str) -> Any:
    row = connection.execute(query.encode()).fetchone()
    return None if row is None else row[0]
