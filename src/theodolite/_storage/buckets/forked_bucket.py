"""Buckets in a process that was forked from one that uses obstore.

The threads of obstore are not forked with the process, and what it is asked then never ends. Such
processes (workers of a DataLoader, say) read and write through fsspec, one request at a time.
"""

from dataclasses import dataclass
from typing import Any

from theodolite._storage.buckets.client import BUCKETS
from theodolite.errors import EvidenceError

PROTOCOLS = dict(zip(BUCKETS, ("abfs", "gs", "s3"), strict=True))
WAITS = {"connect_timeout": 10, "read_timeout": 60, "retries": {"max_attempts": 3}}


@dataclass(frozen=True)
class ForkedBucket:
    """A bucket, read and written by fsspec."""

    scheme: str
    name: str

    @property
    def _files(self) -> Any:
        import fsspec  # noqa: PLC0415  optional, and slow

        options = {"config_kwargs": WAITS} if self.scheme == "s3" else {}
        # what other workers write must be seen at once
        return fsspec.filesystem(PROTOCOLS[self.scheme], use_listings_cache=False, **options)

    def _place(self, key: str) -> str:
        return f"{self.name}/{key}"

    def read(self, key: str, most: int) -> Any:
        size = int(self._files.info(self._place(key))["size"])
        return size if size > most else memoryview(self._files.cat_file(self._place(key)))

    def part(self, key: str, start: int, length: int) -> memoryview:
        content = self._files.cat_file(self._place(key), start=start, end=start + length)
        return memoryview(content)

    def write(self, key: str, content: bytes) -> None:
        self._files.pipe_file(self._place(key), content)

    def create(self, key: str, content: bytes) -> bool:
        raise self._refusal()

    def replace(self, key: str, content: bytes, expected: bytes) -> bool:
        raise self._refusal()

    def keeps_conditions(self, key: str) -> bool:
        raise self._refusal()

    def written(self, below: str) -> dict[str, float]:
        raise self._refusal()

    def size(self, key: str) -> int | None:
        try:
            info = self._files.info(self._place(key))
        except FileNotFoundError:
            return None
        return int(info["size"]) if info["type"] == "file" else None

    def keys(self, below: str) -> list[str]:
        start = self._place(below).rstrip("/") + "/"
        keys = (key for key in self._files.find(start) if key.startswith(start))
        return [key.removeprefix(start) for key in keys if not key.endswith("/")]

    def remove(self, key: str) -> None:
        self._files.rm_file(self._place(key))

    def _refusal(self) -> EvidenceError:
        return EvidenceError(
            f"bucket {self.name!r}", "a forked process", "one that was not forked",
            'Start it with multiprocessing.get_context("spawn").',
        )  # fmt: skip
