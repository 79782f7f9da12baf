"""Test the difference between two training recipes, with seeds as a source of variance.

The question is whether two runs would differ again if both were trained again with new seeds. Used
by `paired_differences`, and by `shortage` to say how many seeds are required.
"""

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
    """Variance of the difference between two recipes, split into seeds and samples."""

    seeds: tuple[int, ...]
    """Number of seeds of each run; one number if seeds are paired."""
    variances: tuple[float, ...]
    """Variance over the seeds of each run, or of the paired differences."""
    own: tuple[float, ...]
    """Part of ``variances`` that comes from samples and differs from seed to seed."""
    common: float
    """Variance of the difference over samples that all seeds share."""
    clusters: int
    """Number of samples or clusters that were resampled."""

    @property
    def of_seeds(self) -> float:
        """Part of the variance of the difference that comes from seeds."""
        return sum(v / n for v, n in zip(self.variances, self.seeds, strict=True))

    @property
    def variance(self) -> float:
        """Variance of the difference if both were trained again and scored on new samples."""
        return self.of_seeds + self.common

    @property
    def df(self) -> float:
        """Degrees of freedom by Satterthwaite's approximation."""
        parts = sum((v / n) ** 2 / (n - 1) for v, n in zip(self.variances, self.seeds, strict=True))
        parts += self.common**2 / (self.clusters - 1)
        return self.variance**2 / parts if parts > 0 else float(min(self.seeds) - 1)

    @property
    def paired(self) -> bool:
        """Whether seed i of one run is paired with seed i of the other."""
        return len(self.seeds) == 1

    @property
    def spread(self) -> float:
        """Standard deviation over seeds: of both runs together, or of paired differences."""
        return math.sqrt(sum(self.variances) / len(self.variances))

    @property
    def spread_without_samples(self) -> float:
        """``spread`` in the limit of infinitely many samples."""
        parts = zip(self.variances, self.own, strict=True)
        return math.sqrt(sum(max(v - own, 0.0) for v, own in parts) / len(self.variances))


def estimate_seed_variances(
    first: Float[np.ndarray, "seeds rows"],
    second: Float[np.ndarray, "others rows"],
    clusters: int,
    *,
    paired: bool = False,
) -> SeedVariances | None:
    """Estimate the variances from each seed's value (column 0) and its resamples.

    All rows are resampled with the same weights. Seeds of the two runs are independent, unless
    ``paired``: then seed i of both runs shares the randomness of training. Seeds whose value is NaN
    are left out; None with fewer than two.

    The common variance is the covariance of two different seeds over resamples, a mean over all
    pairs of seeds. The variance over seeds already contains the noise of single seeds.
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
    """Return the mean covariance of two different seeds."""
    n = len(block)
    return float((block.sum() - np.trace(block)) / (n * (n - 1)))


def run_recipe_test(
    value: float, variances: SeedVariances | None, source: ResamplingSource
) -> DifferenceTest | None:
    """Return interval and p-value of a difference between recipes; None without variances."""
    if variances is None or math.isnan(value):
        return None
    if not variances.variance > 1e-28:
        return bound_unvaried_difference(value, source)
    estimate = Estimate(
        value, variances.variance, variances.df, "seeds", sum(variances.seeds), scope="population"
    )
    return run_student_test(estimate, source, OVER_SEEDS)
