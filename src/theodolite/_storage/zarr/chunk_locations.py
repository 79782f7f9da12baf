"""Locate the chunks of Zarr arrays that others wrote, from one listing of names."""

import itertools
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from theodolite._storage.stores import Store
from theodolite._storage.zarr.chunks import LEFT_OUT, read_shard_index
from theodolite._storage.zarr.header import MAX_HEADER, ChunkLayout, parse_layout
from theodolite.errors import UnsafeInputError

MAX_FILES = 10_000_000


@dataclass(frozen=True)
class ChunkPlace:
    """A chunk: where it begins in the piece, and its packed bytes; length 0 if it is absent."""

    corner: list[int]
    file: str
    offset: int
    length: int


@dataclass(eq=False)
class ForeignArray:
    """A Zarr array in a store of which all names are known."""

    store: Store
    name: str
    names: frozenset[str]
    layout: ChunkLayout = field(init=False)
    entry: dict[str, Any] = field(init=False)
    """As a manifest has it."""
    _index: dict[str, np.ndarray] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        what = f"array {self.name!r} of {str(self.store)!r}"
        content = self.store.read(f"{self.name}/zarr.json", MAX_HEADER)
        self.layout, header = parse_layout(content, what), json.loads(content)
        codecs = header["codecs"]
        if self.layout.sharded:
            codecs = codecs[0]["configuration"]["codecs"]
        fill = header.get("fill_value", 0)
        if type(fill) not in (int, float, bool):
            raise UnsafeInputError(
                what, f"fill value {fill!r}"[:80], "a number", "Save it again so."
            )
        self.entry = {
            "dtype": self.layout.dtype.newbyteorder("<").str, "shape": [*self.layout.shape[1:]],
            "chunk": [*self.layout.chunk], "codecs": codecs, "fill_value": fill,
        }  # fmt: skip

    def chunks(self, first: int, last: int) -> list[ChunkPlace]:
        """The chunks that hold some rows."""
        shape, chunk, files = self.layout.shape, self.layout.chunk, self.layout.files
        grid = [range(first // chunk[0], -(-last // chunk[0]))]
        grid += [range(-(-n // m)) for n, m in zip(shape[1:], chunk[1:], strict=True)]
        places = []
        for at in itertools.islice(itertools.product(*grid), MAX_FILES):
            corner = [i * m for i, m in zip(at, chunk, strict=True)]
            place = [n // m for n, m in zip(corner, files, strict=True)]
            inside = [(n % m) // k for n, m, k in zip(corner, files, chunk, strict=True)]
            file = f"{self.name}/{self.layout.separator.join(['c', *map(str, place)])}"
            corner[0] -= first
            places.append(ChunkPlace(corner, file, *self._extent(file, tuple(inside))))
        return places

    def _extent(self, file: str, inside: tuple[int, ...]) -> tuple[int, int]:
        if file not in self.names:
            return 0, 0
        if not self.layout.sharded:
            return 0, self.store.size(file) or 0
        if file not in self._index:
            if len(self._index) > 64:
                self._index.clear()
            what, size = f"file {file!r} of {str(self.store)!r}", self.store.size(file) or 0
            self._index[file] = read_shard_index(self.store, file, size, self.layout, what)
        start, length = (int(n) for n in self._index[file][inside])
        return (0, 0) if start == length == LEFT_OUT else (start, length)
