"""A shard of sparse SAE activations: whole documents, active units and label sets per position."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Integer

from theodolite.errors import EvidenceError

PADDING = 0xFFFFFFFF
"""Unit number that fills positions with fewer active units than top-k columns."""
MAX_SHARD_POSITIONS = 1 << 23
"""Largest number of positions per shard: position and unit share 32 bits."""
MAX_SHARD_VALUES = (1 << 32) - 1
NAMES = ("unit", "start", "place", "atom", "set_start", "set_label")
"""Arrays of a shard, all uint32; ``value`` is optional."""
Labels = tuple[Any, Any] | Sequence[Sequence[int]]
"""Labels of each position: (start, label) in one row, or a list for each."""


@dataclass(frozen=True, eq=False)
class SparseActivationShard:
    """Documents (texts or images) with active units and labels at each position.

    Make one with ``from_csr``, ``from_top`` or ``from_coo``; they check what they are handed.
    """

    unit: Integer[np.ndarray, " values"]
    """Active units, rising within a position."""
    start: Integer[np.ndarray, " position_starts"]
    """Start of each position's values."""
    place: Integer[np.ndarray, " document_starts"]
    """First position of each document, and the end."""
    atom: Integer[np.ndarray, " positions"]
    """Label set of each position, by its number in this shard."""
    set_start: Integer[np.ndarray, " set_starts"]
    set_label: Integer[np.ndarray, " labels"]
    """Label sets, with rising labels."""
    value: Float[np.ndarray, " as_many"] | None = None
    """Positive, finite activations; absent if only activity is known."""

    def __len__(self) -> int:
        return len(self.atom)

    @property
    def documents(self) -> int:
        """Number of documents in the shard."""
        return len(self.place) - 1

    @cached_property
    def document(self) -> Integer[np.ndarray, " positions"]:
        """Document of each position."""
        return np.repeat(np.arange(self.documents, dtype=np.uint32), np.diff(self.place))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays by name, as they are stored."""
        arrays = {name: getattr(self, name) for name in NAMES}
        return arrays if self.value is None else {**arrays, "value": self.value}

    def part(self, first: int, last: int) -> "SparseActivationShard":
        """Return some of its documents; label sets keep their numbers."""
        rows = slice(int(self.place[first]), int(self.place[last]))
        values = slice(int(self.start[rows.start]), int(self.start[rows.stop]))
        return replace(
            self,
            unit=self.unit[values],
            start=self.start[rows.start : rows.stop + 1] - self.start[rows.start],
            place=self.place[first : last + 1] - self.place[first],
            atom=self.atom[rows],
            value=None if self.value is None else self.value[values],
        )

    def above(self, limits: Float[np.ndarray, " units"]) -> "SparseActivationShard":
        """Return only values above the limit of their unit."""
        if self.value is None or not limits.any():
            return self
        active = self.value > limits.astype(self.value.dtype)[self.unit]
        before = np.concatenate([[0], np.cumsum(active)]).astype(np.uint32)
        return replace(self, unit=self.unit[active], start=before[self.start], value=None)

    def moved(self, seed: tuple[int, int]) -> "SparseActivationShard":
        """Return the shard with label sets shifted by whole documents, for the null.

        Every set stays as frequent as it was, and runs of equal sets stay runs. Where documents are
        of one length, each gets those of another, place by place.
        """
        n = len(self)
        turn = n // 2
        if self.documents > 1:
            turn = int(self.place[np.random.default_rng(seed).integers(1, self.documents)])
        return replace(self, atom=np.roll(self.atom, -turn))

    @classmethod
    def from_csr(
        cls, start: Any, unit: Any, value: Any = None, *, documents: Any, labels: Labels
    ) -> "SparseActivationShard":
        """Build from the active units of each position in one row.

        Args:
            start: Where the units of each position begin, and the end.
            unit: Active units, rising inside a position.
            value: Their values, more than 0; if not given, only activity is known.
            documents: Positions of each document.
            labels: The concepts of each position, by number: (start, label), or a list for each.
        """
        start = whole_numbers(start, "start", MAX_SHARD_VALUES)
        lengths = whole_numbers(documents, "documents", MAX_SHARD_POSITIONS)
        n = len(start) - 1
        atom, set_start, set_label = _label_sets(labels, n)
        place = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        piece = cls(
            whole_numbers(unit, "unit", PADDING - 1), start, whole_numbers(place, "documents"),
            atom, set_start, set_label, None if value is None else _values(value),
        )  # fmt: skip
        check_shard(piece)
        return piece

    @classmethod
    def from_top(
        cls, unit: Any, value: Any = None, *, documents: Any, labels: Labels
    ) -> "SparseActivationShard":
        """Build from top-k activations (positions x k), padded with ``PADDING``."""
        table = np.asarray(unit)
        if table.ndim != 2:
            raise EvidenceError("unit", f"shape {table.shape}", "(positions, active)")
        active = table != PADDING
        if table.dtype.kind == "i":  # where 32 bits with a sign were used
            active &= table != -1
        values = None if value is None else np.asarray(value)
        if values is not None and values.shape != table.shape:
            raise EvidenceError("value", f"shape {values.shape}", f"{table.shape}, as `unit`")
        order = np.argsort(np.where(active, table, PADDING), axis=1, kind="stable")
        table, active = (np.take_along_axis(a, order, axis=1) for a in (table, active))
        if values is not None:
            values = np.take_along_axis(values, order, axis=1)[active]
        start = np.concatenate([[0], np.cumsum(active.sum(axis=1))])
        return cls.from_csr(start, table[active], values, documents=documents, labels=labels)

    @classmethod
    def from_coo(
        cls, position: Any, unit: Any, value: Any = None, *, documents: Any, labels: Labels
    ) -> "SparseActivationShard":
        """Build from (position, unit, value), sorted by position and unit."""
        rows = whole_numbers(position, "position", MAX_SHARD_POSITIONS)
        n = int(np.sum(np.asarray(documents)))
        if len(rows) and ((rows[1:] < rows[:-1]).any() or rows[-1] >= n):
            raise EvidenceError("position", "not sorted, or beyond the last", f"rising below {n:,}")
        start = np.searchsorted(rows, np.arange(n + 1))
        return cls.from_csr(start, unit, value, documents=documents, labels=labels)


def whole_numbers(values: Any, name: str, most: int = PADDING) -> np.ndarray:
    """Return values as uint32; raise if that would change them."""
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros(0, np.uint32)
    outside = array.dtype.kind in "iu" and (int(array.min()) < 0 or int(array.max()) > most)
    if array.ndim != 1 or array.dtype.kind not in "iu" or outside:
        got = f"{array.dtype} of shape {array.shape}" + (" out of range" if outside else "")
        raise EvidenceError(name, got, f"a row of whole numbers, 0 to {most:,}")
    return np.ascontiguousarray(array, np.uint32)


def _values(value: Any) -> np.ndarray:
    values = np.asarray(value)
    if values.ndim != 1 or values.dtype.kind != "f":
        raise EvidenceError("value", f"{values.dtype} of shape {values.shape}", "a row of floats")
    return np.ascontiguousarray(values, np.float16 if values.itemsize == 2 else np.float32)


def _label_sets(labels: Labels, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the set of each position, and the distinct sets."""
    if isinstance(labels, tuple):
        start, label = (whole_numbers(row, "labels") for row in labels)
    else:
        lengths = [len(row) for row in labels]
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32)
        label = whole_numbers([c for row in labels for c in sorted(row)], "labels")
    if len(start) != n + 1:
        raise EvidenceError("labels", f"{len(start) - 1} positions", f"{n}, as in the codes")
    check_rows(start, label, "labels")
    return distinct_sets(start, label)


