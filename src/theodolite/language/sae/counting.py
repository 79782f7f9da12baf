"""First pass of SAE dissection: exact counts of positions and documents shared with each
concept."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Integer

from theodolite._stats.threads import run_in_slices, run_in_threads
from theodolite.language.sae.activation_shard import SparseActivationShard

BLOCK_BYTES = 2 << 20
"""Size of the counts of a block of units, chosen to fit a cache."""
MAX_SHIFT = 9


@dataclass(frozen=True, eq=False)
class SortedValues:
    """Values of some units in a shard, sorted by blocks of units.

    An entry is position << shift | the unit's place in its block.
    """

    shift: int
    start: Integer[np.ndarray, " block_starts"]
    entries: Integer[np.ndarray, " values"]

    def __len__(self) -> int:
        return len(self.start) - 1

    def block(self, number: int) -> Integer[np.ndarray, " values"]:
        """Return the entries of one block."""
        return self.entries[self.start[number] : self.start[number + 1]]

    def units(self, number: int, n: int) -> slice:
        """Return which of ``n`` units a block contains."""
        return slice(number << self.shift, min((number + 1) << self.shift, n))


def block_shift(concepts: int) -> int:
    """Return the units per block as a power of two, so that a table has two megabytes."""
    return int(min(max(BLOCK_BYTES // (4 * concepts), 1).bit_length() - 1, MAX_SHIFT))


def sort_values(
    piece: SparseActivationShard, units: Integer[np.ndarray, " chosen"], shift: int
) -> SortedValues:
    """Sort the values of the chosen units by blocks, in two passes."""
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
    """Positions and documents that units share with every concept."""

    table: Integer[np.ndarray, "units concepts 2"]
    active: Integer[np.ndarray, "units 2"]
    """Positions and documents of each unit alone."""

    @classmethod
    def zeros(cls, units: int, concepts: int) -> "UnitCounts":
        """Return counts of zero."""
        return cls(np.zeros((units, concepts, 2), np.uint32), np.zeros((units, 2), np.uint32))


Counter = Callable[[SparseActivationShard, Integer[np.ndarray, " chosen"], UnitCounts], None]


def count_piece(
    piece: SparseActivationShard, units: Integer[np.ndarray, " chosen"], counts: UnitCounts
) -> None:
    """Add the counts of a shard."""
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
    """Return a counter that uses torch on ``device``; its counts are equal."""
    from theodolite.language.sae.torch_counting import make_counter  # noqa: PLC0415

    return make_counter(device)


def apply_limits(
    piece: SparseActivationShard, limits: Float[np.ndarray, " units"], seed: tuple[int, int] | None
) -> SparseActivationShard:
    """Return a shard above the thresholds; for the null, with labels shifted."""
    piece = piece.above(limits)
    return piece if seed is None else piece.moved(seed)
