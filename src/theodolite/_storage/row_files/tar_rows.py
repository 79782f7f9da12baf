"""Samples of a tar file as WebDataset has them: files of one key, one after another, are a sample.

Headers are read block by block, not by tarfile's own iteration, which takes headers of any length
into memory and follows sparse maps. Nothing is written to disk, whatever names say.
"""

import io
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from theodolite._storage.arrays import parse_npy, parse_npz
from theodolite._storage.memory_limit import check_memory
from theodolite._storage.paths import _is_suspicious
from theodolite._storage.text import json_from
from theodolite.errors import UnsafeInputError

BLOCK = 512
MOST_HEAD = 1 << 20
MOST_TEXT = 1 << 22  # JSON takes some twenty times its bytes
KEY = "__key__"
READ = ("npy", "npz", "cls", "txt", "json")
TarSample = dict[str, Any]
_FILES, _HEADS = (b"0", b"\0", b"7"), (b"x", b"g", b"L")
_KINDS = {
    b"1": "a link", b"2": "a link", b"3": "a device", b"4": "a device", b"6": "a pipe",
    b"S": "a sparse file",
}  # fmt: skip


def read_tar_samples(
    stream: io.BufferedIOBase, what: str, columns: Sequence[str] | None = None
) -> Iterator[TarSample]:
    """Samples by column: arrays of .npy and .npz, numbers of .cls, what .json holds, text of .txt.

    A column has the name before the last suffix (``7.logits.npy`` is ``logits``), else the suffix.
    """
    key, sample = "", TarSample()
    for name, content in _files(stream, what):
        path = PurePosixPath(name)
        stem, _, suffixes = path.name.partition(".")
        its_key = str(path.with_name(stem)) if stem else name
        if its_key != key and sample:
            yield sample
            sample = TarSample()
        key = its_key
        for column, value in _columns(suffixes, content, f"{name!r} of {what}", columns):
            if column in sample:
                raise UnsafeInputError(
                    f"{name!r} of {what}", f"a second {column!r}", "distinct names"
                )
            sample[column] = value
        if suffixes.rpartition(".")[2] in READ:
            sample[KEY] = key
    if sample:
        yield sample


def _columns(
    suffixes: str, content: "TarContent", what: str, columns: Sequence[str] | None
) -> Iterator[tuple[str, Any]]:
    name, _, suffix = suffixes.rpartition(".")
    name = name or suffix
    if columns is not None and name not in columns and suffix in ("npy", "cls", "txt"):
        return
    if suffix == "npy":
        yield name, parse_npy(content.read(what), what)
    elif suffix == "npz":
        yield from parse_npz(io.BytesIO(content.read(what)), what).items()
    elif suffix in ("cls", "txt"):
        try:
            text = content.read(what, MOST_TEXT).decode()
            yield name, np.int64(int(text)) if suffix == "cls" else text
        except (UnicodeDecodeError, ValueError, OverflowError) as error:
            needed = "a whole number" if suffix == "cls" else "text in UTF-8"
            raise UnsafeInputError(what, "something else", needed) from error
    elif suffix == "json":
        value = json_from(content.read(what, MOST_TEXT), what)
        yield from value.items() if isinstance(value, dict) else [(name, value)]


class TarContent:
    """Bytes of a file in a tar, read on demand."""

    def __init__(self, stream: io.BufferedIOBase, size: int) -> None:
        self._stream, self._size = stream, size

    def read(self, what: str, limit: int | None = None) -> bytes:
        check_memory(self._size, what)
        if limit is not None and self._size > limit:
            raise UnsafeInputError(what, f"{self._size:,} bytes", f"at most {limit:,} of text")
        content = self._stream.read(self._size)
        if len(content) != self._size:
            raise UnsafeInputError(
                what, f"{len(content):,} bytes", f"{self._size:,}; it is cut off"
            )
        return content


def _files(stream: io.BufferedIOBase, what: str) -> Iterator[tuple[str, TarContent]]:
    """The plain files; links, devices and names that leave are refused, folders passed over."""
    end = stream.seek(0, 2)
    place, named = 0, dict[str, str]()
    while True:
        stream.seek(place)
        block = stream.read(BLOCK)
        if not block.strip(b"\0"):
            return
        header = _header(block, what)
        size = int(named.get("size", header.size)) if header.type in _FILES else header.size
        start = place + BLOCK
        if size < 0 or start + size > end:
            raise UnsafeInputError(what, f"a file of {size:,} bytes", "all of it; it is cut off")
        place = start + -(-size // BLOCK) * BLOCK
        if header.type in _HEADS:
            if size > MOST_HEAD:
                raise UnsafeInputError(
                    what, f"a header of {size:,} bytes", f"at most {MOST_HEAD:,}"
                )
            if header.type != b"g":
                named |= _records(stream.read(size), header.type, what)
            continue
        name = named.get("path", header.name)
        _check_file(name, header.type, what)
        named = {}
        if header.type in _FILES and not name.endswith("/"):
            yield name, TarContent(stream, size)


def _check_file(name: str, kind: bytes, what: str) -> None:
    if kind not in (*_FILES, b"5"):
        got = _KINDS.get(kind, f"a file of type {kind!r}")
        raise UnsafeInputError(f"{name!r} of {what}", got, "plain files")
    if reason := _is_suspicious(name.removeprefix("./").rstrip("/") or "."):
        raise UnsafeInputError(f"{name!r} of {what}", reason, "relative paths")


def _header(block: bytes, what: str) -> tarfile.TarInfo:
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except (tarfile.HeaderError, ValueError, OverflowError) as error:
        do = "Unpack .gz and the like first." if block[:2] == b"\x1f\x8b" else ""
        raise UnsafeInputError(what, "no readable tar header", "an uncompressed tar", do) from error


def _records(content: bytes, kind: bytes, what: str) -> dict[str, str]:
    """Path and size of the next file where these did not fit its own header."""
    if kind == b"L":
        return {"path": content.rstrip(b"\0").decode("utf-8", "surrogateescape")}
    records = {}
    while content.strip(b"\0"):
        length = content.partition(b" ")[0]
        if not length.isdigit() or len(length) > 7 or not 4 < int(length) <= len(content):
            raise UnsafeInputError(what, "a broken extended header", "a tar")
        key, _, value = content[len(length) + 1 : int(length) - 1].partition(b"=")
        name = key.decode("utf-8", "replace")
        if name.startswith("GNU.sparse"):
            raise UnsafeInputError(what, "a sparse file", "plain files")
        if name in ("path", "size"):
            records[name] = value.decode("utf-8", "surrogateescape")
        content = content[int(length) :]
    if not records.get("size", "0").isdecimal() or len(records.get("size", "")) > 15:
        raise UnsafeInputError(what, "a broken size", "a tar")
    return records
