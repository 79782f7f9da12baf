"""Check that a server of this process answers, then stop it. Used by `study demo --check`."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from threading import Thread

from theodolite.errors import VerificationError

MAX_WAIT_SECONDS = 60.0
"""Seconds to wait for the first page before the check fails."""


@contextmanager
def stop_when_answered(port: int, page: str) -> Iterator[None]:
    """Request a page until it answers, then stop the server as Ctrl-C does.

    Args:
        port: Where the server will listen, on this machine.
        page: The path of the page.
    """
    seen: list[int] = []

    def ask() -> None:
        until = time.monotonic() + MAX_WAIT_SECONDS
        while time.monotonic() < until and 200 not in seen:
            time.sleep(0.2)
            seen.extend(_request_status(port, page))
        os.kill(os.getpid(), signal.SIGINT)

    asking = Thread(target=ask, daemon=True)
    asking.start()
    try:
        yield
    finally:
        asking.join(1)
    if 200 not in seen:
        raise VerificationError(page, f"{seen or 'no answer'}", "the page")


def _request_status(port: int, page: str) -> list[int]:
    """Return the status code of the response, or an empty list if there is none."""
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", page)
        return [connection.getresponse().status]
    except (OSError, HTTPException):
        return []
    finally:
        connection.close()
