"""Files below one address: a folder, or a part of a bucket such as ``s3://bucket/part``.

The address is the only thing that is remembered, so a store can be sent to other processes. Where
a bucket is served and with which keys is taken from the environment and from the user's own
settings (``AWS_ENDPOINT_URL``, ``AWS_PROFILE`` and the like), never from a file that is read here.
"""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from theodolite._storage._store_errors import explain_store_error, strip_credentials
from theodolite._storage.buckets.client import BUCKETS, is_forked
from theodolite._storage.buckets.forked_bucket import ForkedBucket
from theodolite._storage.buckets.objects import Bucket, run_concurrently
from theodolite._storage.buckets.ranges import Range, Span, plan_spans
from theodolite._storage.paths import (
    _is_suspicious,
    all_or_nothing,
    confined,
    create_file,
    lock_for_writing,
)
from theodolite._storage.traffic import count_request
from theodolite.errors import UnsafeInputError

SCHEMES = ("file", *BUCKETS)
MAX_BYTES = 1 << 28
AT_ONCE = 32


@dataclass(frozen=True)
class Store:
    """The files below one address. Make one with ``Store.at``.

    >>> str(Store.at("s3://bucket/runs/").below("first"))
    's3://bucket/runs/first'
    """

    address: str

    @classmethod
    def at(cls, address: str | Path) -> "Store":
        """The store at a path, or at an address that begins with file://, s3://, gs:// or az://."""
        text = str(address)
        scheme, mark, rest = text.partition("://")
        if isinstance(address, Path) or not mark:
            reason = "an empty name or a NUL" if not text or "\0" in text else ""
        else:
            reason = _odd(scheme, rest)
        if not mark and scheme.partition(":")[0] in SCHEMES and ":" in scheme:
            reason = f"an address without // after {scheme.partition(':')[0]}:"
        if not isinstance(address, Path) and "::" in text:
            reason = "an address within an address (::)"
        if reason:
            needed = "a folder, or an address that begins with file://, s3://, gs:// or az://"
            raise UnsafeInputError(f"store {strip_credentials(text)!r}", reason, needed)
        return cls(text.rstrip("/") or "/")

    def __str__(self) -> str:
        return self.address

    @property
    def local(self) -> Path | None:
        """The folder, if the store is one."""
        scheme, mark, rest = self.address.partition("://")
        if not mark:
            return Path(self.address)
        return Path(rest or "/") if scheme == "file" else None

    def below(self, folder: str) -> "Store":
        """The store of a folder in this one."""
        self._place(folder)
        return Store(f"{self.address.rstrip('/')}/{PurePosixPath(folder)}")

    def read(self, name: str, limit: int = MAX_BYTES) -> bytes:
        """A whole file, if it is no larger than ``limit`` bytes."""
        place = self._place(name)
        if isinstance(place, Path):
            size = self.size(name)
            if size is None:
                raise self._refusal(name, "nothing there", "a file")
        else:
            with explain_store_error(f"file {name!r} of {self.address!r}"):
                content = self._bucket.read(place, limit)
            count_request(0 if isinstance(content, int) else len(content))
            if not isinstance(content, int):
                return bytes(content)
            size = content
        if size > limit:
            raise self._refusal(name, f"{size:,} bytes", f"at most {limit:,}")
        return self.read_part(name, 0, size)

    def read_part(self, name: str, start: int, length: int) -> bytes:
        """``length`` bytes from ``start`` on; if the file ends before, it is refused."""
        return bytes(self._part(name, start, length))

    def read_ranges(self, ranges: Sequence[Range], at_most: int = AT_ONCE) -> list[memoryview]:
        """Many parts (name, start, length), in their order; in buckets this many at once, and those
        that lie close together in one request."""
        spans = plan_spans(ranges) if self.local is None else _each(ranges)
        contents = run_concurrently(
            [partial(self._part, span.name, span.start, span.end - span.start) for span in spans],
            at_most if self.local is None else 1,
        )
        parts: list[memoryview] = [memoryview(b"")] * len(ranges)
        for span, content in zip(spans, contents, strict=True):
            for number in span.members:
                _, start, length = ranges[number]
                parts[number] = content[start - span.start : start - span.start + length]
        return parts

    def _part(self, name: str, start: int, length: int) -> memoryview:
        place = self._place(name)
        if start < 0 or length < 0:
            raise self._refusal(name, f"bytes {start} to {start + length}", "bytes of the file")
        content = memoryview(b"")
        if length:
            with explain_store_error(f"file {name!r} of {self.address!r}"):
                if isinstance(place, Path):
                    content = memoryview(_read_part(place, start, length))
                else:
                    content = self._bucket.part(place, start, length)
            count_request(len(content))
        if len(content) != length:
            needed = f"{start + length:,}; it is cut off"
            raise self._refusal(name, f"{start + len(content):,} bytes", needed)
        return content

    def write(self, name: str, content: bytes) -> None:
        """Write a file that appears only when complete, in place of an earlier one."""
        place = self._place(name)
        with explain_store_error(f"file {name!r} of {self.address!r}"):
            if isinstance(place, Path):
                with all_or_nothing(place) as stream:
                    stream.write(content)
            else:
                self._bucket.write(place, content)
        count_request()

    def create(self, name: str, content: bytes) -> bool:
        """Write a file where there is none; False if there is: of many that try, only one can."""
        place = self._place(name)
        with explain_store_error(f"file {name!r} of {self.address!r}"):
            if isinstance(place, Path):
                return create_file(place, content)
            return self._bucket.create(place, content)

    def replace(self, name: str, content: bytes, expected: bytes) -> bool:
        """Write a file in place of a known one; False if it is another by now."""
        place = self._place(name)
        with explain_store_error(f"file {name!r} of {self.address!r}"):
            if not isinstance(place, Path):
                return self._bucket.replace(place, content, expected)
            with lock_for_writing(place.parent):
                if place.read_bytes() != expected:
                    return False
                with all_or_nothing(place) as stream:
                    stream.write(content)
                return True

    def keeps_conditions(self, name: str) -> bool:
        """Whether ``create`` and ``replace`` can be relied on here; a file is written to try it."""
        place = self._place(name)
        with explain_store_error(f"store {self.address!r}"):
            return isinstance(place, Path) or self._bucket.keeps_conditions(place)

    def size(self, name: str) -> int | None:
        """Return how many bytes a file has; None if there is no such file."""
        place = self._place(name)
        count_request()
        with explain_store_error(f"file {name!r} of {self.address!r}"):
            try:
                if isinstance(place, Path):
                    return place.stat().st_size if place.is_file() else None
                return self._bucket.size(place)
            except (FileNotFoundError, NotADirectoryError):
                return None

    def names(self, below: str = "") -> list[str]:
        """The files in the store, or in one of its folders; half-written ones are left out."""
        place = self._place(below) if below else self._root()
        with explain_store_error(f"store {self.address!r}"):
            names = _listed(place) if isinstance(place, Path) else self._bucket.keys(place)
        start = f"{PurePosixPath(below)}/" if below else ""
        return sorted(f"{start}{name}" for name in names if not _half_written(name))

    def ages(self) -> dict[str, float]:
        """All files, half-written ones too, and how many seconds ago each was written."""
        place, now = self._root(), time.time()
        with explain_store_error(f"store {self.address!r}"):
            if isinstance(place, Path):
                return {n: now - (place / n).stat().st_mtime for n in _listed(place)}
            return {key: now - at for key, at in self._bucket.written(place).items()}

    def remove(self, name: str) -> None:
        """Delete a file, if it is there."""
        place = self._place(name)
        with explain_store_error(f"file {name!r} of {self.address!r}"):
            if isinstance(place, Path):
                place.unlink(missing_ok=True)
            else:
                self._bucket.remove(place)

    def _root(self) -> Path | str:
        """The folder, or what the keys of all its objects begin with."""
        return self.local or self.address.partition("://")[2].partition("/")[2]

    def _place(self, name: str) -> Path | str:
        """Return where a file is: never outside the store, whatever its name says."""
        root = self._root()
        if isinstance(root, Path):
            return confined(root, name)
        if reason := _is_suspicious(name):
            raise self._refusal(name, reason, "a relative path")
        return f"{root}/{PurePosixPath(name)}".removeprefix("/")

    @property
    def _bucket(self) -> Bucket | ForkedBucket:
        scheme, _, rest = self.address.partition("://")
        return (ForkedBucket if is_forked() else Bucket)(scheme, rest.partition("/")[0])

    def _refusal(self, name: str, got: str, needed: str) -> UnsafeInputError:
        return UnsafeInputError(f"file {name!r} of {self.address!r}", got, needed)


def _odd(scheme: str, rest: str) -> str:
    """What is wrong with an address that is not a plain path."""
    host = rest.partition("/")[0]
    if scheme not in SCHEMES:
        return f"the kind of address {scheme!r}"
    if "@" in host or ":" in host:
        return "a user, a password or a port"
    if ".." in PurePosixPath(rest).parts:
        return "a path with '..'"
    if set(rest) & set("\\?#*[]") or not rest.isprintable():
        return "signs that have a meaning of their own"
    if bool(host) == (scheme == "file"):
        return "no name of a bucket" if scheme != "file" else "another machine"
    return ""


def _each(ranges: Sequence[Range]) -> list[Span]:
    return [Span(name, at, at + n, n, [i]) for i, (name, at, n) in enumerate(ranges)]


def _read_part(path: Path, start: int, length: int) -> bytes:
    with path.open("rb") as stream:
        stream.seek(start)
        return stream.read(length)


def _listed(folder: Path) -> list[str]:
    return [
        (Path(inside) / name).relative_to(folder).as_posix()
        for inside, _, names in os.walk(folder)
        for name in names
    ]


def _half_written(name: str) -> bool:
    last = name.rpartition("/")[2]
    return last.startswith(".") and last.endswith(".partial")
