"""Read some rows of an array of a .npz file that may be far larger than memory."""

from pathlib import Path

import numpy as np
from jaxtyping import Int, Shaped

from theodolite._storage.arrays import BLOCK_BYTES, list_npz_members
from theodolite._storage.memory_limit import check_memory
from theodolite._storage.paths import existing
from theodolite._storage.row_files.npz_rows import count_row_bytes, open_member, read_next_rows
from theodolite.errors import UnsafeInputError


def read_npz_rows(
    path: Path, name: str, rows: Int[np.ndarray, " m"] | None = None
) -> Shaped[np.ndarray, "m ..."]:
    """Read the given rows (ascending), or all, of an array, once from its start."""
    what = f"array {name!r} of {path.name!r}"
    with (
        existing(path, "arrays").open("rb") as file,
        list_npz_members(file, path.name, [name]) as arrays,
    ):
        if name not in arrays:
            raise UnsafeInputError(what, "other arrays", f"one array {name!r}")
        member = arrays[name]
        with open_member(member, what) as stream:
            if rows is None:
                rows = np.arange(member.shape[0])
            n, size = member.shape[0], count_row_bytes(member)
            if len(rows) and (rows[0] < 0 or rows[-1] >= n or (np.diff(rows) <= 0).any()):
                raise UnsafeInputError(what, f"{n:,} rows", "the rows asked for, ascending")
            check_memory(len(rows) * size, what)
            array = np.empty((len(rows), *member.shape[1:]), member.dtype)
            step = max(BLOCK_BYTES // max(size, 1), 1)
            for start in range(0, int(rows[-1]) + 1 if len(rows) else 0, step):
                count = min(step, n - start)
                block = read_next_rows(stream, member, count, what)
                first, last = np.searchsorted(rows, (start, start + count))
                array[first:last] = block[rows[first:last] - start]
    return array
