"""Rows of unequal length, such as sequences of tokens: one array of entries plus row starts.

Nothing is padded, because padding values easily enter a sum by mistake."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Rows

STARTS = ".starts"
"""Suffix of an axis name under which its row starts are stored."""


@dataclass(frozen=True, eq=False)
class Ragged:
    """Rows of unequal length, or rows of such rows.

    Args:
        flat: All entries, row after row; further axes may follow the first.
        starts: Where each row starts, and where the last one ends: one number more than rows.
        inner_starts: If rows hold rows (tokens with active latents), ``starts`` counts these, and
            this says where each of them starts in ``flat``.

    >>> words = Ragged.from_rows([[5, 7, 5], [], [9]])
    >>> words.flat, words.starts
    (array([5, 7, 5, 9]), array([0, 3, 3, 4]))
    >>> words[2], words[np.array([2, 0])].flat
    (array([9]), array([9, 5, 7, 5]))
    """

    flat: np.ndarray
    starts: np.ndarray
    inner_starts: np.ndarray | None = None

    @classmethod
    def from_rows(cls, rows: Sequence[Any], depth: int = 1, dtype: Any = None) -> "Ragged":
        """Build from lists, or from lists of lists with ``depth=2``.

        >>> Ragged.from_rows([[[1.5], []], [[0.5, 2.0]]], depth=2).inner_starts
        array([0, 1, 1, 3])
        """
        starts = compute_starts([len(row) for row in rows])
        if depth == 1:
            return cls(_joined_rows(rows, dtype), starts)
        inside = [inner for row in rows for inner in row]
        return cls(
            _joined_rows(inside, dtype), starts, compute_starts([len(row) for row in inside])
        )

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __repr__(self) -> str:
        return f"<Ragged: {len(self)} rows of {len(self.flat)} {self.flat.dtype}>"

    def __array__(self, dtype: Any = None, *, copy: bool | None = None) -> np.ndarray:
        raise EvidenceError(
            "rows of unequal length", "asked for as a rectangle", "a use of `.flat` and `.starts`"
        )

    @property
    def lengths(self) -> np.ndarray:
        """Length of each row."""
        return np.diff(self.starts)

    @property
    def row(self) -> np.ndarray:
        """Row number of each entry of ``flat``."""
        rows = np.repeat(np.arange(len(self)), self.lengths)
        return rows if self.inner_starts is None else rows[self.inner_row]

    @property
    def inner_row(self) -> np.ndarray:
        """Inner row (token) of each entry, numbered over all rows."""
        inner = np.asarray(self.inner_starts)
        return np.repeat(np.arange(len(inner) - 1), np.diff(inner))

    def __getitem__(self, rows: Any) -> Any:
        """Return one row by number, or several rows as another ``Ragged``."""
        if isinstance(rows, int | np.integer):
            first, last = self.starts[rows], self.starts[rows + 1 if rows != -1 else len(self)]
            if self.inner_starts is None:
                return self.flat[first:last]
            inner = self.inner_starts[first : last + 1]
            return Ragged(self.flat[inner[0] : inner[-1]], inner - inner[0])
        return RowSelector(rows)(self)

    def sums(self, entries: np.ndarray | None = None) -> np.ndarray:
        """Return the float64 sum of each row, added sequentially so that machines agree."""
        values = self.flat if entries is None else entries
        return np.bincount(self.row, np.asarray(values, float), len(self))


def require_ragged(values: object) -> Ragged:
    """Return a field as ``Ragged``; the metric declares it, so it is present."""
    if not isinstance(values, Ragged):
        raise EvidenceError("rows", type(values).__name__, "rows of unequal length")
    return values


def compute_starts(lengths: Any) -> np.ndarray:
    """Return where rows of these lengths start, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(np.asarray(lengths, np.int64), dtype=np.int64)])


def _joined_rows(rows: Sequence[Any], dtype: Any) -> np.ndarray:
    parts = [np.asarray(row) for row in rows if len(row)]
    whole = np.concatenate(parts) if parts else np.zeros(0, dtype or np.int64)
    return whole if dtype is None else whole.astype(dtype)


