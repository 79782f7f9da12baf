"""The first pass: positions and documents that units share with concepts, exact for all of them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Integer

from theodolite._stats.threads import run_in_slices, run_in_threads
from theodolite.language.sae.pieces import SparseActivationShard

BLOCK_BYTES = 2 << 20
"""Of the counts of a block of units: what a cache holds."""
LONGEST_SHIFT = 9


@dataclass(frozen=True, eq=False)
class SortedValues:
    """The values of some units in a piece, by blocks of these units.

    An entry is position << shift | the unit's place in its block.
    """

    shift: int
    start: Integer[np.ndarray, " block_starts"]
    entries: Integer[np.ndarray, " values"]

    def __len__(self) -> int:
        return len(self.start) - 1

    def block(self, number: int) -> Integer[np.ndarray, " values"]:
        """The entries of one block."""
        return self.entries[self.start[number] : self.start[number + 1]]

    def units(self, number: int, n: int) -> slice:
        """Which of ``n`` units a block has."""
        return slice(number << self.shift, min((number + 1) << self.shift, n))


def block_shift(concepts: int) -> int:
    """How many units a block has, as a power of two: as many as have tables of two megabytes."""
    return int(min(max(BLOCK_BYTES // (4 * concepts), 1).bit_length() - 1, LONGEST_SHIFT))


def sort_values(
    piece: SparseActivationShard, units: Integer[np.ndarray, " chosen"], shift: int
) -> SortedValues:
    """The values of the chosen units (rising numbers), two passes over all values."""
    from theodolite.language.sae import _count_kernels as kernels  # noqa: PLC0415

    low, high = int(units[0]), int(units[-1]) + 1
    slot = np.full(high - low, -1, np.int32)
    slot[units - low] = np.arange(len(units))
    n_blocks = -(-len(units) >> shift) if len(units) else 0
    cuts: list[tuple[slice, np.ndarray]] = []
    codes = (piece.start, piece.unit)

    def measure(rows: slice) -> None:
        sizes = np.zeros(n_blocks, np.int64)
        kernels.block_sizes(*codes, rows.start, rows.stop, low, slot, shift, sizes)
        cuts.append((rows, sizes))

    run_in_slices(len(piece), measure, small=len(piece.unit) < 1 << 16)
    cuts.sort(key=lambda cut: cut[0].start)
    sizes = np.stack([size for _, size in cuts])
    start = np.concatenate([[0], np.cumsum(sizes.sum(axis=0))]).astype(np.int64)
    at = start[:-1] + np.cumsum(sizes, axis=0) - sizes
    entries = np.empty(start[-1], np.uint32)

    def write(number: int) -> None:
        rows = cuts[number][0]
        kernels.sort_by_block(*codes, rows.start, rows.stop, low, slot, shift, at[number], entries)

    run_in_threads(range(len(cuts)), write, small=len(cuts) == 1)
    return SortedValues(shift, start, entries)


@dataclass(frozen=True, eq=False)
class UnitCounts:
    """What some units share with every concept: (positions, documents)."""

    table: Integer[np.ndarray, "units concepts 2"]
    active: Integer[np.ndarray, "units 2"]
    """Of each unit alone."""

    @classmethod
    def zeros(cls, units: int, concepts: int) -> "UnitCounts":
        """Nothing counted yet."""
        return cls(np.zeros((units, concepts, 2), np.uint32), np.zeros((units, 2), np.uint32))


Counter = Callable[[SparseActivationShard, Integer[np.ndarray, " chosen"], UnitCounts], None]


def count_piece(
    piece: SparseActivationShard, units: Integer[np.ndarray, " chosen"], counts: UnitCounts
) -> None:
    """Add the counts of a piece."""
    from theodolite.language.sae import _count_kernels as kernels  # noqa: PLC0415

    concepts = counts.table.shape[1]
    values = sort_values(piece, units, block_shift(concepts))
    labels = (piece.atom, piece.document, piece.set_start, piece.set_label)

    def count(number: int) -> None:
        rows = values.units(number, len(units))
        active = counts.active[rows]
        stamp = np.zeros(len(active) * (concepts + 1), np.uint32)
        table = counts.table[rows].reshape(-1, 2)
        kernels.count_block(values.block(number), values.shift, *labels, stamp, table, active)

    run_in_threads(range(len(values)), count, small=len(values.entries) < 1 << 16)


def torch_counter(device: str) -> Counter:
    """The same by torch, on a GPU or wherever ``device`` says: equal counts."""
    from theodolite.language.sae.torch_counting import counter_on  # noqa: PLC0415

    return counter_on(device)


def limited(
    piece: SparseActivationShard, limits: Float[np.ndarray, " units"], seed: tuple[int, int] | None
) -> SparseActivationShard:
    """A piece as it is counted: above the thresholds; with labels moved on, for the null."""
    piece = piece.above(limits)
    return piece if seed is None else piece.moved(seed)
