"""Run the participants' server: worker processes that are restarted when they die."""

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
from theodolite_study.operate import request_meter
from theodolite_study.operate.logs import LOGGING
from theodolite_study.operate.metrics_server import (
    format_metrics,
    load_figures,
    make_metrics_server,
    read_snapshots,
)
from theodolite_study.operate.revision import RevisionMismatchError, require_same_revision
from theodolite_study.serve.app import create_app
from theodolite_study.serve.settings import Settings, is_loopback, read_settings
from theodolite_study.serve.workers import (
    GRACEFUL_SHUTDOWN_SECONDS,
    KEEP_ALIVE_SECONDS,
    end_with_parent,
    run_workers,
)

APP = "theodolite_study.serve.run:create_worker_app"
CONNECTION = "theodolite_study.serve.connections:LimitedConnection"
MAX_START_SECONDS = 30
"""Seconds until a new worker must accept requests; imports take long on a busy machine."""
EXIT_PAUSE_SECONDS = 5.0
"""Seconds that a worker waits before it ends because its tables are of another release."""


def serve(  # noqa: PLR0913  each is a choice of its own
    settings: Settings, *, host: str = "127.0.0.1", port: int = 0, workers: int = 2,
    behind_proxy: bool = False, metrics_port: int | None = None, handed: int | None = None,
) -> None:  # fmt: skip
    """Serve until told to stop; on this machine only by default, behind a proxy.

    Args:
        settings: The database, and where images and keys are.
        host: Where to listen. Off this machine only with ``behind_proxy``: for containers, whose
            port is published to a proxy alone.
        port: The port.
        workers: Processes.
        behind_proxy: Whether a proxy that limits how long headers may take stands before it. It
            is believed where it says who comes.
        metrics_port: A port of this machine for ``GET /metrics``.
        handed: File descriptor of a socket that listens already; then host and port are its own.
    """
    if not behind_proxy and not is_loopback(host):
        raise EvidenceError(
            "host", repr(host), "an address of this machine",
            "Put a proxy with https in front, and say --behind-proxy.",
        )  # fmt: skip
    if workers < 1:
        raise EvidenceError("workers", str(workers), "1 or more")
    require_same_revision(settings.database_url)
    settings = replace(settings, behind_proxy=behind_proxy or settings.behind_proxy)
    config = Config(
        APP, factory=True, host=host, port=port, workers=workers, loop="uvloop", http=CONNECTION,
        access_log=False, server_header=False, proxy_headers=False, log_config=LOGGING,
        lifespan="on", ws="none", timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACEFUL_SHUTDOWN_SECONDS,
        timeout_worker_healthcheck=MAX_START_SECONDS,
    )  # fmt: skip
    with publish_counts(settings.database_url, metrics_port) as variables:
        run_workers(config, settings, variables, handed)


@contextmanager
def publish_counts(url: str, port: int | None) -> Iterator[dict[str, str]]:
    """Serve the metrics while workers run; yield the variables that name their folder."""
    if port is None:
        yield {}
        return
    folder = Path(tempfile.mkdtemp(prefix="theodolite-metrics-"))
    server = make_metrics_server(
        port, lambda: format_metrics(read_snapshots(folder), load_figures(url))
    )
    try:
        yield {request_meter.FOLDER_VARIABLE: str(folder)}
    finally:
        server.shutdown()
        server.server_close()
        shutil.rmtree(folder)


def create_worker_app() -> Starlette:
    """Build the application in a worker process from environment variables."""
    end_with_parent()
    settings = read_settings()
    try:
        require_same_revision(settings.database_url)
    except RevisionMismatchError as error:
        time.sleep(EXIT_PAUSE_SECONDS)  # it is started again at once
        sys.exit(f"theodolite: {error}")
    except EvidenceError:
        pass  # a database that is away comes back
    return create_app(settings)
