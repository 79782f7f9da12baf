"""Run the server of participants: processes that are started again when they die."""

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from starlette.applications import Starlette
from uvicorn import Config

from theodolite.errors import EvidenceError
from theodolite_study.operate import meter
from theodolite_study.operate.logs import LOGGING
from theodolite_study.operate.metrics import exposition, figures_of, metrics_server, snapshots_in
from theodolite_study.operate.revision import RevisionMismatchError, need_same_revision
from theodolite_study.serve.app import create_app
from theodolite_study.serve.settings import Settings, settings_from
from theodolite_study.serve.workers import (
    KEEP_ALIVE,
    LAST_WORDS,
    end_with_parent,
    is_loopback,
    run_workers,
)

APP = "theodolite_study.serve.run:from_environment"
CONNECTION = "theodolite_study.serve.connections:LimitedConnection"
LONGEST_START = 30
"""Seconds until a new worker takes requests: on a machine that is busy, importing takes long."""
PAUSE = 5.0
"""Seconds that a worker waits before it ends, where its tables are of another release."""


def serve(
    settings: Settings, *, host: str = "127.0.0.1", port: int, workers: int = 2,
    behind_proxy: bool = False, metrics_port: int | None = None,
) -> None:  # fmt: skip
    """Serve until told to stop; on this machine only, as people come by a proxy.

    Args:
        settings: The database, and where images and keys are.
        host: Where to listen. Off this machine only with ``behind_proxy``: for containers, whose
            port is published to a proxy alone.
        port: The port.
        workers: Processes.
        behind_proxy: Whether a proxy that limits how long headers may take stands before it. It
            is believed where it says who comes.
        metrics_port: A port of this machine for ``GET /metrics``.
    """
    if not behind_proxy and not is_loopback(host):
        raise EvidenceError(
            "host", repr(host), "an address of this machine",
            "Put a proxy with https in front, and say --behind-proxy.",
        )  # fmt: skip
    if workers < 1:
        raise EvidenceError("workers", str(workers), "1 or more")
    need_same_revision(settings.database_url)
    settings = replace(settings, behind_proxy=behind_proxy)
    config = Config(
        APP, factory=True, host=host, port=port, workers=workers, loop="uvloop", http=CONNECTION,
        access_log=False, server_header=False, proxy_headers=False, log_config=LOGGING,
        lifespan="on", ws="none", timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=LAST_WORDS, timeout_worker_healthcheck=LONGEST_START,
    )  # fmt: skip
    with counts_published(settings.database_url, metrics_port) as variables:
        run_workers(config, settings, variables)


@contextmanager
def counts_published(url: str, port: int | None) -> Iterator[dict[str, str]]:
    """The page of figures, as long as workers run; what tells them where to leave their counts."""
    if port is None:
        yield {}
        return
    folder = Path(tempfile.mkdtemp(prefix="theodolite-metrics-"))
    server = metrics_server(port, lambda: exposition(snapshots_in(folder), figures_of(url)))
    try:
        yield {meter.FOLDER: str(folder)}
    finally:
        server.shutdown()
        server.server_close()
        shutil.rmtree(folder)


def from_environment() -> Starlette:
    """The application in a worker process, which hears its settings from variables."""
    end_with_parent()
    settings = settings_from()
    try:
        need_same_revision(settings.database_url)
    except RevisionMismatchError as error:
        time.sleep(PAUSE)  # it is started again at once
        sys.exit(f"theodolite: {error}")
    except EvidenceError:
        pass  # a database that is away comes back
    return create_app(settings)
