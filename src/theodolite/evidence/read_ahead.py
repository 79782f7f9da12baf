"""Read, unpack and check the next shards in threads while the current one is computed."""

import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from os import getpid
from typing import Any, Protocol, runtime_checkable

MAX_SHARDS_AHEAD = 4
MAX_BYTES_AHEAD = 256 << 20


@runtime_checkable
class Readable(Protocol):
    """A shard that can be read before it is needed."""

    def read(self) -> Any:
        """Return the content; can be called in any thread."""

    def unpacked_bytes(self) -> int:
        """Return the memory that the content needs, in bytes."""


def read_ahead(items: Sequence[Any]) -> None:
    """Announce the shards, or lists of shards, that are needed next, in this order."""
    _get_queue(getpid()).plan(_pieces(items))


def take_item(piece: Readable) -> Any:
    """Return the content of a shard; immediately if it was read ahead."""
    return _get_queue(getpid()).take(piece)


def _pieces(items: Iterable[Any]) -> Iterator[Readable]:
    for item in items:
        if isinstance(item, list | tuple):
            yield from _pieces(item)
        elif isinstance(item, Readable):
            yield item


class _ReadQueue:
    """Queue of shards to read; the first of them are being read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Readable] = deque()
        self._under_way: dict[Readable, tuple[Future[Any], int]] = {}
        self._threads = ThreadPoolExecutor(MAX_SHARDS_AHEAD, "read-ahead")

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
        while self._waiting and len(self._under_way) < MAX_SHARDS_AHEAD:
            size = self._waiting[0].unpacked_bytes()
            if size + sum(n for _, n in self._under_way.values()) > MAX_BYTES_AHEAD:
                return
            piece = self._waiting.popleft()
            self._under_way[piece] = (self._threads.submit(piece.read), size)


@lru_cache(maxsize=1)
def _get_queue(process: int) -> _ReadQueue:
    del process  # threads are not forked
    return _ReadQueue()
