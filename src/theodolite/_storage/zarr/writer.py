"""Write arrays as sharded Zarr version 3, one file at a time."""

import json
import math
from types import TracebackType
from typing import Any

import numpy as np
from jaxtyping import Shaped

from theodolite._storage._store_errors import explain_store_error
from theodolite._storage.stores import Store
from theodolite._storage.zarr.header import MAX_CHUNK_BYTES, NUMBERS, ZarrHeader
from theodolite.errors import EvidenceError

CHUNK_BYTES = 1 << 20
LEVEL = 1  # packs as well as 3 on activations, twice as fast


class ZarrWriter:
    """Writes an array, rows after rows. Until ``close`` it has no header: half an array is none.

    Each file is written once, when its rows are complete. Used in a ``with`` block, it closes at
    the end, but not after an error.
    """

    def __init__(
        self,
        store: Store,
        name: str,
        dtype: Any,
        row_shape: tuple[int, ...],
        shard_rows: int,
        chunk_rows: int | None = None,
    ) -> None:
        self.dtype, self.row_shape, self.rows = np.dtype(dtype), tuple(row_shape), 0
        if self.dtype.name not in NUMBERS or shard_rows < 1 or 0 in self.row_shape:
            got = f"{shard_rows} rows of {self.dtype} {self.row_shape} a file"
            raise EvidenceError(f"array {name!r}", got, "at least one row of numbers a file")
        self._store, self._name, self._shard_rows = store, name, shard_rows
        self._chunk_rows = chunk_rows or _chunk_rows(shard_rows, self._row_bytes)
        if shard_rows % self._chunk_rows:
            got = f"chunks of {chunk_rows} rows"
            raise EvidenceError(f"array {name!r}", got, f"a divisor of {shard_rows}")
        self._waiting: list[np.ndarray] = []
        self._files: set[str] = set()
        store.remove(f"{name}/zarr.json")  # an earlier array of that name is no more

    @property
    def _row_bytes(self) -> int:
        return math.prod((*self.row_shape, self.dtype.itemsize))

    def append(self, rows: Shaped[np.ndarray, "n ..."]) -> None:
        """Add rows, as many as there are."""
        if rows.dtype != self.dtype or rows.shape[1:] != self.row_shape:
            got = f"rows of {rows.dtype} {rows.shape[1:]}"
            raise EvidenceError(f"array {self._name!r}", got, f"{self.dtype} {self.row_shape}")
        while len(rows):
            waiting = sum(map(len, self._waiting))
            part, rows = np.split(rows, [self._shard_rows - waiting])
            self._waiting.append(np.array(part))  # the caller may use his array again
            if waiting + len(part) == self._shard_rows:
                self._write()

    def close(self) -> ZarrHeader:
        """Write the rest, then the header."""
        self._write()
        header = json.loads(self._packed(None)["zarr.json"])
        header["shape"][0] = self.rows
        own_files = {f"{self._name}/{file}" for file in self._files}
        for name in self._store.names(self._name):
            if name not in own_files:  # of an earlier, longer array
                self._store.remove(name)
        content = json.dumps(header, indent=1, sort_keys=True).encode()
        self._store.write(f"{self._name}/zarr.json", content)
        return ZarrHeader((self.rows, *self.row_shape), self.dtype, self._shard_rows)

    def __enter__(self) -> "ZarrWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()

    def _write(self) -> None:
        """One file of the rows that wait, if any do."""
        if not self._waiting:
            return
        rows, self._waiting = np.concatenate(self._waiting), []
        zeros = "/0" * len(self.row_shape)
        file = f"c/{self.rows // self._shard_rows}{zeros}"
        content = self._packed(rows)[f"c/0{zeros}"]
        self._store.write(f"{self._name}/{file}", content)
        self._files.add(file)
        self.rows += len(rows)

    def _packed(self, rows: np.ndarray | None) -> dict[str, bytes]:
        """The files of an array of one shard, as zarr writes them."""
        with explain_store_error(f"array {self._name!r}"):
            import zarr  # noqa: PLC0415  optional, and slow
            from zarr.codecs import ZstdCodec  # noqa: PLC0415
            from zarr.storage import MemoryStore  # noqa: PLC0415

        files: dict[str, Any] = {}
        array = zarr.create_array(
            MemoryStore(files),
            shape=(self._shard_rows if rows is None else len(rows), *self.row_shape),
            chunks=(self._chunk_rows, *self.row_shape),
            shards=(self._shard_rows, *self.row_shape),
            dtype=self.dtype,
            fill_value=False if self.dtype == np.bool_ else 0,
            compressors=ZstdCodec(level=LEVEL, checksum=True),
            config={"write_empty_chunks": True},  # what is not there was lost, not zero
        )
        if rows is not None:
            array[:] = rows
        return {name: content.to_bytes() for name, content in files.items()}


def _chunk_rows(shard_rows: int, row_bytes: int) -> int:
    """Rows in a chunk of about a mebibyte, such that whole chunks fill a shard."""
    target = max(CHUNK_BYTES / row_bytes, 1)
    fit = [
        n for n in range(1, shard_rows + 1)
        if not shard_rows % n and (n == 1 or n * row_bytes <= MAX_CHUNK_BYTES)
    ]  # fmt: skip
    return min(fit, key=lambda n: abs(math.log(n / target)))
