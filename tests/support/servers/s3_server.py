"""A real S3 server on this machine, for tests."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.request import Request, urlopen

PROGRAM = """
import logging, sys
from moto.server import ThreadedMotoServer
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""


@contextmanager
def s3_server(bucket: str = "bucket") -> Iterator[dict[str, str]]:
    """A server with an empty bucket; gives the environment with which it is found."""
    server = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdin is not None and server.stdout is not None
    try:
        endpoint = f"http://127.0.0.1:{int(server.stdout.readline())}"
        with urlopen(Request(f"{endpoint}/{bucket}", method="PUT")):  # noqa: S310  our own server
            pass
        yield {
            "AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": "someone",
            "AWS_SECRET_ACCESS_KEY": "something", "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }  # fmt: skip
    finally:
        server.stdin.close()
        server.stdout.close()
        server.wait(30)
