"""Limit the connections of a worker: their number, and the time and size of request headers.

Loaded by uvicorn through the name in `serve.run`.
"""

import asyncio
from asyncio.events import TimerHandle
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEADER_SECONDS = 10.0
"""Seconds in which the headers of a request must arrive."""
MAX_HEADER_BYTES = 32 << 10
MAX_CONNECTIONS = 1000
"""Maximum number of connections of one worker, including idle ones; more are closed at once."""


class LimitedConnection(HttpToolsProtocol):
    """Connection of uvicorn with limits against slow clients."""

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        self._deadline: TimerHandle | None = None
        self._header_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the deadline of a request, or close if there are too many connections."""
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
            return
        self._await_headers()

    def data_received(self, data: bytes) -> None:
        """Receive part of a request, with a limit on the size of headers."""
        if self._deadline is None and (self.cycle is None or self.cycle.response_complete):
            self._await_headers()
        self._header_bytes += len(data)
        super().data_received(data)
        if self._deadline is not None and self._header_bytes > MAX_HEADER_BYTES:
            self.transport.abort()

    def on_headers_complete(self) -> None:
        """End the deadline, as all headers arrived."""
        self._no_deadline()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the deadline, as the connection ended."""
        self._no_deadline()
        super().connection_lost(exc)

    def _await_headers(self) -> None:
        self._header_bytes = 0
        self._deadline = self.loop.call_later(MAX_HEADER_SECONDS, self.transport.abort)

    def _no_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
