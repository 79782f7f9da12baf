"""Run the desk: one process on this machine, behind a proxy that speaks https."""

import uvicorn

from theodolite.errors import EvidenceError
from theodolite_study.desk.app import create_desk
from theodolite_study.serve.settings import Settings
from theodolite_study.serve.workers import KEEP_ALIVE, LAST_WORDS, is_loopback


def serve_desk(settings: Settings, port: int, *, host: str = "127.0.0.1") -> None:
    """Serve the desk until told to stop.

    Args:
        settings: The database, where the keys are, and the desk's own origin.
        port: The port.
        host: An address of this machine.
    """
    if not is_loopback(host):
        raise EvidenceError("host", repr(host), "an address of this machine")
    uvicorn.run(
        create_desk(settings), host=host, port=port, access_log=False, server_header=False,
        proxy_headers=False, log_level="warning", lifespan="on", ws="none",
        timeout_keep_alive=KEEP_ALIVE, timeout_graceful_shutdown=LAST_WORDS,
        h11_max_incomplete_event_size=32 << 10,
    )  # fmt: skip
