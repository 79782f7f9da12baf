"""Operations on objects of a bucket; each is one request, repeated if it fails."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from os import getpid
from typing import Any, TypeVar

from theodolite._storage.buckets.client import FIRST_WAIT, TRIES, get_client

Answer = TypeVar("Answer")
WRONG_TAG = '"00000000000000000000000000000000"'
PATIENT_TRIES = 8
"""Waits of 13 seconds together; each try is three of the client's own."""
_answered: set[int] = set()
"""This process, if a store has answered it."""
PAST_THE_END = ("code: 416", "416 Range", "InvalidRange", "InvalidGetRange", "Requested range")
"""How errors say it. They also name the object and a time, in which 416 may be by chance."""


class TruncatedObjectError(OSError):
    """An object is shorter than it should be."""


@dataclass(frozen=True)
class Bucket:
    """A bucket, by its address alone."""

    scheme: str
    name: str

    @property
    def _client(self) -> Any:
        return get_client(self.scheme, self.name)

    def read(self, key: str, most: int) -> Any:
        """A whole object; its size alone where that is above ``most``."""
        import obstore  # noqa: PLC0415  optional

        def once() -> Any:
            answer = obstore.get(self._client, key)
            size = int(answer.meta["size"])
            return size if size > most else memoryview(answer.bytes())

        return retry(once)

    def part(self, key: str, start: int, length: int) -> memoryview:
        """Some bytes of an object, perhaps fewer where it ends."""
        import obstore  # noqa: PLC0415

        return retry(
            lambda: memoryview(obstore.get_range(self._client, key, start=start, length=length))
        )

    def write(self, key: str, content: bytes) -> None:
        """Put an object in place of an earlier one."""
        self._put(key, content, "overwrite")

    def create(self, key: str, content: bytes) -> bool:
        """Put an object where there is none."""
        return self._put(key, content, "create")

    def replace(self, key: str, content: bytes, expected: bytes) -> bool:
        """Put an object in place of a known one."""
        import obstore  # noqa: PLC0415

        current = retry(lambda: obstore.get(self._client, key))
        if bytes(current.bytes()) != expected:
            return False
        return self._put(key, content, {"e_tag": current.meta["e_tag"]})

    def keeps_conditions(self, key: str) -> bool:
        """Return whether the server looks at conditions at all: some gateways drop them."""
        self.create(key, b"probe")
        if self.create(key, b"again"):
            return False
        return not self._put(key, b"other", {"e_tag": WRONG_TAG})

    def _put(self, key: str, content: bytes, mode: Any) -> bool:
        import obstore  # noqa: PLC0415
        from obstore.exceptions import AlreadyExistsError, PreconditionError  # noqa: PLC0415

        try:
            retry(lambda: obstore.put(self._client, key, content, mode=mode))
        except (AlreadyExistsError, PreconditionError):
            return False
        return True

    def size(self, key: str) -> int | None:
        """Return how many bytes an object has; None if there is none."""
        import obstore  # noqa: PLC0415

        try:
            return int(retry(lambda: obstore.head(self._client, key))["size"])
        except FileNotFoundError:
            return None

    def keys(self, below: str) -> list[str]:
        """All objects below a key, without that."""
        return list(self.written(below))

    def written(self, below: str) -> dict[str, float]:
        """List objects with the time at which each was written."""
        import obstore  # noqa: PLC0415

        start = f"{below}/" if below else ""
        pages = retry(lambda: list(obstore.list(self._client, below or None)))
        return {
            entry["path"].removeprefix(start): entry["last_modified"].timestamp()
            for page in pages
            for entry in page
            if entry["path"].startswith(start)
        }

    def remove(self, key: str) -> None:
        """Delete an object, if it is there."""
        import obstore  # noqa: PLC0415

        try:
            retry(lambda: obstore.delete(self._client, key))
        except FileNotFoundError:
            return


def retry(action: Callable[[], Answer]) -> Answer:
    """Again and again, with waits that double, where the fault may pass: for seconds if there was
    ever an answer to this process, so that a store that is away for a moment ends no run; else
    three times, for the address may be wrong."""
    from obstore.exceptions import GenericError, JoinError  # noqa: PLC0415

    for attempt in range(PATIENT_TRIES):
        try:
            answer = action()
        except (GenericError, JoinError) as error:
            if any(mark in str(error) for mark in PAST_THE_END):
                raise TruncatedObjectError(str(error)) from error
            most = PATIENT_TRIES if getpid() in _answered else TRIES
            if attempt + 1 >= most or "404 Not Found" in str(error):
                raise
            time.sleep(FIRST_WAIT.total_seconds() * 2**attempt)
        else:
            _answered.add(getpid())
            return answer
    raise AssertionError


def run_concurrently(actions: list[Callable[[], Answer]], most: int) -> list[Answer]:
    """Return the results of all calls, in order, with at most this many at a time."""
    if len(actions) < 2 or most < 2:
        return [action() for action in actions]
    pool = _pool(getpid(), most)
    return list(pool.map(lambda action: action(), actions))


@lru_cache(maxsize=4)
def _pool(process: int, most: int) -> ThreadPoolExecutor:
    del process  # threads are not forked
    return ThreadPoolExecutor(most, "ranges")
