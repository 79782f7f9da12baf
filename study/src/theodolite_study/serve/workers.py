"""Processes of a server, which end with whoever started them."""

import ipaddress
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from uvicorn import Config
from uvicorn.supervisors import Multiprocess

from theodolite_study.serve.settings import PARENT, Settings

KEEP_ALIVE = 15
LAST_WORDS = 10
"""Seconds in which requests may end when the server is told to stop."""


def run_workers(config: Config, settings: Settings, more: dict[str, str] | None = None) -> None:
    """Processes that hear their settings from variables, until told to stop."""
    variables = settings.environment() | {PARENT: str(os.getpid())} | (more or {})
    with _environment(variables):
        sock = config.bind_socket()
        try:
            Multiprocess(config, sockets=[sock]).run()
        finally:
            sock.close()


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Variables for the processes that are started, and for nothing else."""
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
    """Without whoever started it nobody could stop this process, and it would hold the port."""
    # told, not asked for: it may be gone before this process has come so far
    parent = int(os.environ.get(PARENT) or os.getppid())

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(every)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True, name="parent").start()
