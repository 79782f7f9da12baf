"""Blocks of columns that every source of rows yields, and the choice of columns by name or
pattern. Every column passes one gate before anything is computed with it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from theodolite.errors import EvidenceError, did_you_mean, printable

NUMBERS = "fiub"
"""Kinds of numpy types that are computed with; each at most 8 bytes wide."""
_SHOWN = 12


@dataclass(frozen=True, eq=False)
class Column:
    """Some rows of one column."""

    values: np.ndarray
    """Values, one row each; words are stored as numbers."""
    nulls: np.ndarray | None = None
    """Where values are missing, in the shape of the values."""
    words: tuple[str, ...] | None = None
    """Words that the numbers stand for, in arbitrary order."""
    names: tuple[str, ...] | None = None
    """Names of the positions along the second axis, or of the classes."""

    def __len__(self) -> int:
        return len(self.values)


Block = Mapping[str, Column]


@dataclass(frozen=True)
class RowSource:
    """Source that yields blocks of rows."""

    name: str
    header: Callable[[], tuple[str, ...]]
    """Names of its columns."""
    blocks: Callable[[Sequence[str] | None], Iterator[Block]]
    """Function that yields blocks of some columns, or of all."""
    again: bool = True
    """Whether it can be read a second time."""
    whole: Callable[[str], Any] | None = None
    """Function that returns an array without a row per sample, if the source has any."""

    def checked_header(self) -> tuple[str, ...]:
        """Return the names of the columns; raise if one comes twice."""
        names = self.header()
        twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
        if twice is not None:
            got = f"two columns {printable(twice, 60)!r}"
            raise EvidenceError(f"source {self.name!r}", got, "each name once")
        return names

    def checked_blocks(self, columns: Sequence[str] | None) -> Iterator[Block]:
        """Yield blocks of columns whose types can be computed with; raise for any other."""
        for block in self.blocks(columns):
            for name, column in block.items():
                check_type(column.values.dtype, f"column {printable(name, 60)!r} of {self.name}")
            lengths = {name: len(column) for name, column in block.items()}
            if len(set(lengths.values())) > 1:
                got = printable(f"lengths {lengths}")
                raise EvidenceError(f"source {self.name!r}", got, "as many rows in each")
            yield block


def check_type(dtype: np.dtype[Any], what: str) -> None:
    """Raise unless values of a type can be computed with: no dates, records, bytes or objects."""
    if dtype.kind not in NUMBERS or dtype.itemsize > 8:
        raise EvidenceError(what, f"values of type {dtype}", "numbers of at most 64 bits, or words")


def match_columns(header: Sequence[str], name: str, pattern: str) -> dict[str, str]:
    """Return the columns that a pattern matches, each with its label.

    >>> match_columns(["pred_horn", "pred_hoof", "y"], "values", "pred_*")
    {'pred_horn': 'horn', 'pred_hoof': 'hoof'}
    """
    if pattern in header:
        return {pattern: pattern}
    if pattern.count("*") == 1:
        start, _, end = pattern.partition("*")
        length = len(start) + len(end)
        columns = [c for c in header if c.startswith(start) and c.endswith(end) and len(c) > length]
        labels = {column: column[len(start) : len(column) - len(end)] for column in columns}
    else:
        labels = {column.strip(): column.strip() for column in pattern.split(",")}
    unknown = [column for column in labels if column not in header]
    if unknown or not labels:
        wrong = (unknown or [pattern])[0]
        raise EvidenceError(
            f"columns of {name}", f"{wrong!r}",
            f"some of {', '.join(header[:_SHOWN])}{', …' if len(header) > _SHOWN else ''}",
            did_you_mean(wrong, header),
        )  # fmt: skip
    return labels


def stack_columns(columns: Sequence[Column], labels: tuple[str, ...], name: str) -> Column:
    """Stack numeric columns side by side."""
    for label, column in zip(labels, columns, strict=True):
        if column.values.ndim != 1 or column.words is not None:
            raise EvidenceError(f"{name} of {label!r}", "no column of numbers", "a number a row")
    nulls = None
    if any(column.nulls is not None for column in columns):
        empty = [np.zeros(len(c), bool) if c.nulls is None else c.nulls for c in columns]
        nulls = np.column_stack(empty)
    return Column(np.column_stack([c.values for c in columns]), nulls, names=labels)
