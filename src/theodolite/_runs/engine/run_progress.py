"""Publish the progress of a run: to a file in its folder, a port, and Ray."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from theodolite._runs.engine.tasks import TaskOutcome
from theodolite._storage.text import write_json

FILE = "progress.json"
EVERY_SECONDS = 5.0
RATE_SECONDS = 60.0
Snapshot = dict[str, Any]


@runtime_checkable
class PublishingPool(Protocol):
    """A pool whose cluster collects counts itself."""

    def publish(self, snapshot: Snapshot) -> None:
        """Hand over the counts of now."""


class RunProgress:
    """Counts of a run. No addresses, no samples: nothing confidential."""

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers
        self._lock = threading.Lock()
        self._counts = dict.fromkeys(
            ("computed", "failed", "retried", "mismatched_nodes", "bytes", "requests"), 0
        )
        self._pass, self._done, self._total, self._number = "", 0, 0, 0
        self._times: deque[tuple[float, int]] = deque()
        self._later: list[float] = []
        self._ended = False

    def expect(self, passes: Sequence[float]) -> None:
        """Seconds that each pass is expected to take, in their order."""
        with self._lock:
            self._later = list(passes)

    def begin(self, what: str, total: int) -> None:
        """Begin the next pass with this number of tasks."""
        with self._lock:
            self._pass, self._done, self._total = what, 0, total
            self._number += 1
            self._later = self._later[1:]
            self._times = deque([(time.monotonic(), 0)])

    def add(self, pieces: int, done: TaskOutcome) -> None:
        """Pieces that ended, however they did."""
        with self._lock:
            self._done += pieces
            self._times.append((time.monotonic(), self._done))
            self._counts["computed"] += done.computed
            self._counts["failed"] += len(done.failed)
            self._counts["retried"] += done.retried
            self._counts["bytes"] += done.traffic.bytes
            self._counts["requests"] += done.traffic.requests

    def count(self, what: str, number: int = 1) -> None:
        """Something else that happened: ``retried``, ``mismatched_nodes``."""
        with self._lock:
            self._counts[what] += number

    def end(self) -> None:
        """Mark the run as finished."""
        with self._lock:
            self._ended = True

    def snapshot(self) -> Snapshot:
        """Return the current state of all counts."""
        with self._lock:
            rate = self._rate()
            left = self._seconds_left(rate)
            now = datetime.now(timezone.utc)
            return {
                "format": "theodolite-progress",
                "state": "ended" if self._ended else "running",
                "written": now.isoformat(timespec="seconds"),
                "pass": self._pass,
                "pass_number": self._number,
                "done": self._done,
                "total": self._total,
                **self._counts,
                "rate": round(rate, 4),
                "seconds_left": None if left is None else round(left, 1),
                "finishes": None
                if left is None
                else (now + timedelta(seconds=left)).isoformat(timespec="seconds"),
                "workers": self.workers,
            }

    def _rate(self) -> float:
        """Pieces a second, over the last minute."""
        now = time.monotonic()
        while len(self._times) > 2 and self._times[1][0] <= now - RATE_SECONDS:
            self._times.popleft()
        if len(self._times) < 2:
            return 0.0
        at, done = self._times[0]
        return (self._done - done) / max(now - at, 1e-9)

    def _seconds_left(self, rate: float) -> float | None:
        if self._ended:
            return 0.0
        if rate <= 0:
            return None
        return (self._total - self._done) / rate + sum(self._later)


@contextmanager
def write_progress(
    watch: RunProgress, out: Path, tell: Sequence[Callable[[Snapshot], None]] = ()
) -> Iterator[None]:
    """Write the progress file every few seconds during a run, and notify other listeners."""
    over = threading.Event()

    def write() -> None:
        content = watch.snapshot()
        with suppress(OSError):  # a full disk stops the run itself, with a message of its own
            write_json(out / FILE, content)
        for other in tell:
            with suppress(Exception):  # nobody's looking on may stop a run
                other(content)

    def keep_writing() -> None:
        while not over.wait(EVERY_SECONDS):
            write()

    out.mkdir(parents=True, exist_ok=True)
    thread = threading.Thread(target=keep_writing, name="theodolite progress", daemon=True)
    write()
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        watch.end()
        write()


HELP: Mapping[str, tuple[str, str]] = {
    "done": ("gauge", "finished tasks of this pass"),
    "total": ("gauge", "tasks of this pass"),
    "pass_number": ("gauge", "number of this pass"),
    "computed": ("counter", "computed tasks"),
    "failed": ("counter", "tasks that were given up"),
    "retried": ("counter", "tasks that were tried again"),
    "mismatched_nodes": (
        "counter",
        "nodes refused because their code or arithmetic differs",
    ),
    "bytes": ("counter", "bytes read by workers"),
    "requests": ("counter", "requests made by workers"),
    "rate": ("gauge", "tasks per second over the last minute"),
    "seconds_left": ("gauge", "estimated seconds until the run ends"),
    "workers": ("gauge", "workers"),
}
"""What is published of a snapshot: its sort, and what it is."""


def get_metric_name(key: str) -> str:
    """Return the name under which a count is published."""
    return f"theodolite_{key}" + "_total" * (HELP[key][0] == "counter")