def distinct_sets(
    start: Integer[np.ndarray, " starts"], label: Integer[np.ndarray, " labels"]
) -> tuple[
    Integer[np.ndarray, " rows"], Integer[np.ndarray, " set_starts"], Integer[np.ndarray, " kept"]
]:
    """Return each row's number among distinct label sets, sorted by size and labels.

    >>> distinct_sets(np.array([0, 2, 2, 4]), np.array([1, 5, 1, 5]))[0].tolist()
    [1, 0, 1]
    """
    lengths = np.diff(start.astype(np.int64))
    number = np.zeros(len(lengths), np.uint32)
    sizes, parts, seen = [np.zeros(0, np.int64)], [np.zeros(0, np.uint32)], 0
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        table = label[start[rows].astype(np.int64)[:, None] + np.arange(length)]
        packed = np.ascontiguousarray(table, ">u4").view(f"V{max(4 * int(length), 1)}")
        if length == 0:
            sets, inverse = table[:1], np.zeros(len(rows), np.intp)
        else:
            _, first, inverse = np.unique(packed.ravel(), return_index=True, return_inverse=True)
            sets = table[first]
        number[rows] = seen + inverse
        sizes.append(np.full(len(sets), length))
        parts.append(sets.ravel().astype(np.uint32))
        seen += len(sets)
    set_start = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.uint32)
    return number, set_start, np.concatenate(parts)


