"""Would two recipes differ again if both were trained again? Seeds as a source of chance."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from theodolite._runs.comparison.intervals import (
    DifferenceTest,
    ResamplingSource,
    bound_unvaried_difference,
    run_student_test,
)
from theodolite._stats.intervals import Estimate

OVER_SEEDS = "Student t, seeds and samples common to them"
FEWEST_SEEDS = 2


@dataclass(frozen=True)
class SeedVariances:
    """What the difference between two recipes varies by."""

    seeds: tuple[int, ...]
    """How many, of each run; one number where they are paired."""
    variances: tuple[float, ...]
    """Over the seeds of each run; of their paired differences where they are paired."""
    own: tuple[float, ...]
    """The part of these that is due to samples: what each seed makes of them by itself."""
    common: float
    """Of the difference over samples, as far as all seeds share it."""
    clusters: int
    """Samples or clusters that were drawn."""

    @property
    def of_seeds(self) -> float:
        """The seeds' part in the variance of the difference."""
        return sum(v / n for v, n in zip(self.variances, self.seeds, strict=True))

    @property
    def variance(self) -> float:
        """Of the difference, had both been trained again and scored on new samples."""
        return self.of_seeds + self.common

    @property
    def df(self) -> float:
        """By Satterthwaite."""
        parts = sum((v / n) ** 2 / (n - 1) for v, n in zip(self.variances, self.seeds, strict=True))
        parts += self.common**2 / (self.clusters - 1)
        return self.variance**2 / parts if parts > 0 else float(min(self.seeds) - 1)

    @property
    def paired(self) -> bool:
        """Whether seeds with one number belong together."""
        return len(self.seeds) == 1

    @property
    def spread(self) -> float:
        """Standard deviation over seeds: of both runs together, or of paired differences."""
        return math.sqrt(sum(self.variances) / len(self.variances))

    @property
    def spread_without_samples(self) -> float:
        """The same, had there been samples without end."""
        parts = zip(self.variances, self.own, strict=True)
        return math.sqrt(sum(max(v - own, 0.0) for v, own in parts) / len(self.variances))


def estimate_seed_variances(
    first: Float[np.ndarray, "seeds rows"],
    second: Float[np.ndarray, "others rows"],
    clusters: int,
    *,
    paired: bool = False,
) -> SeedVariances | None:
    """From each seed's value (row 0) and its resamples, all drawn with the same weights.

    A run's seeds are another draw than the other's, unless ``paired``: then number i of both share
    what is random in training. Seeds without a value do not count; None with fewer than two.

    What is common to all seeds is the covariance, over resamples, of the differences of two
    different seeds, a mean over all pairs of seeds. One seed's own noise is in the spread over
    seeds already.
    """
    if paired:
        first, second = np.zeros_like(second - first), second - first
    sides = [side[~np.isnan(side[:, 0])] for side in (first, second)]
    if min(map(len, sides)) < FEWEST_SEEDS or clusters < FEWEST_SEEDS:
        return None
    draws = np.concatenate(sides)[:, 1:]
    draws = draws[:, ~np.isnan(draws).any(axis=0)]
    if draws.shape[1] < FEWEST_SEEDS:
        return None
    n = len(sides[0])
    # a bootstrap's variance is too small by (n - 1) / n
    covariance = np.cov(draws, ddof=0) * clusters / (clusters - 1)
    blocks = covariance[:n, :n], covariance[n:, n:]
    shared = [_compute_covariance(block) for block in blocks]
    common = max(sum(shared) - 2 * float(covariance[:n, n:].mean()), 0.0)
    own = [max(float(np.diag(b).mean()) - s, 0.0) for b, s in zip(blocks, shared, strict=True)]
    chosen = slice(1, None) if paired else slice(None)
    return SeedVariances(
        tuple(map(len, sides))[chosen],
        tuple(float(side[:, 0].var(ddof=1)) for side in sides)[chosen],
        tuple(own)[chosen],
        common,
        clusters,
    )


def _compute_covariance(block: Float[np.ndarray, "seeds seeds"]) -> float:
    """The mean covariance of two different seeds."""
    n = len(block)
    return float((block.sum() - np.trace(block)) / (n * (n - 1)))


def run_recipe_test(
    value: float, variances: SeedVariances | None, source: ResamplingSource
) -> DifferenceTest | None:
    """Interval and p-value of a difference between recipes; None where seeds do not tell."""
    if variances is None or math.isnan(value):
        return None
    if not variances.variance > 1e-28:
        return bound_unvaried_difference(value, source)
    estimate = Estimate(
        value, variances.variance, variances.df, "seeds", sum(variances.seeds), scope="population"
    )
    return run_student_test(estimate, source, OVER_SEEDS)
