"""Read packed chunks at known positions, without Zarr's own metadata files."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from theodolite._storage.zarr.arrays import insert_rows
from theodolite._storage.zarr.chunks import check_packed, unpack_chunk
from theodolite._storage.zarr.header import (
    MAX_AXES,
    MAX_CHUNK_BYTES,
    NUMBERS,
    ChunkLayout,
    parse_packing,
)
from theodolite.errors import UnsafeInputError

MAX_PIECE_BYTES = 1 << 31


@dataclass(frozen=True)
class PieceLayout:
    """How an array lies in its chunks, the same in every piece."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    """Of a row."""
    chunk: tuple[int, ...] | None
    """Of what is packed together; without, all rows of a piece are."""
    codecs: tuple[Any, ...]
    fill: Any
    order: tuple[int, ...]
    stored: np.dtype[Any]
    packing: tuple[str, ...]

    def entry(self) -> dict[str, Any]:
        """As a manifest has it."""
        return {
            "dtype": self.dtype.str, "shape": list(self.shape), "codecs": list(self.codecs),
            "chunk": None if self.chunk is None else list(self.chunk), "fill_value": self.fill,
        }  # fmt: skip

    def bytes_of(self, size: int) -> int:
        """Return the unpacked size of this number of rows."""
        return size * math.prod(self.shape) * self.dtype.itemsize

    def chunk_shape(self, size: int) -> tuple[int, ...]:
        """Return the shape of a chunk in a shard of this number of rows."""
        return self.chunk or (size, *self.shape)


def parse_piece_layout(entry: Any, what: str) -> PieceLayout:
    """A layout as a manifest gives it; whatever is not plain in it is refused."""
    try:
        return _layout_from(entry, what)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, UnsafeInputError):
            raise
        reason = " ".join(f"{type(error).__name__} {error}".split())[:100]
        raise UnsafeInputError(
            what, f"a broken layout ({reason})", "dtype, shape, codecs"
        ) from error


def _layout_from(entry: Mapping[str, Any], what: str) -> PieceLayout:
    dtype = np.dtype(str(entry["dtype"]))
    shape, chunk, codecs = entry["shape"], entry.get("chunk"), entry["codecs"]
    sizes = [*shape, *(chunk or ())]
    plain = all(type(n) is int and 0 <= n < 1 << 40 for n in sizes) and len(shape) < MAX_AXES
    if dtype.name not in NUMBERS or dtype.str != entry["dtype"] or not plain:
        raise UnsafeInputError(what, f"{entry['dtype']} {shape}"[:100], "plain numbers")
    if chunk is not None and (len(chunk) != len(shape) + 1 or 0 in chunk):
        raise UnsafeInputError(what, f"chunks {chunk}"[:100], "as many axes as the array")
    order, stored, packing = parse_packing(codecs, len(shape) + 1, dtype, what)
    fill = entry.get("fill_value", 0)
    if type(fill) not in (int, float, bool):
        raise UnsafeInputError(what, "a fill value that is no number", "a number")
    fixed = None if chunk is None else tuple(chunk)
    return PieceLayout(dtype, tuple(shape), fixed, tuple(codecs), fill, order, stored, packing)


Chunk = tuple[Sequence[int] | None, memoryview]
"""Where a chunk begins in the piece, and its packed bytes; without bytes it is all fill value."""


def unpack_piece(chunks: Sequence[Chunk], size: int, layout: PieceLayout, what: str) -> np.ndarray:
    """An array of a piece from its packed chunks; memory is bounded before any is taken."""
    shape, chunk = (size, *layout.shape), layout.chunk_shape(size)
    unpacked_size = math.prod(chunk) * layout.dtype.itemsize
    if layout.bytes_of(size) > MAX_PIECE_BYTES or unpacked_size > MAX_CHUNK_BYTES:
        got = f"{layout.bytes_of(size):,} bytes in chunks of {unpacked_size:,}"
        raise UnsafeInputError(what, got, f"at most {MAX_PIECE_BYTES:,}, {MAX_CHUNK_BYTES:,}")
    rule = ChunkLayout(
        shape, layout.dtype, layout.stored, chunk, chunk, layout.order, layout.packing,
        sharded=False, index_last=True, separator="/",
    )  # fmt: skip
    whole = len(chunks) == 1 and chunks[0][0] is None and chunk[1:] == layout.shape
    if whole and chunk[0] >= size and len(chunks[0][1]):
        return _unpacked(chunks[0][1], rule, what)[:size]
    array: np.ndarray = np.full(shape, layout.fill, layout.dtype)
    for corner, content in chunks:
        if len(content):
            insert_rows(array, _unpacked(content, rule, what), _corner(corner, shape, chunk, what))
    return array


def _corner(
    corner: Sequence[int] | None, shape: tuple[int, ...], chunk: tuple[int, ...], what: str
) -> list[int]:
    """Return where a chunk begins; a chunk of the piece before may reach into it."""
    begin = [0] * len(shape) if corner is None else list(corner)
    touches = len(begin) == len(shape) and all(
        -n < at < room for at, n, room in zip(begin, chunk, shape, strict=False)
    )
    if not touches:
        raise UnsafeInputError(what, f"a chunk at {begin}"[:100], f"within {shape}")
    return begin


def _unpacked(content: memoryview, rule: ChunkLayout, what: str) -> np.ndarray:
    check_packed(len(content), rule.chunk_bytes, what)
    return unpack_chunk(content, rule, what)
