"""Define the background tasks besides payments: metrics and exports. Run by the part `jobs`."""

import hashlib
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from theodolite_study.export.manifest import MANIFEST
from theodolite_study.export.study_export import export_study

LOG = logging.getLogger(__name__)
EXPORTS_FOLDER = "exports"
"""Folder of exports within the folder of images and keys."""


@dataclass
class MetricsTask:
    """Task that reports that the job is alive, and counts rows for metrics periodically."""

    every: float = 60.0
    clock: Callable[[], float] = time.monotonic
    _next: float = 0.0

    def __call__(self, connection: psycopg.Connection[Any]) -> None:
        """Update the metrics if they are due."""
        if self.clock() >= self._next:
            self._next = self.clock() + self.every
            connection.execute("select op_note('jobs', '{}')")
            connection.execute("select op_count()")


@dataclass
class ExportTask:
    """Task that writes requested exports one after the other, while payments continue.

    Only one job is at work. So a request that is running while this process writes nothing was cut
    off, and is begun again; a folder has its name only when all of it is there.
    """

    url: str = field(repr=False)
    folder: Path
    """Folder of images and keys, where the admin console looks for exports."""
    write: Callable[..., object] = export_study

    def __post_init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="export")
        self._writing: tuple[int, Future[bytes]] | None = None

    def __call__(self, connection: psycopg.Connection[Any]) -> None:
        """Start the next export, or record how the last one ended."""
        if self._writing is not None:
            request, result = self._writing
            if not result.done():
                return
            self._writing = None
            self._note(connection, request, result)
        row = connection.execute(
            "select e.id, s.slug from export_request e join study s on s.id = e.study_id"
            " where e.state in ('waiting', 'running') order by e.id limit 1"
        ).fetchone()
        if row is not None:
            request, slug = row
            connection.execute(
                "update export_request set state = 'running' where id = %s", (request,)
            )
            self._writing = request, self._thread.submit(self.write_one, request, slug)

    def write_one(self, request: int, slug: str) -> bytes:
        """Write an export and return the digest of its manifest."""
        out = get_export_folder(self.folder, slug, request)
        out.parent.mkdir(mode=0o700, exist_ok=True)
        # one that is complete was written by a process that was killed before it said so
        if not (out / MANIFEST).is_file():
            with psycopg.connect(self.url, autocommit=True) as connection:
                self.write(connection, slug, out, images=self.folder, csv=True)
        return hashlib.sha256((out / MANIFEST).read_bytes()).digest()

    def _note(
        self, connection: psycopg.Connection[Any], request: int, result: "Future[bytes]"
    ) -> None:
        error = result.exception()
        if isinstance(error, psycopg.OperationalError):
            LOG.warning("export: the database went away; it is begun again")
            return
        if error is not None:
            LOG.warning("export failed", exc_info=error)
        connection.execute(
            "update export_request set state = %s, manifest_sha256 = %s, why = %s,"
            " ended_at = clock_timestamp() where id = %s",
            ("done" if error is None else "failed", None if error else result.result(),
             None if error is None else type(error).__name__, request),
        )  # fmt: skip


def get_export_folder(folder: Path, slug: str, request: int) -> Path:
    """Return the folder of a finished export."""
    return folder / EXPORTS_FOLDER / f"{slug}-{request}"
