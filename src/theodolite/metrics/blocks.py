"""Compute pooled metrics from blocks of concepts at a time, wherever their columns are stored."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int, UInt

from theodolite._stats.grouped_weights import RowWeights
from theodolite._stats.information import is_discrete
from theodolite.evidence.base import Evidence
from theodolite.evidence.plain_arrays import select_concepts
from theodolite.evidence.workers import Arrays, Tree
from theodolite.metrics.states import Pooled, ratio

BLOCK = 32
"""Concepts of a block: an item of two blocks then has 1,024 pairs, and takes 64 columns."""
VECTORS = 8
"""Number of concepts per block if concepts have vectors, whose columns are wider."""
MOST_KINDS = 20
"""Distinct whole numbers up to which a column is counted as categories."""
AT, SUM, COUNT, VALUE = "at", "sum", "count", "value"
"""What a part gives: for places of the whole, sums and how many were added; or values."""


@dataclass(frozen=True)
class BlockItem:
    """The concepts that a part is measured from: those of a block, or of two for their pairs."""

    first: range
    second: range | None = None
    """For pairs, the block of the other concepts, which may be the same."""

    @property
    def blocks(self) -> tuple[range, ...]:
        """Each block of columns once."""
        alone = self.second is None or self.second == self.first
        return (self.first,) if alone or self.second is None else (self.first, self.second)

    @property
    def concepts(self) -> list[int]:
        """Their numbers, block after block."""
        return [number for block in self.blocks for number in block]


def split_into_blocks(n: int, size: int) -> list[range]:
    """Split all concepts into blocks; one empty block if there are none."""
    return [range(at, min(at + size, n)) for at in range(0, max(n, 1), size)]


@dataclass(frozen=True, eq=False)
class Common:
    """Facts about the columns of all concepts that each part needs."""

    discrete: bool
    """Whether all values are whole numbers."""
    many_kinds: bool
    """Whether some column has more whole numbers than a list of kinds."""
    lowest: float
    highest: float
    known: Bool[np.ndarray, " samples"]
    """Where the truth of every concept is known."""

    @classmethod
    def of(cls, evidence: Evidence) -> "Common":
        """Compute the facts from the available columns."""
        concept: Any = getattr(evidence, "explained", evidence)
        own = np.zeros((len(evidence), 0)) if hasattr(evidence, "explained") else concept.values
        values = np.asarray(own, np.float64)  # of vectors, their concepts' values are not read
        known = np.ones((len(values), 1)) if concept.known is None else np.asarray(concept.known)
        return cls(
            is_discrete(values),
            many_whole_numbers(values),
            float(values.min(initial=0.0)),
            float(values.max(initial=1.0)),
            np.asarray(known.all(axis=1)),
        )

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the facts as plain arrays."""
        return {name: np.asarray(value) for name, value in vars(self).items()}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "Common":
        """Restore the facts from plain arrays."""
        plain: dict[str, Any] = {n: a if a.ndim else a.item() for n, a in arrays.items()}
        return cls(**plain)

    def merged(self, other: "Common") -> "Common":
        """Combine the facts of two shards."""
        return Common(
            self.discrete and other.discrete,
            self.many_kinds or other.many_kinds,
            min(self.lowest, other.lowest),
            max(self.highest, other.highest),
            self.known & other.known,
        )


def many_whole_numbers(values: Float[np.ndarray, "samples concepts"]) -> bool:
    """Return whether a column holds integers with more values than categories may have."""
    return any(
        is_discrete(column) and len(np.unique(np.round(column))) > MOST_KINDS for column in values.T
    )


