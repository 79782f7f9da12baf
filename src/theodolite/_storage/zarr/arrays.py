"""Arrays that grow row by row and may be larger than memory: Zarr version 3, in shards.

A shard is one file that holds many rows, packed in chunks of about a mebibyte, so that a few rows
can be read without the rest. Any program that reads Zarr can read what is written here.
"""

import itertools
import math

import numpy as np
from jaxtyping import Shaped

from theodolite._storage.stores import Store
from theodolite._storage.zarr.chunks import read_file
from theodolite._storage.zarr.header import MAX_HEADER, ChunkLayout, ZarrHeader, parse_layout
from theodolite._storage.zarr.writer import ZarrWriter
from theodolite.errors import UnsafeInputError

__all__ = ["ZarrHeader", "ZarrWriter", "read_zarr_header", "read_zarr_rows"]

MAX_VALUES_BYTES = 1 << 32
MAX_FILES = 100_000


def read_zarr_header(store: Store, name: str) -> ZarrHeader:
    """What a stored array is, from its header."""
    layout = _layout(store, name)
    return ZarrHeader(layout.shape, layout.dtype, layout.files[0])


def read_zarr_rows(store: Store, name: str, first: int, last: int) -> Shaped[np.ndarray, "n ..."]:
    """The rows from ``first`` on, before ``last``. Files that should be there and are not are an
    error: zarr itself would take their values to be zero.
    """
    layout, what = _layout(store, name), f"array {name!r} of {str(store)!r}"
    if not 0 <= first <= last <= layout.shape[0]:
        raise UnsafeInputError(what, f"{layout.shape[0]:,} rows", f"rows {first:,} to {last:,}")
    shape = (last - first, *layout.shape[1:])
    if math.prod(shape) * layout.dtype.itemsize > MAX_VALUES_BYTES:
        raise UnsafeInputError(
            what, f"{shape} values at once", f"at most {MAX_VALUES_BYTES:,} bytes"
        )
    height = layout.files[0]
    across = [range(-(-n // m)) for n, m in zip(layout.shape[1:], layout.files[1:], strict=True)]
    down = range(first // height, -(-last // height)) if last > first else range(0)
    files = {
        place: f"{name}/{layout.separator.join(['c', *map(str, place)])}"
        for place in itertools.islice(itertools.product(down, *across), MAX_FILES + 1)
    }
    missing = next((file for file in files.values() if store.size(file) is None), None)
    if missing is not None or len(files) > MAX_FILES:  # before any memory is taken
        got = f"no {missing!r}" if missing else f"more than {MAX_FILES:,} files"
        raise UnsafeInputError(what, got, "all its files, in fewer; it is cut off")
    array = np.empty(shape, layout.dtype)
    for place, file in files.items():
        top = place[0] * height
        rows = (max(first - top, 0), min(last - top, height))
        for inner, values in read_file(store, file, layout, place, rows).items():
            corner = [
                p * n + i * m
                for p, n, i, m in zip(place, layout.files, inner, layout.chunk, strict=True)
            ]
            corner[0] -= first
            insert_rows(array, values, corner)
    return array


def insert_rows(array: np.ndarray, values: np.ndarray, corner: list[int]) -> None:
    """Lay a piece into the array; what sticks out is padding, or rows that were not asked for."""
    inside, part = [], []
    for at, size, room in zip(corner, values.shape, array.shape, strict=True):
        inside.append(slice(max(at, 0), min(at + size, room)))
        part.append(slice(max(-at, 0), room - at))
    array[tuple(inside)] = values[tuple(part)]


def _layout(store: Store, name: str) -> ChunkLayout:
    what = f"array {name!r} of {str(store)!r}"
    if store.size(f"{name}/zarr.json") is None and store.size(f"{name}/.zarray") is not None:
        do = "Save it again as version 3: zarr.create_array(..., zarr_format=3)."
        raise UnsafeInputError(
            what, "Zarr version 2, which can hold pickled objects", "version 3", do
        )
    return parse_layout(store.read(f"{name}/zarr.json", MAX_HEADER), what)
