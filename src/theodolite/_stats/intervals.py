"""Intervals from variances: Student, Wilson on an effective number, Fisher's z, two directions."""

import math
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from scipy.special import stdtr, stdtrit  # scipy.stats would take a second to load

from theodolite.results import Interval, Scope, Source

FEWEST_CLUSTERS = 4
"""With fewer, no interval."""
NEAR_A_BOUND = 10
STUDENT = "Student t"
WILSON = "Wilson, effective number"
FISHER = "Student t on Fisher's z"
SEEN = 0.8
"""Power at which an effect counts as detectable."""


@dataclass(frozen=True)
class Estimate:
    """A value with its variance and degrees of freedom, and what was varied."""

    value: float
    variance: float
    df: float
    over: Source
    n: int
    """How many resamples the variance is from, or values."""
    scope: Scope = "fixed"

    @property
    def error(self) -> float:
        """The standard error."""
        return math.sqrt(max(self.variance, 0.0))


def quantile(df: float, level: float) -> float:
    """Student's quantile of a two-sided interval."""
    return float(stdtrit(df, (1 + level) / 2))


def two_sided_p(value: float, error: float, df: float) -> float:
    """Return how likely chance alone would put a value as far from 0."""
    if not error > 0:
        return float("nan") if math.isnan(value) else float(abs(value) <= 1e-12)
    return float(min(2 * stdtr(df, -abs(value) / error), 1.0))


def student_interval(estimate: Estimate, level: float) -> Interval:
    """Around the value, unbounded."""
    half = quantile(estimate.df, level) * estimate.error
    return _interval(estimate, estimate.value - half, estimate.value + half, level, STUDENT)


def wilson_interval(
    estimate: Estimate, bounds: tuple[float, float], most: int, clusters: float, level: float
) -> Interval:
    """Return the Wilson interval of a bounded mean, with an effective number of draws.

    Args:
        estimate: The mean and its variance.
        bounds: Between which each number lies.
        most: Rows; the effective number is not larger where fewer than ten rows' worth contribute
            to the distance from a bound, and what little varies may be too little.
        clusters: Draws that are independent: the effective number where nothing varied.
        level: Of the interval.
    """
    width = bounds[1] - bounds[0]
    share = min(max((estimate.value - bounds[0]) / width, 0.0), 1.0)
    variance = estimate.variance / width**2
    spread = share * (1 - share)
    effective = spread / variance if variance > 1e-30 and spread > 0 else float(clusters)
    near = min(share, 1 - share)
    if variance > 1e-30 and _contributions(near, variance, most) < NEAR_A_BOUND:
        effective = min(effective, most)
    t2 = quantile(estimate.df, level) ** 2
    center = (share + t2 / (2 * effective)) / (1 + t2 / effective)
    root = math.sqrt(t2 * (spread / effective + t2 / (4 * effective**2)))
    half = root / (1 + t2 / effective)
    low, high = max(center - half, 0.0), min(center + half, 1.0)
    ends = bounds[0] + width * low, bounds[0] + width * high
    return _interval(estimate, min(ends[0], estimate.value), max(ends[1], estimate.value), level,
                     WILSON)  # fmt: skip


def _contributions(distance: float, variance: float, rows: int) -> float:
    """Return how many rows' worth make up the distance of a mean from a bound.

    Of zeros and ones the rows that are not on the bound; of numbers that are all alike, all rows.

    >>> round(_contributions(0.0621, 1.6e-7, 100), 1), round(_contributions(0.25, 0.006944, 12), 2)
    (99.6, 5.14)
    """
    return 0.0 if distance <= 0 else 1 / (1 / rows + variance / distance**2)


def fisher_interval(estimate: Estimate, level: float) -> Interval:
    """Return the interval of a value between -1 and 1, computed on Fisher's z scale."""
    value = min(max(estimate.value, -1 + 1e-9), 1 - 1e-9)
    half = quantile(estimate.df, level) * estimate.error / (1 - value**2)
    middle = math.atanh(value)
    return _interval(estimate, math.tanh(middle - half), math.tanh(middle + half), level, FISHER)


def sample_variance(resampled: Float[np.ndarray, " resamples"], clusters: float) -> float:
    """Return the variance over resamples of clusters, corrected by n / (n - 1)."""
    defined = resampled[~np.isnan(resampled)]
    if len(defined) < 2 or clusters <= 1:
        return float("nan")
    return float(defined.var() * clusters / (clusters - 1))


@dataclass(frozen=True)
class Components:
    """Variances of a mean over items that were measured on the same samples."""

    samples: float
    items: float
    rest: float
    """What is neither the sample's nor the item's alone."""
    clusters: float
    n_items: int

    @property
    def variance(self) -> float:
        """Of the mean over a population of items and of samples."""
        both = self.samples + self.items - self.rest
        return max(self.samples, self.items, both)

    @property
    def df(self) -> float:
        """Degrees of freedom by Satterthwaite's approximation."""
        g, k = self.clusters - 1, self.n_items - 1
        parts = self.samples**2 / g + self.items**2 / k + self.rest**2 / (g * k)
        return self.variance**2 / parts if parts > 0 else float(min(g, k))


def components(
    mean: Float[np.ndarray, " resamples"],
    items: Float[np.ndarray, "resamples items"],
    values: Float[np.ndarray, " items"],
    clusters: float,
) -> Components | None:
    """Variance components of a mean over items; none with fewer than two of either.

    Args:
        mean: The mean over items in each resample of clusters.
        items: Each item in the same resamples.
        values: The items as they are.
        clusters: How many there are.
    """
    defined = ~np.isnan(values)
    k = int(defined.sum())
    samples = sample_variance(mean, clusters)
    if k < 2 or math.isnan(samples):
        return None
    with np.errstate(all="ignore"):
        each = np.nanvar(items[:, defined], axis=0) * clusters / (clusters - 1)
    rest = max((float(np.nanmean(each)) - samples) / (k - 1), 0.0)
    return Components(samples, float(values[defined].var(ddof=1)) / k, rest, clusters, k)


def detectable(error: float, df: float, level: float = 0.95) -> float:
    """The effect that would be seen in four of five such samples.

    >>> round(detectable(0.1, 1e9), 4)
    0.2802
    """
    return (quantile(df, level) + float(stdtrit(df, SEEN))) * error


def _interval(estimate: Estimate, low: float, high: float, level: float, method: str) -> Interval:
    interval = Interval(low, high, level, estimate.over, method, estimate.n)
    return replace(interval, scope=estimate.scope, error=estimate.error, df=float(estimate.df))
