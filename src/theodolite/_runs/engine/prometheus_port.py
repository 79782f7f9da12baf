"""Serve the progress of a run to Prometheus, on a port of localhost.

`worker_choice` starts the server if `--metrics-port` is given.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from theodolite._runs.engine.run_progress import HELP, Snapshot, get_metric_name
from theodolite.errors import EvidenceError

HOST = "127.0.0.1"


def format_prometheus(snapshot: Snapshot) -> str:
    """Return a snapshot of the progress in Prometheus' text format."""
    lines = []
    for key, (sort, text) in HELP.items():
        name, value = get_metric_name(key), snapshot[key]
        lines += [f"# HELP {name} {text}", f"# TYPE {name} {sort}"]
        lines.append(f"{name} {'NaN' if value is None else value}")
    return "\n".join(lines) + "\n"


@contextmanager
def serve_metrics(port: int | None, snapshot: Callable[[], Snapshot]) -> Iterator[int | None]:
    """Serve ``/metrics`` during a run, if a port is given; 0 chooses a free one."""
    if port is None:
        yield None
        return

    class Handler(BaseHTTPRequestHandler):
        """Answers ``/metrics`` only."""

        def do_GET(self) -> None:
            if self.path != "/metrics":
                self.send_error(404)
                return
            content = format_prometheus(snapshot()).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Write no log lines between the output of the run."""

    try:
        server = ThreadingHTTPServer((HOST, port), Handler)
    except (OSError, OverflowError) as error:
        raise EvidenceError(
            "--metrics-port", f"{port}, which is taken or not allowed", "a free port",
            "Choose another, such as 9464.",
        ) from error  # fmt: skip
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, name="theodolite metrics", daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
