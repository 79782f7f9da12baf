"""Serve `GET /metrics` for Prometheus, on a local port that participants cannot reach."""

import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psycopg

from theodolite_study.operate.request_meter import BUCKET_BOUNDS

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
TIMEOUT_SECONDS = 5
"""Seconds in which a request must be sent, and the database must answer."""


def format_metrics(
    snapshots: Iterable[Mapping[str, Any]], figures: Mapping[str, Any] | None
) -> str:
    """Format all metrics for Prometheus: those of processes, and of the database if it answers."""
    lines = [
        *_format_process_metrics(list(snapshots)),
        *_format_family("database_up", "gauge", [({}, figures is not None)]),
    ]
    if figures is not None:
        lines += _format_database_metrics(figures)
    return "\n".join(lines) + "\n"


def _format_family(
    name: str, kind: str, values: Iterable[tuple[Mapping[str, Any], Any]]
) -> Iterator[str]:
    yield f"# TYPE theodolite_{name} {kind}"
    for labels, value in values:
        yield f"theodolite_{name}{_format_labels(labels)} {float(value):g}"


def _format_labels(labels: Mapping[str, Any]) -> str:
    plain = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
    inside = ",".join(f'{name}="{str(value).translate(plain)}"' for name, value in labels.items())
    return f"{{{inside}}}" if inside else ""


def _format_process_metrics(snapshots: list[Mapping[str, Any]]) -> Iterator[str]:
    requests: Counter[tuple[str, str, int]] = Counter()
    buckets: dict[str, list[int]] = {}
    seconds: Counter[str] = Counter()
    pool: Counter[str] = Counter()
    for snapshot in snapshots:
        for route, method, status, n in snapshot["requests"]:
            requests[route, method, status] += n
        for route, counts in snapshot["buckets"].items():
            before = buckets.get(route, [0] * len(counts))
            buckets[route] = [a + b for a, b in zip(before, counts, strict=True)]
        for route, spent in snapshot["seconds"].items():
            seconds[route] += spent
        pool.update(snapshot["pool"])
    labels = ("route", "method", "status")
    yield from _format_family("requests_total", "counter", (
        (dict(zip(labels, key, strict=True)), n) for key, n in sorted(requests.items())
    ))  # fmt: skip
    yield "# TYPE theodolite_request_seconds histogram"
    for route in sorted(buckets):
        upto = 0
        for bound, n in zip((*BUCKET_BOUNDS, "+Inf"), buckets[route], strict=True):
            upto += n
            labels_ = _format_labels({"route": route, "le": bound})
            yield f"theodolite_request_seconds_bucket{labels_} {upto}"
        labels_ = _format_labels({"route": route})
        yield f"theodolite_request_seconds_sum{labels_} {seconds[route]:.6f}"
        yield f"theodolite_request_seconds_count{labels_} {upto}"
    yield from _format_family(
        "processes", "gauge", [({}, sum(bool(snapshot["pool"]) for snapshot in snapshots))]
    )
    yield from _format_family("statements_total", "counter", [({}, pool["requests_num"])])
    yield from _format_family("statements_waited_total", "counter", [({}, pool["requests_queued"])])
    yield from _format_family("pool_waiting", "gauge", [({}, pool["requests_waiting"])])
    yield from _format_family("pool_connections", "gauge", [({}, pool["pool_size"])])


def _format_database_metrics(figures: Mapping[str, Any]) -> Iterator[str]:
    studies = figures["studies"]
    tallies = [(study["slug"], study["tally"]) for study in studies]
    yield from _format_family("votes_total", "counter", (
        ({"study": slug, "counted": counted}, tally.get(what, 0))
        for slug, tally in tallies for what, counted in (("votes", "yes"), ("surplus", "no"))
    ))  # fmt: skip
    yield from _format_family("people_arrived_total", "counter", (
        ({"study": slug}, tally.get("arrived", 0)) for slug, tally in tallies
    ))  # fmt: skip
    yield from _format_family("people_total", "counter", (
        ({"study": slug, "outcome": what.removeprefix("out ")}, n) for slug, tally in tallies
        for what, n in sorted(tally.items())
        if what.startswith("out ") or what in ("declined", "withdrawn")
    ))  # fmt: skip
    yield from _format_family("study_state", "gauge", (
        ({"study": study["slug"], "state": study["state"]}, 1) for study in studies
    ))  # fmt: skip
    yield from _format_family("seats_unpromised", "gauge", (
        ({"study": study["slug"]}, study["available"]) for study in studies
        if study["available"] is not None
    ))  # fmt: skip
    for name in ("seats", "payouts"):
        yield from _format_family(name, "gauge", (
            ({"study": slug, "state": state}, n)
            for slug, states in ((figures["counted"] or {}).get(name) or {}).items()
            for state, n in sorted(states.items())
        ))  # fmt: skip
    yield from _format_family("age_seconds", "gauge", (
        ({"of": what}, age) for what, age in sorted(figures["ages"].items())
    ))  # fmt: skip
    yield from _format_family("payouts_oldest_seconds", "gauge", [({}, figures["payout_wait"])])
    yield from _format_family("events_waiting", "gauge", [({}, figures["events"]["waiting"])])
    yield from _format_family("events_lag_seconds", "gauge", [({}, figures["events"]["lag"])])
    yield from _format_family("exports_waiting", "gauge", [({}, figures["exports"])])
    if figures["verified"] is not None:
        yield from _format_family("verify_problems", "gauge", [({}, figures["verified"])])


def load_figures(url: str) -> Mapping[str, Any] | None:
    """Read the metrics that the database keeps; None if it does not answer."""
    options = f"-c statement_timeout={1000 * TIMEOUT_SECONDS}"
    try:
        with psycopg.connect(url, connect_timeout=TIMEOUT_SECONDS, options=options) as connection:
            connection.execute("set role theodolite_serve")
            row = connection.execute("select op_figures()").fetchone()
    except psycopg.Error:
        return None
    figures: Mapping[str, Any] | None = None if row is None else row[0]
    return figures


def read_snapshots(folder: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the counts of all processes; of ended ones, without their connections."""
    for file in sorted(folder.glob("*.json")):
        counts: dict[str, Any] = json.loads(file.read_text())
        if not _is_alive(int(file.stem)):
            ended = {"requests_num", "requests_queued"}
            counts["pool"] = {name: n for name, n in counts["pool"].items() if name in ended}
        yield counts


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


def make_metrics_server(port: int, page: Callable[[], str]) -> ThreadingHTTPServer:
    """Return a local server of one page, whose threads end with it."""

    class MetricsPage(BaseHTTPRequestHandler):
        """The page."""

        timeout = TIMEOUT_SECONDS
        server_version, sys_version = "theodolite", ""

        def do_GET(self) -> None:
            """Answer whoever asks by an address: a name may be somebody else's, bound to us."""
            host = self.headers.get("host", "").rpartition(":")[0]
            known = self.path == "/metrics" and host in ("127.0.0.1", "localhost")
            content = page().encode() if known else b"no such page\n"
            self.send_response(200 if known else 404)
            self.send_header("content-type", CONTENT_TYPE if known else "text/plain")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *values: Any) -> None:
            """No line for each look."""

    server = ThreadingHTTPServer(("127.0.0.1", port), MetricsPage)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True, name="metrics").start()
    return server
