"""Rows of one data set in an HDF5 file.

Such a file can point at other files: by links, as storage, or as a puzzle of parts elsewhere. It
can also ask for decoders that are not its own, and claim sizes that it does not have. All that is
refused, from the header, before any value is read.
"""

import importlib
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int, Shaped

from theodolite._storage.paths import existing
from theodolite.errors import UnsafeInputError

MAX_VALUES_BYTES = 1 << 34
MAX_CHUNK_BYTES = 1 << 28
BLOCK_BYTES = 1 << 26
KNOWN_FILTERS = {1: "gzip", 2: "shuffle", 3: "checksum", 32000: "lzf"}


def read_hdf5_rows(
    path: Path, name: str, rows: Int[np.ndarray, " n"] | None = None
) -> Iterator[Shaped[np.ndarray, "m ..."]]:
    """The given rows (ascending), or all, of the data set ``name``: piece after piece."""
    with _dataset(path, name) as dataset:
        what = f"data set {name!r} of {path.name!r}"
        if rows is None:
            rows = np.arange(dataset.shape[0])
        row_bytes = math.prod(dataset.shape[1:]) * dataset.dtype.itemsize
        if len(rows) and (rows[0] < 0 or rows[-1] >= len(dataset) or (np.diff(rows) <= 0).any()):
            raise UnsafeInputError(what, f"{len(dataset):,} rows", "the rows asked for, ascending")
        if len(rows) * row_bytes > MAX_VALUES_BYTES:
            got = f"{len(rows):,} rows of {row_bytes:,} bytes"
            raise UnsafeInputError(what, got, f"at most {MAX_VALUES_BYTES:,} bytes")
        chunk = dataset.chunks[0] if dataset.chunks else 1
        step = max(BLOCK_BYTES // max(row_bytes, 1) // chunk, 1) * chunk
        for block in np.unique(rows // step):
            start = int(block) * step
            first, last = np.searchsorted(rows, (start, start + step))
            end = int(rows[last - 1]) + 1
            yield np.asarray(dataset[start:end])[rows[first:last] - start]


def hdf5_shape(path: Path, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return how large a data set is, and what it holds."""
    with _dataset(path, name) as dataset:
        return tuple(dataset.shape), np.dtype(dataset.dtype)


@contextmanager
def _dataset(path: Path, name: str) -> Iterator[Any]:
    """A data set that lies in this file alone."""
    try:
        h5py = importlib.import_module("h5py")
    except ModuleNotFoundError as error:
        raise UnsafeInputError(
            f"HDF5 file {path.name!r}", "no h5py here", "that package", "pip install h5py"
        ) from error
    try:
        with h5py.File(existing(path, "HDF5 file"), "r", locking="best-effort") as file:
            link = file.get(name, getlink=True)
            if type(link) is not h5py.HardLink or "/" in name:
                got = "nothing of that name" if link is None else "a link to elsewhere"
                raise UnsafeInputError(f"{name!r} of {path.name!r}", got, "a data set in the file")
            dataset = file[name]
            if not isinstance(dataset, h5py.Dataset):
                raise UnsafeInputError(f"{name!r} of {path.name!r}", "no data set", "one")
            _check(dataset, f"data set {name!r} of {path.name!r}")
            yield dataset
    except UnsafeInputError:
        raise
    except (OSError, KeyError, RuntimeError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UnsafeInputError(
            f"HDF5 file {path.name!r}", reason, "a readable HDF5 file"
        ) from error


def _check(dataset: Any, what: str) -> None:
    if dataset.is_virtual or dataset.external:
        raise UnsafeInputError(what, "values in other files", "values in this file")
    if dataset.dtype.kind not in "iuf" or not dataset.ndim:
        raise UnsafeInputError(what, f"{dataset.dtype}, {dataset.ndim} axes", "rows of numbers")
    plan = dataset.id.get_create_plist()
    filters = {plan.get_filter(i)[0] for i in range(plan.get_nfilters())}
    if not filters <= set(KNOWN_FILTERS):
        foreign = f"decoder {min(filters - set(KNOWN_FILTERS))}"
        raise UnsafeInputError(what, foreign, f"{', '.join(KNOWN_FILTERS.values())} or none")
    size, item = dataset.shape, dataset.dtype.itemsize
    if dataset.chunks is None:
        complete = dataset.id.get_storage_size() >= math.prod(size) * item
    else:
        if math.prod(dataset.chunks) * item > MAX_CHUNK_BYTES:
            got = f"pieces of {dataset.chunks}"
            raise UnsafeInputError(what, got, f"pieces of at most {MAX_CHUNK_BYTES:,} bytes")
        counts = (-(-n // c) for n, c in zip(size, dataset.chunks, strict=True))
        complete = dataset.id.get_num_chunks() == math.prod(counts)
    if not complete:
        raise UnsafeInputError(
            what, f"shape {size}, not all of it stored", "all of it; it is cut off"
        )
