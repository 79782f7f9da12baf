"""Some rows of arrays of a .npz file: the file may be far larger than memory, and other arrays in
it are not looked at.
"""

import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from jaxtyping import Int, Shaped

from theodolite._storage.arrays import BLOCK_BYTES, NpzMember, npy_header, npz_members
from theodolite._storage.memory import check_memory
from theodolite._storage.paths import existing
from theodolite.errors import UnsafeInputError


def read_npz_rows(
    path: Path, name: str, rows: Int[np.ndarray, " m"] | None = None
) -> Shaped[np.ndarray, "m ..."]:
    """The given rows (ascending), or all, of the array ``name``; it is read once from its start."""
    what = f"array {name!r} of {path.name!r}"
    with (
        existing(path, "arrays").open("rb") as file,
        npz_members(file, path.name, [name]) as arrays,
    ):
        if name not in arrays:
            raise UnsafeInputError(what, "other arrays", f"one array {name!r}")
        member = arrays[name]
        with member_rows(member, what) as stream:
            if rows is None:
                rows = np.arange(member.shape[0])
            n, row_bytes = member.shape[0], _row_bytes(member)
            if len(rows) and (rows[0] < 0 or rows[-1] >= n or (np.diff(rows) <= 0).any()):
                raise UnsafeInputError(what, f"{n:,} rows", "the rows asked for, ascending")
            check_memory(len(rows) * row_bytes, what)
            array = np.empty((len(rows), *member.shape[1:]), member.dtype)
            step = max(BLOCK_BYTES // max(row_bytes, 1), 1)
            for start in range(0, int(rows[-1]) + 1 if len(rows) else 0, step):
                count = min(step, n - start)
                block = next_rows(stream, member, count, what)
                first, last = np.searchsorted(rows, (start, start + count))
                array[first:last] = block[rows[first:last] - start]
    return array


@contextmanager
def member_rows(member: NpzMember, what: str) -> Iterator[io.BufferedIOBase]:
    """The array's bytes as a stream, past its header."""
    if member.by_columns or not member.shape:
        raise UnsafeInputError(what, "no rows one after another", "C order, an axis")
    with member.opened() as stream:
        npy_header(stream, member.packed.filename)
        yield stream


def next_rows(stream: io.BufferedIOBase, member: NpzMember, count: int, what: str) -> np.ndarray:
    """The next rows of an array that is read from its start."""
    size = count * _row_bytes(member)
    content = stream.read(size)
    if len(content) != size:
        raise UnsafeInputError(what, "fewer bytes than its header says", "all of it")
    return np.asarray(np.frombuffer(content, member.dtype).reshape(count, *member.shape[1:]))


def _row_bytes(member: NpzMember) -> int:
    return math.prod(member.shape[1:]) * member.dtype.itemsize
