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
from urllib.request import urlopen


@contextmanager
def atomic_s3(
    late: float = 0.0, failing: float = 0.0, *, drops_conditions: bool = False
) -> Iterator[dict[str, str]]:
    """A server with any buckets; gives the environment with which it is found."""
    options = json.dumps({"late": late, "failing": failing, "drops_conditions": drops_conditions})
    server = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("atomic_s3_program.py")), options],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stdin is not None and server.stdout is not None
    try:
        yield {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{int(server.stdout.readline())}",
            "AWS_ACCESS_KEY_ID": "someone", "AWS_SECRET_ACCESS_KEY": "something",
            "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
        }  # fmt: skip
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