class RowSelector:
    """Select the same rows of several ragged arrays; shared starts stay shared."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._taken: dict[int, tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]] = {}
        self._inner: dict[int, tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]] = {}

    def __call__(self, ragged: Ragged) -> Ragged:
        key = id(ragged.starts)
        if key not in self._taken:
            self._taken[key] = _gather(ragged.starts, self._rows)
        starts, of_rows = self._taken[key]
        if ragged.inner_starts is None:
            return Ragged(of_rows(ragged.flat), starts)
        key = id(ragged.inner_starts)
        if key not in self._inner:
            self._inner[key] = _gather(ragged.inner_starts, _taken_positions(of_rows, ragged))
        inner_starts, of_inner = self._inner[key]
        return Ragged(of_inner(ragged.flat), starts, inner_starts)


def _taken_positions(of_rows: Callable[[np.ndarray], np.ndarray], ragged: Ragged) -> Rows:
    """Return the positions of inner rows; a slice if they are contiguous."""
    positions = of_rows(np.arange(len(np.asarray(ragged.inner_starts)) - 1))
    first = int(positions[0]) if len(positions) else 0
    whole = slice(first, first + len(positions))
    return whole if (np.diff(positions) == 1).all() else positions


def _gather(
    starts: np.ndarray, rows: Rows
) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """Return the starts of some rows, and a function that selects their entries."""
    if isinstance(rows, slice):
        first, last, step = rows.indices(len(starts) - 1)
        if step == 1:
            own = starts[first : max(last, first) + 1]
            begin, end = int(own[0]), int(own[-1])
            return _frozen(own - begin), lambda flat: flat[begin:end]
    chosen = np.arange(len(starts) - 1)[rows]
    lengths = (starts[1:] - starts[:-1])[chosen]
    new = compute_starts(lengths)
    # the place in the new array, moved by how far its row has moved
    positions = np.arange(new[-1]) + np.repeat(starts[chosen] - new[:-1], lengths)
    return _frozen(new), lambda flat: _frozen(flat[positions])


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


class RowJoiner:
    """Concatenate shards of ragged arrays; shared starts stay shared."""

    def __init__(self) -> None:
        self._joined: dict[tuple[int, ...], np.ndarray] = {}

    def __call__(self, parts: Sequence[Ragged]) -> Ragged:
        flat = _frozen(np.concatenate([part.flat for part in parts]))
        starts = self._starts([part.starts for part in parts])
        inner = [part.inner_starts for part in parts if part.inner_starts is not None]
        return Ragged(flat, starts, self._starts(inner) if inner else None)

    def _starts(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        key = tuple(map(id, parts))
        if key not in self._joined:
            shifts = np.cumsum([0, *(int(part[-1]) for part in parts)])
            moved = [part[1:] + shift for part, shift in zip(parts, shifts, strict=False)]
            self._joined[key] = _frozen(np.concatenate([[0], *moved]).astype(np.int64))
        return self._joined[key]


def share_starts(fields: Sequence[tuple[str, tuple[str, ...], Ragged]]) -> dict[str, Ragged]:
    """Require equal starts of fields on the same ragged axes, and share them."""
    known: dict[str, tuple[np.ndarray, str]] = {}
    shared = {}
    for name, axes, ragged in fields:
        levels = [ragged.starts, *([] if ragged.inner_starts is None else [ragged.inner_starts])]
        own = []
        for axis, starts in zip(axes, levels, strict=True):
            first, source = known.setdefault(axis, (starts, name))
            if first is not starts and not np.array_equal(first, starts):
                raise EvidenceError(
                    name, f"other numbers of {axis} than in `{source}`", "the same in each row",
                    "Make both of the same sequences, in one order.",
                )  # fmt: skip
            own.append(first)
        shared[name] = Ragged(ragged.flat, *own)
    return shared


def starts_by_axis(fields: Sequence[tuple[tuple[str, ...], Ragged]]) -> dict[str, np.ndarray]:
    """Return the starts of each ragged axis, under the name they are stored by."""
    starts: dict[str, np.ndarray] = {}
    for axes, ragged in fields:
        starts[axes[0] + STARTS] = ragged.starts
        if ragged.inner_starts is not None:
            starts[axes[1] + STARTS] = ragged.inner_starts
    return starts


def with_starts(flat: np.ndarray, axes: tuple[str, ...], arrays: Any) -> Ragged:
    """Rebuild a ragged field from stored arrays."""
    return Ragged(flat, *(arrays[axis + STARTS] for axis in axes))
