"""A web server of this machine with files, ranges, redirects and interrupted replies."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def hash_blob(content: bytes) -> str:
    """The name that git gives to a file."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


class FileServer(ThreadingHTTPServer):
    """What it serves, and what was asked of it."""

    files: dict[str, bytes]
    redirects: dict[str, str]
    cut_at: int | None = None
    """Close the next connection after N bytes."""
    ranges = True
    requests: list[tuple[str, str]]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: FileServer

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        path, begin = self.path.partition("?")[0].lstrip("/"), 0
        asked = self.headers.get("Range", "")
        self.server.requests.append((path, asked))
        if path in self.server.redirects:
            self.send_response(302)
            self.send_header("Location", self.server.redirects[path])
            self.end_headers()
            return
        if path not in self.server.files:
            self.send_error(404)
            return
        content = self.server.files[path]
        if asked and self.server.ranges:
            begin = int(asked.removeprefix("bytes=").rstrip("-"))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        body = content[begin:]
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        cut, self.server.cut_at = self.server.cut_at, None
        self.wfile.write(body[:cut])


@contextmanager
def serve(files: dict[str, bytes]) -> Iterator[FileServer]:
    """A server until the end of the block."""
    server = FileServer(("127.0.0.1", 0), _Handler)
    server.files, server.redirects, server.requests = files, {}, []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
