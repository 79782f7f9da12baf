"""Some rows of one array of a .npz file: the file may be far larger than memory, and other arrays
in it are not looked at.
"""

import io
import math
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
from jaxtyping import Int, Shaped

from theodolite.errors import RefusedInput
from theodolite.io.arrays import MAX_MEMBERS, MAX_UNPACKED_BYTES, _npy_header
from theodolite.io.paths import existing

BLOCK_BYTES = 1 << 24


def read_npz_rows(
    path: Path, name: str, rows: Int[np.ndarray, " m"] | None = None
) -> Shaped[np.ndarray, "m ..."]:
    """The given rows (ascending), or all, of the array ``name``; it is read once from its start."""
    with _member(path, name) as (stream, shape, dtype):
        if rows is None:
            rows = np.arange(shape[0])
        what, row_bytes = f"array {name!r} of {path.name!r}", math.prod(shape[1:]) * dtype.itemsize
        if len(rows) and (rows[0] < 0 or rows[-1] >= shape[0] or (np.diff(rows) <= 0).any()):
            raise RefusedInput(what, f"{shape[0]:,} rows", "the rows asked for, ascending")
        if len(rows) * row_bytes > MAX_UNPACKED_BYTES:
            got = f"{len(rows):,} rows of {row_bytes:,} bytes"
            raise RefusedInput(what, got, f"at most {MAX_UNPACKED_BYTES:,} bytes")
        array = np.empty((len(rows), *shape[1:]), dtype)
        step = max(BLOCK_BYTES // max(row_bytes, 1), 1)
        for start in range(0, int(rows[-1]) + 1 if len(rows) else 0, step):
            count = min(step, shape[0] - start)
            content = stream.read(count * row_bytes)
            if len(content) != count * row_bytes:
                raise RefusedInput(what, "fewer bytes than its header says", "all of it")
            first, last = np.searchsorted(rows, (start, start + count))
            block = np.frombuffer(content, dtype).reshape(count, *shape[1:])
            array[first:last] = block[rows[first:last] - start]
    return array


@contextmanager
def _member(path: Path, name: str) -> Iterator[tuple[Any, tuple[int, ...], np.dtype[Any]]]:
    """The array's bytes as a stream, past its header, which was checked."""
    file, what = f"{name}.npy", f"array {name!r} of {path.name!r}"
    try:
        with zipfile.ZipFile(existing(path, "arrays")) as archive:
            if len(archive.namelist()) > MAX_MEMBERS or archive.namelist().count(file) != 1:
                raise RefusedInput(what, f"{archive.namelist()[:9]}", f"one array {name!r}")
            with archive.open(file) as stream:
                _npy_header(cast(io.BufferedIOBase, stream), name)
            with archive.open(file) as stream:
                version = np.lib.format.read_magic(stream)
                header = {
                    (1, 0): np.lib.format.read_array_header_1_0,
                    (2, 0): np.lib.format.read_array_header_2_0,
                }[version]
                shape, by_columns, dtype = header(stream)
                if by_columns or not shape:
                    raise RefusedInput(what, "no rows one after another", "C order, an axis")
                yield stream, shape, dtype
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError) as error:
        raise RefusedInput(f"arrays {path.name!r}", "a broken archive", "a .npz file") from error
