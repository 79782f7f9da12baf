"""Convert plain arrays, and samples that come one by one, to columns."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from theodolite.errors import EvidenceError
from theodolite.evidence.foreign_arrays import is_null
from theodolite.evidence.sources.arrow_columns import BLOCK_BYTES, MAX_TEXT_CHARS, ROWS
from theodolite.evidence.sources.columns import Block, Column, check_type


def to_column(values: np.ndarray) -> Column:
    """Convert an array to a column; words become numbers, NaN stays."""
    if values.dtype.kind == "S":
        try:
            values = np.char.decode(values, "utf-8")
        except UnicodeDecodeError as error:
            raise EvidenceError("a column", "bytes that are no UTF-8", "text") from error
    if values.dtype.kind not in "UO":
        check_type(values.dtype, "a column")
        return Column(values)
    nulls = None
    if values.dtype.kind == "O":
        nulls = np.array([is_null(item) for item in values.flat], bool).reshape(values.shape)
        if not all(isinstance(item, str) for item in values[~nulls].tolist()):
            raise EvidenceError("a column", "Python objects", "numbers, or words")
        values = np.where(nulls, "", values).astype(str)
        nulls = nulls if nulls.any() else None
    words, codes = np.unique(values, return_inverse=True)
    return Column(codes.reshape(values.shape), nulls, tuple(words.tolist()))


def to_block(arrays: Mapping[str, np.ndarray], what: str = "a batch") -> Block:
    """Convert arrays to one block; they must have equally many rows."""
    lengths = {name: len(array) if array.ndim else -1 for name, array in arrays.items()}
    if len(set(lengths.values())) > 1 or -1 in lengths.values():
        raise EvidenceError(what, f"lengths {lengths}", "as many rows in each")
    return {name: to_column(array) for name, array in arrays.items()}


def split_into_blocks(arrays: Mapping[str, Any], columns: Sequence[str] | None) -> Iterator[Block]:
    """Yield arrays in blocks of rows."""
    chosen = {name: a for name, a in arrays.items() if columns is None or name in columns}
    length = max((len(array) for array in chosen.values() if array.ndim), default=0)
    size = sum(array.nbytes for array in chosen.values())
    step = max(min(ROWS, BLOCK_BYTES * length // max(size, 1)), 1)
    for start in range(0, length, step):
        yield to_block({name: array[start : start + step] for name, array in chosen.items()})


def batch_samples(
    samples: Iterator[Mapping[str, Any]], columns: Sequence[str] | None, what: str
) -> Iterator[Block]:
    """Yield samples that come one by one as blocks."""
    waiting: list[dict[str, np.ndarray]] = []
    row = size = 0
    for sample in samples:
        chosen = {n: _value(v, n) for n, v in sample.items() if columns is None or n in columns}
        if waiting:
            _check_alike(waiting[0], chosen, f"row {row + len(waiting):,} of {what}")
        waiting.append(chosen)
        size += sum(array.nbytes for array in chosen.values())
        if len(waiting) == ROWS or size > BLOCK_BYTES:
            yield _stacked(waiting)
            row, size, waiting = row + len(waiting), 0, []
    if waiting:
        yield _stacked(waiting)


def _value(value: Any, name: str) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind not in "fiubU" or (array.dtype.kind == "U" and array.ndim):
        raise EvidenceError(name, f"{array.dtype} values", "numbers, or a word a row")
    if array.dtype.kind == "U" and array.dtype.itemsize > 4 * MAX_TEXT_CHARS:
        raise EvidenceError(name, f"{len(str(array)):,} characters", f"at most {MAX_TEXT_CHARS:,}")
    return array


def _check_alike(
    first: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray], what: str
) -> None:
    if first.keys() != other.keys():
        differing = sorted(first.keys() ^ other.keys())
        raise EvidenceError(what, f"other columns ({differing[0]!r})", "the same in every row")
    for name, array in other.items():
        if array.shape != first[name].shape:
            got = f"shape {array.shape} of {name!r}"
            raise EvidenceError(what, got, f"{first[name].shape}, as before")


def _stacked(samples: Sequence[Mapping[str, np.ndarray]]) -> Block:
    return to_block({name: np.stack([s[name] for s in samples]) for name in samples[0]})
