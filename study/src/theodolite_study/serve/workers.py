"""Run the worker processes of a server, which end with their parent. Used by `serve` and `desk`."""

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from uvicorn import Config
from uvicorn.supervisors import Multiprocess

from theodolite_study.serve.settings import PARENT_VARIABLE, Settings

KEEP_ALIVE_SECONDS = 15
GRACEFUL_SHUTDOWN_SECONDS = 10
"""Seconds for which running requests may continue after a stop signal."""


def run_workers(
    config: Config, settings: Settings, more: dict[str, str] | None = None,
    handed: int | None = None,
) -> None:  # fmt: skip
    """Run worker processes with settings from variables until told to stop."""
    variables = settings.environment() | {PARENT_VARIABLE: str(os.getpid())} | (more or {})
    with _set_environment(variables):
        sock = config.bind_socket() if handed is None else socket.socket(fileno=handed)
        try:
            Multiprocess(config, sockets=[sock]).run()
        finally:
            sock.close()


@contextmanager
def _set_environment(variables: dict[str, str]) -> Iterator[None]:
    """Set variables for the started processes and restore them afterwards."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def end_with_parent(every: float = 1.0) -> None:
    """End this process when its parent is gone; it would hold the port for ever."""
    # told, not asked for: it may be gone before this process has come so far
    parent = int(os.environ.get(PARENT_VARIABLE) or os.getppid())

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(every)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True, name="parent").start()
