"""Write the arrays of a bundle shard by shard, and collect the rows of its manifest.
Used by the evidence writer and by Zarr adoption."""

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from theodolite._storage.stores import Store
from theodolite._storage.zarr.header import MAX_CHUNK_BYTES, NUMBERS
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Samples
from theodolite.evidence.manifests.digests import (
    CLUSTERS,
    ENDS,
    IDS,
    INDEX,
    compute_content_digest,
    pack_ids,
)
from theodolite.evidence.manifests.manifest import SHARED, ChunkRow

LEVEL = 1  # packs as well as 3 on activations, twice as fast


def index_step(index: np.ndarray) -> int | None:
    """Return the step of evenly spaced sample numbers, or None."""
    steps = np.diff(index)
    if not len(steps):
        return 1
    return int(steps[0]) if (steps == steps[0]).all() else None


class BundleFiles:
    """Files of one bundle below a folder of a store: one for each shard, with all its arrays.

    Arrays lie one after the other in a file, so that writing a shard is one request, and so is
    reading any of its arrays, or all.
    """

    def __init__(self, store: Store, folder: str) -> None:
        self._store = store
        self._start = f"{folder}/" if folder else ""
        self._piece = SHARED
        self._packed: list[bytes] = []
        """Chunks of the shard at hand, in their order in its file."""
        self._length = 0
        self.rows: list[ChunkRow] = []
        self.layouts: dict[str, Any] = {}

    def add(
        self, piece: int, rows: int, first: int, arrays: Iterable[tuple[str, np.ndarray]]
    ) -> None:
        """Add arrays of a shard."""
        for name, values in arrays:
            self._append(name, values, (piece, rows, first))

    def add_samples(self, piece: int, first: int, samples: Samples) -> None:
        """Add the sample numbers, ids and clusters of a shard."""
        index = np.asarray(samples.index, np.int64)
        head, step = (piece, len(index), first), index_step(index)
        if step is None:
            self._append(INDEX, index, head)
        else:
            self._append(INDEX, index, head, content=b"")
            at = int(index[0])
            self.rows[-1] = self.rows[-1]._replace(index_first=at, index_step=step)
        if samples.clusters is not None:
            self._append(CLUSTERS, np.asarray(samples.clusters, np.int64), head)
        if samples.ids is not None:
            content, ends = pack_ids(samples.ids)
            self._append(IDS, content, head)
            self._append(ENDS, ends, head)

    def add_shared(self, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        """Add arrays that all samples share."""
        self.add(SHARED, 0, 0, arrays)

    def _append(
        self,
        name: str,
        values: np.ndarray,
        head: tuple[int, int, int],
        content: bytes | None = None,
    ) -> None:
        """Pack an array behind those of its shard; with ``content`` this instead."""
        known = name in self.layouts
        if values.nbytes > MAX_CHUNK_BYTES or not (known or values.dtype.name in NUMBERS):
            got = f"{values.nbytes:,} bytes of {values.dtype} in a shard"
            raise EvidenceError(f"array {name!r}", got, f"numbers, at most {MAX_CHUNK_BYTES:,}")
        if head[0] != self._piece:
            self._write()
            self._piece = head[0]
        packed = _pack(values) if content is None else content
        layout = self.layouts[name] if known else self.layouts.setdefault(name, _describe(values))
        kind = values.dtype.newbyteorder("<").str, [*values.shape[1:]]
        if kind != (layout["dtype"], layout["shape"]):
            got = "{} {}".format(*kind)
            raise EvidenceError(f"array {name!r}", got, "the type and shape of the first shard")
        self.rows.append(
            ChunkRow(
                *head, name, len(values), self._file if packed else "", self._length * bool(packed),
                len(packed), None, hashlib.sha256(packed).digest(), compute_content_digest(values),
            )
        )  # fmt: skip
        self._packed.append(packed)
        self._length += len(packed)

    @property
    def _file(self) -> str:
        """The file of the shard at hand."""
        return f"{self._start}shards/{'shared' if self._piece == SHARED else f'{self._piece:06d}'}"

    def _write(self) -> None:
        if self._length:
            self._store.write(self._file, b"".join(self._packed))
        self._packed, self._length = [], 0

    def close(self) -> None:
        """Write the last shard and the manifest."""
        self._write()


def _describe(values: np.ndarray) -> dict[str, Any]:
    """Return the layout of an array: every shard of it is one chunk."""
    return {
        "dtype": values.dtype.newbyteorder("<").str, "shape": [*values.shape[1:]],
        "chunk": None, "fill_value": False if values.dtype == np.bool_ else 0,
        "codecs": [
            {"name": "bytes", "configuration": {"endian": "little"}},
            {"name": "zstd", "configuration": {"level": LEVEL, "checksum": False}},
        ],
    }  # fmt: skip


@lru_cache(maxsize=1)
def _codec() -> Any:
    import pyarrow as pa  # noqa: PLC0415  slow

    return pa.Codec("zstd", LEVEL)


def _pack(values: np.ndarray) -> bytes:
    if not values.size:
        return b""
    plain = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"), copy=False)
    packed: bytes = _codec().compress(plain.tobytes(), asbytes=True)
    return packed