def check_rows(start: np.ndarray, items: np.ndarray, name: str) -> None:
    """Raise unless each row has rising numbers, which kernels rely on."""
    ends = len(start) > 0 and start[0] == 0 and start[-1] == len(items)
    if not ends or (start[1:] < start[:-1]).any():
        raise EvidenceError(name, "starts that do not fit", f"0 rising to {len(items):,}")
    rises = np.ones(len(items) + 1, bool)
    rises[1:-1] = items[1:] > items[:-1]
    rises[start] = True
    if not rises.all():
        raise EvidenceError(name, "numbers that do not rise", "rising numbers, each once, in a row")


def check_shard(
    piece: SparseActivationShard, units: int | None = None, concepts: int | None = None
) -> None:
    """Raise unless the shard satisfies everything that kernels rely on."""
    n, n_sets = len(piece), len(piece.set_start) - 1
    sizes = len(piece.start) == n + 1 and len(piece.place) >= 2 and 0 < n <= MAX_SHARD_POSITIONS
    if not sizes or piece.place[0] != 0 or piece.place[-1] != n:
        raise EvidenceError(
            "codes", f"{len(piece.start) - 1:,} positions, documents of {int(piece.place[-1]):,}",
            f"the same number, 1 to {MAX_SHARD_POSITIONS:,}",
        )  # fmt: skip
    if (piece.place[1:] <= piece.place[:-1]).any():
        raise EvidenceError("documents", "an empty one", "at least one position in each")
    check_rows(piece.start, piece.unit, "unit")
    check_rows(piece.set_start, piece.set_label, "labels")
    if piece.atom.max() >= n_sets:
        raise EvidenceError("labels", "a set that is not listed", f"numbers below {n_sets:,}")
    for name, numbers, most in (("unit", piece.unit, units), ("labels", piece.set_label, concepts)):
        if most is not None and len(numbers) and numbers.max() >= most:
            raise EvidenceError(name, f"{int(numbers.max()):,}", f"numbers below {most:,}")
    _check_values(piece)


def _check_values(piece: SparseActivationShard) -> None:
    if piece.value is None:
        return
    if len(piece.value) != len(piece.unit):
        raise EvidenceError("value", f"{len(piece.value):,}", f"{len(piece.unit):,}, as `unit`")
    half = piece.value.dtype == np.float16
    bits = piece.value.view(np.uint16 if half else np.uint32)
    if len(bits) and (bits.min() == 0 or bits.max() >= (0x7C00 if half else 0x7F800000)):
        raise EvidenceError(
            "value", "0, negative, NaN or infinite", "finite values above 0",
            "Leave units that are not active out.",
        )  # fmt: skip


def join_shards(pieces: Sequence[SparseActivationShard]) -> SparseActivationShard:
    """Concatenate shards in order."""
    if len(pieces) == 1:
        return pieces[0]
    sizes = np.cumsum([0, *(len(p.set_start) - 1 for p in pieces)])
    atom = np.concatenate([p.atom + np.uint32(n) for p, n in zip(pieces, sizes, strict=False)])
    numbers, set_start, set_label = distinct_sets(
        concatenate_starts([p.set_start for p in pieces]),
        np.concatenate([p.set_label for p in pieces]),
    )
    values = [p.value for p in pieces if p.value is not None]
    return SparseActivationShard(
        np.concatenate([p.unit for p in pieces]), concatenate_starts([p.start for p in pieces]),
        concatenate_starts([p.place for p in pieces]), numbers[atom], set_start, set_label,
        np.concatenate(values) if values else None,
    )  # fmt: skip


def concatenate_starts(starts: Sequence[np.ndarray]) -> np.ndarray:
    """Return row starts of several concatenated lists."""
    lengths = np.concatenate([np.diff(start) for start in starts])
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.uint32)
