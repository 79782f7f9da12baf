"""While a piece is computed, the next ones of the task are read, unpacked and checked.

Requests, unpacking and digests leave Python's lock alone, so threads do this beside the work.
"""

import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from os import getpid
from typing import Any, Protocol, runtime_checkable

MOST_PIECES = 4
MOST_BYTES = 256 << 20


@runtime_checkable
class Readable(Protocol):
    """A piece that can be read before it is needed."""

    def read(self) -> Any:
        """What it stands for, read in any thread."""

    def unpacked_bytes(self) -> int:
        """What it takes in memory."""


def read_ahead(items: Sequence[Any]) -> None:
    """These will be needed next, in this order: pieces, or lists of pieces."""
    _line(getpid()).plan(_pieces(items))


def taken(piece: Readable) -> Any:
    """What a piece stands for; if it was read ahead, at once."""
    return _line(getpid()).take(piece)


def _pieces(items: Iterable[Any]) -> Iterator[Readable]:
    for item in items:
        if isinstance(item, list | tuple):
            yield from _pieces(item)
        elif isinstance(item, Readable):
            yield item


class _Line:
    """Pieces that will be needed, the first of them under way."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Readable] = deque()
        self._under_way: dict[Readable, tuple[Future[Any], int]] = {}
        self._threads = ThreadPoolExecutor(MOST_PIECES, "read-ahead")

    def plan(self, pieces: Iterable[Readable]) -> None:
        with self._lock:
            needed = list(pieces)
            for piece in set(self._under_way) - set(needed):
                self._under_way.pop(piece)[0].cancel()
            self._waiting = deque(p for p in needed if p not in self._under_way)
            self._start()

    def take(self, piece: Readable) -> Any:
        with self._lock:
            entry = self._under_way.pop(piece, None)
            if entry is None and self._waiting and self._waiting[0] == piece:
                self._waiting.popleft()
            self._start()
        return piece.read() if entry is None else entry[0].result()

    def _start(self) -> None:
        while self._waiting and len(self._under_way) < MOST_PIECES:
            size = self._waiting[0].unpacked_bytes()
            if size + sum(n for _, n in self._under_way.values()) > MOST_BYTES:
                return
            piece = self._waiting.popleft()
            self._under_way[piece] = (self._threads.submit(piece.read), size)


@lru_cache(maxsize=1)
def _line(process: int) -> _Line:
    del process  # threads are not forked
    return _Line()
