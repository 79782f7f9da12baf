"""Split passes over SAE activations into tasks: blocks of shards by ranges of units."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Integer

from theodolite._storage.packed_arrays import digest_arrays
from theodolite.errors import EvidenceError
from theodolite.evidence.workers import Arrays, Merge, Tree, Work, Workers
from theodolite.language.sae.evidence import SparseActivationEvidence

VALUES_A_SECOND = 5e6
"""Values that one core counts per second."""
TABLE_BYTES_A_SECOND = 150e6
"""Bytes of tables packed, hashed, written, read and checked per second."""
WORTH = 10
"""Smallest ratio of counting time to storage time of a task."""
RANGES_A_TURN = 4
Item = tuple[int, int, int, int]
"""First and last shard, first and last of the chosen units."""


@dataclass(frozen=True)
class Cut:
    """Sizes of tasks, decided by the size of the evidence alone."""

    pieces: int
    """Number of shards per block; a power of two."""
    units: int
    """Number of units per range."""


def plan_cut(
    evidence: SparseActivationEvidence, units: int, bytes_a_unit: int, most_bytes: int
) -> Cut:
    """Return ranges whose tables fit ``most_bytes``, and blocks long enough to pay for a table."""
    n = max(min(units, most_bytes // bytes_a_unit), 1)
    n = math.ceil(units / math.ceil(units / n))  # of one size
    seconds = evidence.values / len(evidence) * n / evidence.units / VALUES_A_SECOND
    needed = WORTH * n * bytes_a_unit / TABLE_BYTES_A_SECOND / max(seconds, 1e-9)
    most = 1 << (len(evidence) - 1).bit_length()
    return Cut(min(1 << math.ceil(math.log2(max(needed, 1))), most), n)


@dataclass(frozen=True)
class Pass:
    """One pass over the activations."""

    name: str
    do: Callable[..., Arrays]
    """Function (item, evidence) -> arrays."""
    cut: Cut
    units: Integer[np.ndarray, " chosen"]
    """Chosen units, as rising numbers."""
    settings: Mapping[str, Any]
    turn: tuple[int, int | None] = (0, None)
    """First and last range of units to process."""

    def ranges(self) -> list[slice]:
        """Return the ranges of the chosen units."""
        n = len(self.units)
        firsts = range(0, n, self.cut.units)
        return [slice(at, min(at + self.cut.units, n)) for at in firsts][slice(*self.turn)]

    def work(self, evidence: SparseActivationEvidence) -> Work:
        """Return the tasks: ranges of units by blocks of shards."""
        firsts = range(0, len(evidence), self.cut.pieces)
        blocks = [(at, min(at + self.cut.pieces, len(evidence))) for at in firsts]
        items = [(*block, r.start, r.stop) for r in self.ranges() for block in blocks]
        return Work(
            what=self.name,
            do=self.do,
            items=items,
            digests=[_digest(evidence, item) for item in items],
            about={
                "work": f"dictionaries, {self.name}",
                "version": 1,
                "units": digest_arrays({"units": self.units}),
                "concepts": len(evidence.concepts),
                **self.settings,
            },
            names=[f"pieces {i[0]} to {i[1] - 1}, units from {i[2]}" for i in items],
            tool=partial(_keep, evidence),
        )


def turns(this: Pass) -> Iterator[Pass]:
    """Split a pass with large results into passes over fewer ranges."""
    for at in range(0, len(this.ranges()), RANGES_A_TURN):
        yield replace(this, turn=(at, at + RANGES_A_TURN))


def _digest(evidence: SparseActivationEvidence, item: Item) -> str:
    digests = [entry.sha256 for entry in evidence.entries[item[0] : item[1]]]
    return f"{item}:{','.join(digests)}"


def _keep(evidence: SparseActivationEvidence) -> SparseActivationEvidence:
    return evidence.writeable()


def writeable(array: np.ndarray) -> np.ndarray:
    """Return a writable array; Ray's read-only arrays would make numba compile again."""
    return array if array.flags.writeable else array.copy()


def run_by_range(
    evidence: SparseActivationEvidence, workers: Workers, this: Pass, merge: Merge
) -> Iterator[tuple[slice, dict[str, np.ndarray]]]:
    """Yield the merged result of each range of units."""
    work = this.work(evidence)
    ranges = this.ranges()
    n_blocks = len(work.items) // len(ranges)
    tree, numbers = Tree(merge), 0
    for number, part in enumerate(workers.each(work)):
        if part is None:
            raise EvidenceError(
                f"codes, {work.name(number)}", "three failures", "a piece that can be counted",
                "See the first error above; what was done is kept.",
            )  # fmt: skip
        tree.add(part, 1)
        numbers += 1
        if numbers == n_blocks:
            yield ranges[number // n_blocks], dict(tree.whole())
            tree, numbers = Tree(merge), 0


def add_counts(a: Arrays, b: Arrays) -> dict[str, np.ndarray]:
    """Return the sums of counts."""
    return {name: a[name] + b[name] for name in a}


def slice_rows(arrays: Mapping[str, np.ndarray], rows: slice) -> dict[str, np.ndarray]:
    """Return some rows of each array."""
    return {name: array[rows] for name, array in arrays.items()}


def stack_rows(parts: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Concatenate arrays along rows."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
