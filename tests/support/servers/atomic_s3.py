"""An S3 server of our own: atomic, slow on purpose, and it counts what it is asked.

One thread of asyncio (aiohttp) looks at a condition and writes without a pause in between, so of
many who create one object exactly one does. The usual mock is not atomic under races. It can also
answer late, fail now and then, and drop conditions, as some gateways do.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

PROGRAM = Path(__file__).with_name("atomic_s3_program.py")


def environment_of(port: int) -> dict[str, str]:
    """With which a server at this port is found."""
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "someone", "AWS_SECRET_ACCESS_KEY": "something",
        "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
    }  # fmt: skip


@contextmanager
def atomic_s3(
    late: float = 0.0, failing: float = 0.0, *, drops_conditions: bool = False
) -> Iterator[dict[str, str]]:
    """A server with any buckets; gives the environment with which it is found."""
    options = json.dumps({"late": late, "failing": failing, "drops_conditions": drops_conditions})
    server = subprocess.Popen(
        [sys.executable, PROGRAM, options],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stdin is not None and server.stdout is not None
    try:
        yield environment_of(int(server.stdout.readline()))
    finally:
        server.stdin.close()
        server.stdout.close()
        server.terminate()
        server.wait(30)


def counted(environment: dict[str, str]) -> dict[str, int]:
    """Requests by method since the last time, and how many were open at once (``at_once``)."""
    with urlopen(f"{environment['AWS_ENDPOINT_URL']}/-/counts") as answer:  # noqa: S310  our own
        counts: dict[str, int] = json.load(answer)
    return counts


class OutlivedServer:
    """The same, with objects in a folder that outlive it; always at the same port."""

    def __init__(self, folder: Path, late: float = 0.0, failing: float = 0.0) -> None:
        self._options: dict[str, Any] = {
            "late": late, "failing": failing, "drops_conditions": False, "folder": str(folder),
            "port": 0,
        }  # fmt: skip
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, PROGRAM, json.dumps(self._options)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        self._options["port"] = int(self._process.stdout.readline())

    def stop(self) -> None:
        """By SIGKILL."""
        self._process.kill()
        self._process.communicate()

    @property
    def environment(self) -> dict[str, str]:
        """With which it is found."""
        return environment_of(self._options["port"])
