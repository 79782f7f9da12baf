"""Encode, parse and check the manifest of a stored bundle: where each chunk of each array lies."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from theodolite._storage.stores import Store
from theodolite._storage.tables import parquet_bytes, read_arrow_from
from theodolite._storage.text import json_from
from theodolite._storage.zarr.packed_chunks import PieceLayout, parse_piece_layout
from theodolite.errors import UnsafeInputError
from theodolite.evidence.manifests.digests import (
    SAMPLE_ARRAYS,
    collect_axes,
    compute_axes_digest,
    compute_shard_digest,
)

FORMAT, MAJOR, MINOR = "theodolite-shards", 2, 0
HEADER = "header.json"
MAX_HEADER_BYTES = 64 << 20
MAX_MANIFEST_BYTES = 1 << 30
MAX_MANIFEST_ROWS = 1 << 24
DIGEST = re.compile("[0-9a-f]{64}")
KNOWN_NEEDS = frozenset(["ragged"])
"""Optional features of the format that this reader supports, such as ragged rows."""
SHARED = -1
"""Shard number of arrays that all samples share."""


class ChunkRow(NamedTuple):
    """Row of a manifest: one packed chunk of an array of a shard."""

    piece: int
    rows: int
    first: int
    array: str
    size: int
    """Entries along the first axis of the array in this piece."""
    file: str
    offset: int
    length: int
    """Number of bytes; 0 means that the chunk is all fill value."""
    corner: list[int] | None
    """Position of the chunk in the shard's array, if not its beginning."""
    stored: bytes
    """Digest of the packed bytes."""
    content: bytes
    """Digest of the whole unpacked array of the shard."""
    index_first: int | None = None
    index_step: int | None = None
    """First number and step of evenly spaced sample numbers, which need no bytes."""


def _types() -> dict[str, Any]:
    import pyarrow as pa  # noqa: PLC0415  slow

    number, digest = pa.int64(), pa.binary(32)
    return {
        "piece": pa.int32(), "rows": pa.int32(), "first": number, "array": pa.string(),
        "size": number, "file": pa.string(), "offset": number, "length": number,
        "corner": pa.list_(number), "stored": digest, "content": digest, "index_first": number,
        "index_step": number,
    }  # fmt: skip


@dataclass(frozen=True, eq=False)
class Manifest:
    """Description of a bundle and the location of its chunks. Create one with
    ``parse_manifest``.
    """

    bundle: Mapping[str, Any]
    layouts: Mapping[str, PieceLayout]
    parts: Mapping[str, str]
    """Folder of each part, if it was written in parts."""
    table: Any
    starts: np.ndarray
    """First row of each shard in the table, after the shared arrays; then the end."""

    @property
    def pieces(self) -> int:
        return len(self.starts) - 1

    def rows_of(self, piece: int) -> list[ChunkRow]:
        """Return the chunks of a shard, or of the shared arrays."""
        first, last = (
            (0, self.starts[0]) if piece == SHARED else (self.starts[piece], self.starts[piece + 1])
        )
        part = self.table.slice(first, last - first)
        return [ChunkRow(**row) for row in part.to_pylist()]

    def all_rows(self) -> Iterator[ChunkRow]:
        return (ChunkRow(**row) for batch in self.table.to_batches() for row in batch.to_pylist())

    @cached_property
    def cuts(self) -> list[tuple[int, int]]:
        """First sample of each shard and the one after its last."""
        chosen = self.table.take(self.starts[:-1]).select(["first", "rows"]).to_pydict()
        pairs = zip(chosen["first"], chosen["rows"], strict=True)
        return [(first, first + rows) for first, rows in pairs]

    def digests(self, inner: str = "") -> list[str]:
        """Return the digest of each shard, or of an inner bundle as if it stood alone."""
        axes = compute_axes_digest(
            collect_axes(self.bundle["inner"][inner] if inner else self.bundle)
        )
        columns = self.table.select(["piece", "array", "content"]).to_pydict()
        contents: dict[int, dict[str, bytes]] = {n: {} for n in range(SHARED, self.pieces)}
        for piece, array, content in zip(*columns.values(), strict=True):
            name = array if array in SAMPLE_ARRAYS or not inner else _within(inner, array)
            if name:
                contents[piece][name] = content
        shared = contents[SHARED]
        return [
            compute_shard_digest((shared | contents[n]).items(), axes) for n in range(self.pieces)
        ]

    def absent_notes(self) -> list[str]:
        """Return notes on chunks that were absent when arrays were adopted."""
        columns = self.table.select(["array", "length", "size", "index_step"]).to_pydict()
        chunks: dict[str, list[bool]] = {}
        for array, length, size, step in zip(*columns.values(), strict=True):
            if size and step is None:
                chunks.setdefault(array, []).append(not length)
        return [
            f"{sum(absent):,} of {len(absent):,} chunks of `{name}` are not stored and taken as "
            "its fill value."
            + " More than half: an upload that was cut off looks the same."
            * (2 * sum(absent) > len(absent))
            for name, absent in sorted(chunks.items())
            if any(absent)
        ]

    def unpacked_bytes(self, piece: int) -> int:
        """Return the memory that a shard needs, in bytes."""
        sizes = {row.array: row.size for row in self.rows_of(piece)}
        return sum(self.layouts[name].bytes_of(size) for name, size in sizes.items())


def _within(inner: str, array: str) -> str:
    prefix = f"{inner}/"
    return array.removeprefix(prefix) if array.startswith(prefix) else ""


