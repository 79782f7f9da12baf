"""Read arrays of a .npz file row by row: the file may be far larger than memory."""

import io
import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from theodolite._storage.arrays import NpzMember, read_npy_header
from theodolite.errors import UnsafeInputError


@contextmanager
def open_member(member: NpzMember, what: str) -> Iterator[io.BufferedIOBase]:
    """The array's bytes as a stream, past its header."""
    if member.by_columns or not member.shape:
        raise UnsafeInputError(what, "no rows one after another", "C order, an axis")
    with member.opened() as stream:
        read_npy_header(stream, member.packed.filename)
        yield stream


def read_next_rows(
    stream: io.BufferedIOBase, member: NpzMember, count: int, what: str
) -> np.ndarray:
    """The next rows of an array that is read from its start."""
    size = count * count_row_bytes(member)
    content = stream.read(size)
    if len(content) != size:
        raise UnsafeInputError(what, "fewer bytes than its header says", "all of it")
    return np.asarray(np.frombuffer(content, member.dtype).reshape(count, *member.shape[1:]))


def count_row_bytes(member: NpzMember) -> int:
    """Return the size of a row."""
    return math.prod(member.shape[1:]) * member.dtype.itemsize