@dataclass(frozen=True, eq=False)
class Truths:
    """The true concepts of all samples, a bit each: small where the values are not."""

    truth: UInt[np.ndarray, "concepts bytes"]
    known: UInt[np.ndarray, "concepts bytes"] | None
    n: int
    """Samples."""

    @classmethod
    def of(cls, evidence: Evidence) -> "Truths":
        """Return the truth of all concepts of the evidence."""
        concept: Any = getattr(evidence, "explained", evidence)
        truth, known = (
            None if flags is None else np.packbits(np.asarray(flags, bool).T, axis=1)
            for flags in (concept.truth, concept.known)
        )
        empty = np.zeros((0, 0), np.uint8)
        return cls(empty if truth is None else truth, known, len(evidence))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the truth as plain arrays."""
        arrays = {"truth": self.truth, "n": np.array(self.n)}
        return arrays if self.known is None else arrays | {"known": self.known}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "Truths":
        """Restore the truth from plain arrays."""
        return cls(arrays["truth"], arrays.get("known"), int(arrays["n"]))

    def __len__(self) -> int:
        return len(self.truth)

    def flags(self, j: int) -> tuple[Bool[np.ndarray, " samples"], Bool[np.ndarray, " samples"]]:
        """Return whether each sample has a concept, and whether that is known."""
        own = _bits(self.truth[j], self.n)
        return own, np.ones(self.n, bool) if self.known is None else _bits(self.known[j], self.n)

    def table(self, concepts: list[int] | range) -> Bool[np.ndarray, "samples concepts"]:
        """Return the truth of some concepts."""
        return np.asarray(_bits(self.truth[list(concepts)], self.n).T)


def _bits(packed: UInt[np.ndarray, "*n bytes"], n: int) -> Bool[np.ndarray, "*n samples"]:
    return np.unpackbits(packed, axis=-1, count=n).astype(bool)


@dataclass(frozen=True, eq=False)
class BlockContext:
    """Inputs of a part besides the columns of its own concepts."""

    item: BlockItem
    n: int
    """Concepts in all."""
    common: Common
    truths: Truths | None = None
    """Truth of all concepts, for a state that needs it."""

    @property
    def pairs(self) -> Int[np.ndarray, "pairs 2"]:
        """Pairs of this item, by the positions of their columns."""
        n_first, second = len(self.item.first), self.item.second
        if second is None or second == self.item.first:
            return np.stack(np.triu_indices(n_first, 1), axis=1)
        grid = np.indices((n_first, len(second))).reshape(2, -1).T
        return np.asarray(grid + np.array([0, n_first]))

    def of_pairs(self, scores: Float[np.ndarray, "rows pairs"], over: str) -> dict[str, np.ndarray]:
        """Compute the scores of all pairs of this item, or for each concept their sum and
        number."""
        concepts, pairs = np.array(self.item.concepts, np.int64), self.pairs
        if over == "pairs":
            i, j = concepts[pairs].T
            return {AT: i * (2 * self.n - i - 1) // 2 + j - i - 1, VALUE: scores}
        square = np.full((len(scores), len(concepts), len(concepts)), np.nan)
        square[:, pairs[:, 0], pairs[:, 1]] = scores
        square[:, pairs[:, 1], pairs[:, 0]] = scores
        defined = ~np.isnan(square)
        total = np.where(defined, square, 0.0).sum(axis=2)
        return {AT: concepts, SUM: total, COUNT: defined.sum(axis=2).astype(float)}

    def of_concepts(self, values: Float[np.ndarray, "*rows concepts"]) -> dict[str, np.ndarray]:
        """Compute a value for each concept of this item."""
        return {AT: np.array(self.item.concepts, np.int64), VALUE: values}


def merge_parts(left: Arrays, right: Arrays) -> dict[str, np.ndarray]:
    """Merge two parts; values for the same place are added."""
    at = np.union1d(left[AT], right[AT])
    both = {AT: at}
    for name in left:
        if name != AT:
            both[name] = np.zeros((*left[name].shape[:-1], len(at)))
            for side in (left, right):
                both[name][..., np.searchsorted(at, side[AT])] += side[name]
    return both


@dataclass(frozen=True, eq=False)
class Blockwise(Pooled):
    """A pooled state whose concepts, or pairs of them, are measured apart.

    ``part`` gets the evidence about an item's concepts; what the parts give is merged in one fixed
    tree. Evidence in memory and evidence in pieces go the same way, so they give the same bytes.
    """

    pairs: ClassVar[bool] = False
    """Whether items are pairs of blocks."""
    block: ClassVar[int] = BLOCK
    needs_truths: ClassVar[bool] = False
    """Whether a part needs the truth of all concepts."""
    part: ClassVar[Callable[..., Mapping[str, np.ndarray]]]
    """(evidence, weights, block, *, options) -> what an item gives, by places of the whole"""

    @classmethod
    def items(cls, n: int) -> Iterator[BlockItem]:
        """List all items for this many concepts, those on the diagonal (half the work) last."""
        blocks = split_into_blocks(n, cls.block)
        if not cls.pairs:
            yield from (BlockItem(block) for block in blocks)
            return
        for number, first in enumerate(blocks):
            yield from (BlockItem(first, second) for second in blocks[number + 1 :])
        yield from (BlockItem(block, block) for block in blocks)

    @classmethod
    def whole(cls, parts: Arrays) -> np.ndarray:
        """Rows of values from what all parts give together."""
        if VALUE in parts:
            return np.asarray(parts[VALUE])
        return ratio(parts[SUM], parts[COUNT])

    @classmethod
    def measure(cls, evidence: Any, weights: RowWeights, **options: Any) -> np.ndarray:
        """Compute all items in this process."""
        n, common = len(evidence.concepts), Common.of(evidence)
        truths = Truths.of(evidence) if cls.needs_truths else None
        tree = Tree(merge_parts)
        for item in cls.items(n):
            own = evidence if len(item.concepts) == n else select_concepts(evidence, item.concepts)
            tree.add(cls.part(own, weights, BlockContext(item, n, common, truths), **options), 1)
        return cls.whole(tree.whole())
