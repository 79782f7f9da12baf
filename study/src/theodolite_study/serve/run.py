"""Run the server of participants: processes that are started again when they die."""

from starlette.applications import Starlette
from uvicorn import Config

from theodolite.errors import EvidenceError
from theodolite_study.serve.app import create_app
from theodolite_study.web.app import end_with_parent
from theodolite_study.web.serving import KEEP_ALIVE, LAST_WORDS, is_loopback, run_workers
from theodolite_study.web.settings import Settings, settings_from

APP = "theodolite_study.serve.run:from_environment"


def serve(settings: Settings, *, host: str = "127.0.0.1", port: int, workers: int = 2) -> None:
    """Serve until told to stop; on this machine only, as people come by a proxy.

    Args:
        settings: The database, and where pictures and keys are.
        host: An address of this machine.
        port: The port.
        workers: Processes.
    """
    if not is_loopback(host):
        raise EvidenceError("host", repr(host), "an address of this machine")
    config = Config(
        APP, factory=True, host=host, port=port, workers=workers, loop="uvloop", http="httptools",
        access_log=False, server_header=False, proxy_headers=False, log_level="warning",
        lifespan="on", ws="none", timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=LAST_WORDS,
    )  # fmt: skip
    run_workers(config, settings)


def from_environment() -> Starlette:
    """The application in a worker process, which hears its settings from variables."""
    end_with_parent()
    return create_app(settings_from())
