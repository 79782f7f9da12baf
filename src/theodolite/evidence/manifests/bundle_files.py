"""Write the arrays of a bundle shard by shard, and collect the rows of its manifest.
Used by the evidence writer and by Zarr adoption."""

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from theodolite._storage.stores import Store
from theodolite._storage.zarr.arrays import PackedFile, ZarrWriter
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

FOLDERS = {INDEX: "samples/index", CLUSTERS: "samples/clusters", ENDS: "samples/ids_ends"}
IDS_LAYOUT = {
    "dtype": "|u1", "shape": [], "chunk": None, "fill_value": 0,
    "codecs": [{"name": "bytes", "configuration": {}}],
}  # fmt: skip
NUMBERS_LAYOUT = {
    "dtype": "<i8", "shape": [], "chunk": None, "fill_value": 0,
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
}  # fmt: skip
NO_FILE = PackedFile("", 0, 0, hashlib.sha256().digest())


def index_step(index: np.ndarray) -> int | None:
    """Return the step of evenly spaced sample numbers, or None."""
    steps = np.diff(index)
    if not len(steps):
        return 1
    return int(steps[0]) if (steps == steps[0]).all() else None


class BundleFiles:
    """Files of one bundle below a folder of a store."""

    def __init__(self, store: Store, folder: str, rows: int, *, uneven: bool = False) -> None:
        self._store, self._rows = store, rows
        self._uneven = uneven
        """Whether pieces differ in rows."""
        self._start = f"{folder}/" if folder else ""
        self._arrays: dict[str, ZarrWriter] = {}
        self._waiting: list[tuple[str, int, ChunkRow]] = []
        """Rows whose files may not be written yet: array, number of the file, and the rest."""
        self.rows: list[ChunkRow] = []
        self.layouts: dict[str, Any] = {}

    def add(self, piece: int, first: int, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        """Add the arrays of a shard that have a row per sample."""
        for name, values in arrays:
            self._append(name, values, (piece, len(values), first))

    def add_uneven(
        self, piece: int, rows: int, first: int, arrays: Iterable[tuple[str, np.ndarray]]
    ) -> None:
        """Add the ragged arrays of a shard."""
        for name, values in arrays:
            self._append_uneven(name, values, (piece, rows, first))

    def _append_uneven(self, name: str, values: np.ndarray, head: tuple[int, int, int]) -> None:
        place = f"{self._start}{FOLDERS.get(name, name)}/{head[0]:06d}"
        n = max(len(values), 1)
        array = ZarrWriter(self._store, place, values.dtype, values.shape[1:], n, n)
        if name not in self.layouts:
            self.layouts[name] = {**array.layout, "chunk": None}
        file = NO_FILE
        if values.size:
            array.append(values)
            array.close()
            file = array.packed_files[0]
        self.rows.append(self._row(name, values, head, file))

    def add_samples(self, piece: int, first: int, samples: Samples) -> None:
        """Add the sample numbers, ids and clusters of a shard."""
        index = np.asarray(samples.index, np.int64)
        head, step = (piece, len(index), first), index_step(index)
        if step is None:
            self._write_unpacked(INDEX, index, head, NUMBERS_LAYOUT)
        else:
            self.layouts.setdefault(INDEX, NUMBERS_LAYOUT)
            row = self._row(INDEX, index, head, NO_FILE)
            self.rows.append(row._replace(index_first=int(index[0]), index_step=step))
        if samples.clusters is not None:
            self._append(CLUSTERS, np.asarray(samples.clusters, np.int64), head)
        if samples.ids is not None:
            content, ends = pack_ids(samples.ids)
            self._write_unpacked(IDS, content, head, IDS_LAYOUT)
            self._append(ENDS, ends, head)

    def add_shared(self, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        """Add arrays that all samples share."""
        for name, values in arrays:
            self._append(name, values, (SHARED, 0, 0), len(values))

    def _append(
        self, name: str, values: np.ndarray, head: tuple[int, int, int], rows: int = 0
    ) -> None:
        if self._uneven and head[0] != SHARED:
            self._append_uneven(name, values, head)
            return
        if not values.size:  # nothing to store
            entry = {**NUMBERS_LAYOUT, "dtype": values.dtype.str, "shape": [*values.shape[1:]]}
            self.layouts.setdefault(name, entry)
            self.rows.append(self._row(name, values, head, NO_FILE))
            return
        if name not in self._arrays:
            place = self._start + FOLDERS.get(name, name)
            height = rows or self._rows
            self._arrays[name] = ZarrWriter(
                self._store, place, values.dtype, values.shape[1:], height, height
            )
        number = sum(waiting == name for waiting, _, _ in self._waiting)
        self._arrays[name].append(values)
        self._waiting.append((name, number, self._row(name, values, head, NO_FILE)))

    def _write_unpacked(
        self, name: str, values: np.ndarray, head: tuple[int, int, int], layout: dict[str, Any]
    ) -> None:
        """Write an array whose shards differ in length: one unpacked file per shard."""
        content = np.ascontiguousarray(values).tobytes()
        self.layouts.setdefault(name, layout)
        place = FOLDERS.get(name, "samples/ids")
        file = f"{self._start}{place}/{head[0]:06d}"
        if content:
            self._store.write(file, content)
        packed = PackedFile(file, 0, len(content), hashlib.sha256(content).digest())
        self.rows.append(self._row(name, values, head, packed))

    def _row(
        self, name: str, values: np.ndarray, head: tuple[int, int, int], file: PackedFile
    ) -> ChunkRow:
        return ChunkRow(
            *head, name, len(values), file.name, file.offset, file.length, None, file.sha256,
            compute_content_digest(values),
        )  # fmt: skip

    def close(self) -> None:
        """Write the remaining chunks, so that all rows and layouts are known."""
        for name, array in self._arrays.items():
            self.layouts[name] = array.layout
            array.close()
        for name, number, row in self._waiting:
            file = self._arrays[name].packed_files[number]
            self.rows.append(
                row._replace(
                    file=file.name, offset=file.offset, length=file.length, stored=file.sha256
                )
            )
        self._waiting = []