def encode_manifest(
    bundle: Mapping[str, Any],
    layouts: Mapping[str, Mapping[str, Any]],
    rows: Sequence[ChunkRow],
    parts: Mapping[str, str] | None = None,
) -> bytes:
    """Return a manifest as bytes."""
    import pyarrow as pa  # noqa: PLC0415

    order = sorted(rows, key=lambda row: (row.piece, row.array, row.corner or []))
    columns = {
        name: pa.array([getattr(row, name) for row in order], kind)
        for name, kind in _types().items()
    }
    texts = {"bundle": bundle, "layouts": layouts, "parts": parts or {}}
    return parquet_bytes(
        columns, {f"theodolite.{k}": json.dumps(v, sort_keys=True) for k, v in texts.items()}
    )


def manifest_name(sha256: str) -> str:
    return f"manifest-{sha256[:16]}.parquet"


def encode_header(sha256: str, written_by: str, **more: Any) -> bytes:
    """Return the header, as bytes, that makes a manifest the current one."""
    header = {
        "format": FORMAT, "format_version": [MAJOR, MINOR], "written_by": written_by, "needs": [],
        "manifest": manifest_name(sha256), "sha256": sha256,
    }  # fmt: skip
    return json.dumps(header | more, sort_keys=True, indent=1).encode()


def check_header(content: bytes, what: str) -> dict[str, Any]:
    """Return a header of this format and major version, or raise."""
    header = json_from(content, HEADER)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise UnsafeInputError(what, "another format", f"format {FORMAT!r}")
    version, needs = header.get("format_version"), header.get("needs")
    known = isinstance(needs, list) and KNOWN_NEEDS.issuperset(map(str, needs))
    if not isinstance(version, list) or version[:1] != [MAJOR] or not known:
        by = header.get("written_by")
        writer = f", written by {by}" if isinstance(by, str) else ""
        got = f"format version {version}{writer}"[:200]
        if version and isinstance(version, list) and version[0] == MAJOR:
            got = f"a bundle that needs {needs}{writer}"[:200]
        raise UnsafeInputError(what, got, f"up to {MAJOR}", "Update theodolite.")
    sha256 = header.get("sha256")
    if (
        not isinstance(sha256, str)
        or len(sha256) != 64
        or not set(sha256) <= set("0123456789abcdef")
    ):
        raise UnsafeInputError(what, "no digest of a manifest", "sha256")
    return header


@lru_cache(maxsize=8)
def read_manifest(store: Store, sha256: str) -> Manifest:
    """Return the manifest with this digest; cached per process."""
    name = manifest_name(sha256)
    content = store.read(name, MAX_MANIFEST_BYTES)
    if hashlib.sha256(content).hexdigest() != sha256:
        raise UnsafeInputError(
            f"file {name!r} of {str(store)!r}", "other content", "as in the header"
        )
    return parse_manifest(content, f"{name} of {str(store)!r}")


def parse_manifest(content: bytes, what: str) -> Manifest:
    """Parse and check a manifest."""
    import pyarrow as pa  # noqa: PLC0415

    table = read_arrow_from(content, what)
    texts = {k.decode(): v for k, v in (table.schema.metadata or {}).items()}
    metadata = [json_from(texts.get(f"theodolite.{n}", b""), n) for n in ("bundle", "layouts")]
    parts = json_from(texts.get("theodolite.parts", b"{}"), "parts")
    if not all(isinstance(value, dict) for value in (*metadata, parts)) or not all(
        isinstance(text, str) for text in parts.values()
    ):
        raise UnsafeInputError(what, "no bundle and layouts", "both, in the metadata of the table")
    types = _types()
    try:
        table = pa.table({n: table[n].cast(kind) for n, kind in types.items()})
    except (KeyError, pa.ArrowException) as error:
        raise UnsafeInputError(
            what, f"columns {table.column_names}"[:200], f"{[*types]}"
        ) from error
    layouts = {name: parse_piece_layout(entry, what) for name, entry in metadata[1].items()}
    starts = _checked_starts(table, layouts, what)
    return Manifest(metadata[0], layouts, parts, table, starts)


def _checked_starts(table: Any, layouts: Mapping[str, PieceLayout], what: str) -> np.ndarray:
    """Return the first row of each shard; raise unless shards are contiguous and complete."""
    empty = [n for n in _types() if n not in ("corner", "index_first", "index_step")]
    if any(table[name].null_count for name in empty):
        raise UnsafeInputError(what, "cells without values", "all of them")
    column = {
        name: np.asarray(table[name])
        for name in ("piece", "rows", "first", "size", "offset", "length")
    }
    unknown = set(table["array"].unique().to_pylist()) - set(layouts)
    if unknown or any((column[name] < 0).any() for name in ("size", "offset", "length")):
        raise UnsafeInputError(what, "arrays without layouts, or sizes below 0", "all of them")
    piece = column["piece"]
    starts = np.flatnonzero(np.diff(piece, prepend=SHARED) > 0)
    numbers, rows, first = piece[starts], column["rows"][starts], column["first"][starts]
    if not len(starts) or (np.diff(piece) < 0).any() or (numbers != np.arange(len(numbers))).any():
        raise UnsafeInputError(what, "shards out of order", "shards 0, 1, 2, …")
    same = (column["rows"] == np.append(0, rows)[piece + 1]) | (piece == SHARED)
    expected = np.append(0, np.cumsum(rows, dtype=np.int64))[:-1]
    if (
        not same.all()
        or (rows < 1).any()
        or (rows > MAX_MANIFEST_ROWS).any()
        or (first != expected).any()
    ):
        raise UnsafeInputError(what, "rows that do not follow each other", "the rows of each piece")
    return np.append(starts, len(piece))
