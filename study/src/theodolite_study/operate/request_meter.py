"""Count the requests of a process and their durations by route, and log a line for each."""

import asyncio
import json
import logging
import os
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOG = logging.getLogger("theodolite_study.requests")
FOLDER_VARIABLE = "THEODOLITE_STUDY_METRICS"
"""Environment variable of the folder in which processes write their counts."""
BUCKET_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Upper bounds of the histogram's buckets, in seconds."""
METHODS = {"GET", "HEAD", "POST"}
_RESULT_CODES: ContextVar[list[str] | None] = ContextVar("words", default=None)


def note_result_code(word: str) -> None:
    """Remember the result code of a step for the log line of this request."""
    words = _RESULT_CODES.get()
    if words is not None:
        words.append(word)


@dataclass
class Meter:
    """Request counts of one process. Labels are routes, never addresses, which contain ids."""

    requests: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    """Number of requests by route, method and status."""
    buckets: dict[str, list[int]] = field(default_factory=dict)
    """Number of requests of a route by duration; the last bucket has no bound."""
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request."""
        self.requests[route, method if method in METHODS else "other", status] += 1
        buckets = self.buckets.setdefault(route, [0] * (len(BUCKET_BOUNDS) + 1))
        buckets[sum(seconds > bound for bound in BUCKET_BOUNDS)] += 1
        self.seconds[route] = self.seconds.get(route, 0.0) + seconds

    def snapshot(self, pool: Mapping[str, int]) -> dict[str, Any]:
        """Return all counts as plain data, with those of the connection pool."""
        requests = [[*labels, n] for labels, n in self.requests.items()]
        return {"requests": requests, "buckets": self.buckets, "seconds": self.seconds,
                "pool": dict(pool)}  # fmt: skip

    @asynccontextmanager
    async def published(
        self, pool: Callable[[], Mapping[str, int]], every: float = 1.0
    ) -> AsyncIterator[None]:
        """Keep the counts in a file for the process that sums them, while inside.

        A killed process loses the counts of its last moment, and nothing else."""
        folder = os.environ.get(FOLDER_VARIABLE)
        if not folder:
            yield
            return
        file = Path(folder) / f"{os.getpid()}.json"

        async def repeat() -> None:
            while True:
                write_atomically(file, json.dumps(self.snapshot(pool())))
                await asyncio.sleep(every)

        task = asyncio.create_task(repeat())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            with suppress(OSError):  # the folder may be gone by now
                write_atomically(file, json.dumps(self.snapshot({})))


def write_atomically(file: Path, text: str) -> None:
    """Write a file atomically: readers see the old or the new content."""
    part = file.with_suffix(".part")
    part.write_text(text)
    part.replace(file)


@dataclass(frozen=True)
class RequestMeter:
    """Outermost middleware that counts and logs each request, and numbers it."""

    app: ASGIApp
    meter: Meter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request and count the response."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        words: list[str] = []
        number, begun, status = secrets.token_hex(8), time.perf_counter(), 0

        async def numbered(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["x-request-id"] = number
            await send(message)

        mark = _RESULT_CODES.set(words)
        try:
            await self.app(scope, receive, numbered)
        except BaseException as error:
            status = 500
            words.append(type(error).__name__)
            raise
        finally:
            _RESULT_CODES.reset(mark)
            seconds = time.perf_counter() - begun
            route = getattr(scope.get("route"), "path", "none")
            self.meter.add(route, scope["method"], status, seconds)
            line = {"request": number, "method": scope["method"][:10], "route": route,
                    "status": status, "ms": round(1000 * seconds, 1),
                    "word": " ".join(words)}  # fmt: skip
            LOG.info("request", extra={"parts": line})
