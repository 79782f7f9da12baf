"""Draw random rows for generators: clustered rows with known margins."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import ndtr

from theodolite._planted.conditions import CODES, Condition
from theodolite.evidence.axes import Samples

PARETO = 1.2
LARGEST = 50
"""A cluster is at most this many times as large as it would be if all were equal."""


@dataclass(frozen=True, eq=False)
class Draw:
    """A condition, the cluster of each row, and three sources of random numbers."""

    metric: str
    condition: Condition
    cluster_of: Int[np.ndarray, " rows"]
    models: np.random.Generator
    """For what is not sampled, such as units or a layer."""
    facts: np.random.Generator
    """For the samples; equal for every seed of an experiment."""
    noise: np.random.Generator
    """For what a model makes of the samples."""

    def __len__(self) -> int:
        return len(self.cluster_of)

    @property
    def dial(self) -> float:
        """Planted effect size."""
        return self.condition.dial

    @property
    def samples(self) -> Samples:
        """Numbers of the rows, and their clusters where these are declared."""
        several = self.condition.declared and len(self) > self.condition.clusters
        return Samples(index=np.arange(len(self)), clusters=self.cluster_of if several else None)

    def normal(
        self, *shape: int, by: np.random.Generator | None = None
    ) -> Float[np.ndarray, "rows *shape"]:
        """Standard normal numbers; rows of a cluster are alike, or equal if ``within`` is 0."""
        random, within = self.noise if by is None else by, self.condition.within
        between = random.normal(size=(self.condition.clusters, *shape))[self.cluster_of]
        if within == 0:
            return np.asarray(between)
        own = random.normal(size=between.shape)
        return np.asarray((between + within * own) / np.sqrt(1 + within**2))

    def uniform(
        self, *shape: int, by: np.random.Generator | None = None
    ) -> Float[np.ndarray, "rows *shape"]:
        """Uniform numbers from 0 to 1, alike within clusters."""
        return np.asarray(ndtr(self.normal(*shape, by=by)))

    def happens(
        self, chance: float | np.ndarray, *shape: int, by: np.random.Generator | None = None
    ) -> Bool[np.ndarray, "rows *shape"]:
        """Events with this probability in each row, alike within clusters."""
        return np.asarray(self.uniform(*shape, by=by) < chance)

    def truth(self) -> Bool[np.ndarray, "rows concepts"]:
        """Return which concepts are there, equal within clusters."""
        shape = (self.condition.clusters, self.condition.concepts)
        return np.asarray((self.facts.random(shape) < self.condition.prevalence)[self.cluster_of])

    def labels(self) -> Int[np.ndarray, " rows"]:
        """Labels with equal shares, equal within clusters."""
        each = self.facts.integers(0, self.condition.labels, self.condition.clusters)
        return np.asarray(each[self.cluster_of])

    def known(self) -> Bool[np.ndarray, "rows concepts"] | None:
        """Return which true concepts are known; None if all are."""
        if not self.condition.unknown:
            return None
        shape = (len(self), self.condition.concepts)
        return np.asarray(self.facts.random(shape) >= self.condition.unknown)

    def stored(self, values: np.ndarray) -> np.ndarray:
        """Numbers from 0 to 1 in the representation of the condition."""
        return CODES.get(self.condition.values, CODES["float64"])(values)


def start_draw(
    metric: str,
    condition: Condition,
    model_seed: tuple[int, ...] = (0,),
    row_seed: tuple[int, ...] = (0,),
    number: int = 0,
) -> Draw:
    """Return a draw whose sources are fresh; ``number`` is the seed of the experiment.

    >>> draw = start_draw("", Condition(clusters=4, rows=2))
    >>> draw.normal().round(2)
    array([-0.6 , -0.6 , -0.35, -0.35, -1.  , -1.  ,  0.29,  0.29])
    """
    facts = np.random.default_rng((*row_seed, 1))
    n = condition.clusters
    sizes = np.full(n, condition.rows)
    if condition.unequal:
        tail = facts.pareto(PARETO, n) * max(condition.rows - 1, 1)
        sizes = 1 + np.minimum(tail.astype(int), LARGEST * condition.rows)
    rows = np.repeat(np.arange(n), sizes)
    noise = np.random.default_rng((*row_seed, 2, number))
    return Draw(metric, condition, rows, np.random.default_rng(model_seed), facts, noise)
