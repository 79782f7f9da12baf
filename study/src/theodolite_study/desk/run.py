"""Run the admin console: one process on this machine, behind a proxy with TLS."""

import socket
from dataclasses import replace

import uvicorn

from theodolite.errors import EvidenceError
from theodolite_study.desk.app import create_desk
from theodolite_study.operate.logs import LOGGING
from theodolite_study.operate.revision import require_same_revision
from theodolite_study.serve.run import CONNECTION
from theodolite_study.serve.settings import Settings, is_loopback
from theodolite_study.serve.workers import (
    GRACEFUL_SHUTDOWN_SECONDS,
    KEEP_ALIVE_SECONDS,
)


def serve_desk(
    settings: Settings, port: int = 0, *, host: str = "127.0.0.1", behind_proxy: bool = False,
    handed: int | None = None,
) -> None:  # fmt: skip
    """Serve the admin console until told to stop.

    Args:
        settings: The database, where the keys are, and the desk's own origin.
        port: The port.
        host: Where to listen. Off this machine only with ``behind_proxy``: for containers, whose
            port is published to a proxy alone.
        behind_proxy: Whether a proxy stands before it, which is believed where it says who comes.
        handed: File descriptor of a socket that listens already; then host and port are its own.
    """
    if not behind_proxy and not is_loopback(host):
        raise EvidenceError(
            "host", repr(host), "an address of this machine",
            "Put a proxy with https in front, and say behind_proxy.",
        )  # fmt: skip
    require_same_revision(settings.database_url)
    behind_proxy = behind_proxy or settings.behind_proxy
    app = create_desk(replace(settings, behind_proxy=behind_proxy))
    config = uvicorn.Config(
        app, host=host, port=port, access_log=False, server_header=False, proxy_headers=False,
        log_config=LOGGING, lifespan="on", ws="none", timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACEFUL_SHUTDOWN_SECONDS, http=CONNECTION,
    )  # fmt: skip
    sockets = None if handed is None else [socket.socket(fileno=handed)]
    uvicorn.Server(config).run(sockets=sockets)
