"""Connections of a worker: so many at once, and a request has to begin soon and be short."""

import asyncio
from asyncio.events import TimerHandle
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADER_SECONDS = 10.0
"""In which the headers of a request have to come, after the connection or its first byte."""
HEADER_BYTES = 32 << 10
MOST_CONNECTIONS = 1000
"""Of one worker, idle ones among them; more are closed at once."""


class LimitedConnection(HttpToolsProtocol):
    """Uvicorn's, with the limits that it lacks: whoever sends slowly keeps nobody out."""

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        self._deadline: TimerHandle | None = None
        self._header_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, or close where there are too many."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
            return
        self._await_headers()

    def data_received(self, data: bytes) -> None:
        """Part of a request; of headers only so much."""
        if self._deadline is None and (self.cycle is None or self.cycle.response_complete):
            self._await_headers()
        self._header_bytes += len(data)
        super().data_received(data)
        if self._deadline is not None and self._header_bytes > HEADER_BYTES:
            self.transport.abort()

    def on_headers_complete(self) -> None:
        """They are all here."""
        self._no_deadline()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is awaited any more."""
        self._no_deadline()
        super().connection_lost(exc)

    def _await_headers(self) -> None:
        self._header_bytes = 0
        self._deadline = self.loop.call_later(HEADER_SECONDS, self.transport.abort)

    def _no_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
