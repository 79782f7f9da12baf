"""Rows in clusters: whatever is drawn through a layout is alike within them, with known margins."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import ndtr

from theodolite._planted.conditions import Condition
from theodolite.evidence.axes import Samples

PARETO = 1.2
LARGEST = 50
"""A cluster is at most so many times as large as it would be if all were equal."""


@dataclass(frozen=True, eq=False)
class PlantedRows:
    """Which cluster each row is of, and two sources of chance: the samples', and a model's."""

    cluster_of: Int[np.ndarray, " rows"]
    n_clusters: int
    within: float
    facts: np.random.Generator
    noise: np.random.Generator

    def __len__(self) -> int:
        return len(self.cluster_of)

    def normal(
        self, *shape: int, by: np.random.Generator | None = None
    ) -> Float[np.ndarray, "rows *shape"]:
        """Standard normal in each row; rows of a cluster alike, or equal if nothing is within."""
        random = self.noise if by is None else by
        between = random.normal(size=(self.n_clusters, *shape))[self.cluster_of]
        if self.within == 0:
            return np.asarray(between)
        own = random.normal(size=between.shape)
        return np.asarray((between + self.within * own) / np.sqrt(1 + self.within**2))

    def uniform(
        self, *shape: int, by: np.random.Generator | None = None
    ) -> Float[np.ndarray, "rows *shape"]:
        """The same between 0 and 1."""
        return np.asarray(ndtr(self.normal(*shape, by=by)))

    def happens(
        self, chance: float | np.ndarray, *shape: int, by: np.random.Generator | None = None
    ) -> Bool[np.ndarray, "rows *shape"]:
        """Something that happens in a row with this probability."""
        return np.asarray(self.uniform(*shape, by=by) < chance)

    def shared(self, each: np.ndarray) -> np.ndarray:
        """What clusters have, for each row."""
        return np.asarray(each[self.cluster_of])

    def samples(self, condition: Condition) -> Samples:
        """Numbers of the rows, and their clusters where these are declared."""
        several = condition.declared and len(self) > self.n_clusters
        return Samples(index=np.arange(len(self)), clusters=self.cluster_of if several else None)


def layout_of(condition: Condition, seed: tuple[int, ...], number: int = 0) -> PlantedRows:
    """Rows of a condition; ``number`` is that of the seed of the experiment.

    >>> plain = Condition(clusters=4, rows=2)
    >>> layout = layout_of(plain, (0,))
    >>> layout.normal().round(2)
    array([-0.6 , -0.6 , -0.35, -0.35, -1.  , -1.  ,  0.29,  0.29])
    """
    facts = np.random.default_rng((*seed, 1))
    n = condition.clusters
    sizes = np.full(n, condition.rows)
    if condition.unequal:
        tail = facts.pareto(PARETO, n) * max(condition.rows - 1, 1)
        sizes = 1 + np.minimum(tail.astype(int), LARGEST * condition.rows)
    rows = np.repeat(np.arange(n), sizes)
    noise = np.random.default_rng((*seed, 2, number))
    return PlantedRows(rows, n, condition.within, facts, noise)
