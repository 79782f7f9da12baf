"""Open a file below an address as a stream: local, or fetched in parts from a bucket."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from theodolite._storage.stores import Store
from theodolite.errors import UnsafeInputError

PART = 1 << 22


class BucketFile(io.RawIOBase):
    """A file in a bucket that can be read from any place."""

    def __init__(self, store: Store, name: str, size: int) -> None:
        self._store, self._name, self._size, self._place = store, name, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        self._place = max(start + offset, 0)
        return self._place

    def readinto(self, buffer: Any) -> int:
        length = min(len(buffer), max(self._size - self._place, 0))
        buffer[:length] = self._store.read_part(self._name, self._place, length)
        self._place += length
        return length


@contextmanager
def open_stream(store: Store, name: str) -> Iterator[io.BufferedIOBase]:
    """The file ``name`` of a store, for reading; links are refused."""
    local = store.local
    if local is None:
        size = store.size(name)
        if size is None:
            raise UnsafeInputError(f"file {name!r} of {str(store)!r}", "nothing there", "a file")
        with io.BufferedReader(BucketFile(store, name, size), PART) as stream:
            yield stream
        return
    path = local / name
    if any(place.is_symlink() for place in (path, *path.parents) if local in place.parents):
        raise UnsafeInputError(f"file {name!r}", "a link", "a file in the folder", "Copy the file.")
    if not path.is_file():
        raise UnsafeInputError(f"file {name!r}", "nothing there", f"a file in {str(local)!r}")
    with path.open("rb") as file:
        yield file


class OverlaidStream(io.RawIOBase):
    """A stream of which some bytes are read as others, as many."""

    def __init__(self, stream: io.BufferedIOBase, place: int, content: bytes) -> None:
        self._stream, self._start, self._content = stream, place, content

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._stream.tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._stream.seek(offset, whence)

    def readinto(self, buffer: Any) -> int:
        place = self._stream.tell()
        content = self._stream.read(len(buffer))
        buffer[: len(content)] = content
        first = max(self._start, place)
        last = min(self._start + len(self._content), place + len(content))
        if first < last:
            changed = self._content[first - self._start : last - self._start]
            buffer[first - place : last - place] = changed
        return len(content)
