"""A server in processes of its own, and somebody who takes part by HTTP."""

import html
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

ORIGIN = "http://study.example.org"
HEADERS = {"host": "study.example.org", "origin": ORIGIN, "sec-fetch-site": "same-origin"}
RUN = """
import sys
from pathlib import Path
from theodolite_study.serve.run import serve
from theodolite_study.serve.settings import Settings
url, folder, origin, port, workers, metrics = sys.argv[1:]
serve(Settings(url, Path(folder), origin), port=int(port), workers=int(workers), metrics_port=int(metrics))
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Visitor(httpx.Client):
    """A browser that keeps secure cookies over http, as if a proxy stood between."""

    def __init__(self, **named: Any) -> None:
        super().__init__(**named)
        self.session: dict[str, str] = {}

    def send_session(self, request: httpx.Request) -> None:
        request.headers["cookie"] = "; ".join(f"{k}={v}" for k, v in self.session.items())

    def keep_session(self, response: httpx.Response) -> None:
        for line in response.headers.get_list("set-cookie"):
            name, _, value = line.split(";")[0].partition("=")
            self.session[name] = value


@dataclass
class RealServer:
    """Its ports, its process and what it logs."""

    process: subprocess.Popen[bytes]
    port: int
    metrics_port: int
    log: Path

    def metrics(self) -> str:
        return httpx.get(f"http://127.0.0.1:{self.metrics_port}/metrics").text

    def visitor(self, port: int | None = None, **headers: str) -> "Visitor":
        """A browser behind the proxy, which speaks https to it and http to the server."""
        made = Visitor(base_url=f"http://127.0.0.1:{port or self.port}", timeout=30,
                       headers=HEADERS | headers, follow_redirects=True)  # fmt: skip
        made.event_hooks = {"request": [made.send_session], "response": [made.keep_session]}
        return made


@contextmanager
def real_server(url: str, folder: Path, workers: int = 1, **variables: str) -> Iterator[RealServer]:
    """Serve a database and a folder that has keys; ready when inside."""
    port, metrics = free_port(), free_port()
    log = folder / "server.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-c", RUN, url, str(folder), ORIGIN, str(port), str(workers), str(metrics)],
            stderr=stream, stdout=stream, env=os.environ | variables,
        )  # fmt: skip
    try:
        until = time.monotonic() + 60
        while True:
            try:
                if httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200:
                    break
            except httpx.TransportError:
                pass
            assert process.poll() is None and time.monotonic() < until, log.read_text()
            time.sleep(0.1)
        yield RealServer(process, port, metrics, log)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


def sent(
    browser: httpx.Client, page: httpx.Response, address: str, **fields: Any
) -> httpx.Response:
    """The form of a page, with its hidden fields."""
    hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page.text))
    assert "csrf" in hidden, page.text
    return browser.post(address, data={k: html.unescape(v) for k, v in hidden.items()} | fields)


def walk(browser: httpx.Client, slug: str = "s") -> httpx.Response:
    """From the first page to the last; ``own`` and ``q1`` are asked of each item."""
    page = sent(browser, browser.get(f"/s/{slug}"), f"/s/{slug}/begin")
    sent(browser, page, "/consent")
    page = browser.get("/go")
    while page.url.path.startswith("/a/"):
        item = page.url.path
        page = sent(browser, page, f"{item}/own", words="a horn", regions_nothing="yes")
        page = sent(browser, page, f"{item}/ratings", q1="4")
    return page
