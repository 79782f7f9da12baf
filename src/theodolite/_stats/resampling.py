"""Draw bootstrap weights and compute intervals from resamples.

Weights depend on sample numbers and a seed only, so they are equal in every shard and order. Used
by `_scoring`, conflicts, comparisons and studies.
"""

import numpy as np
from jaxtyping import Float, Int, UInt8
from scipy.special import pdtr, stdtrit  # scipy.stats would take a second to load

from theodolite._stats.native import functions as native
from theodolite._stats.native.library import has_native
from theodolite._stats.sampling import GOLDEN, hash_integers, hash_to_uniforms
from theodolite.results import Interval, Source

_POISSON = pdtr(np.arange(24), 1.0)  # cumulative distribution of Poisson(1)
MAX_DRAWS = 1 << 21
"""Maximum number of draws in memory."""
RESAMPLES, SEED, LEVEL = 2000, 0, 0.95
Values = Float[np.ndarray, " units"]
Draws = Float[np.ndarray, " resamples"]
"""Statistic on all units (row 0) and on each resample."""


def draw_poisson_weights(
    keys: Int[np.ndarray, " samples"], resamples: int, seed: int
) -> Float[np.ndarray, "resamples samples"]:
    """Draw how often each sample counts in each resample: independent Poisson(1) numbers.

    The numbers depend on a sample's key and the seed only, so shards on different machines draw the
    same resamples, and samples with one key (a cluster) are drawn together. For sums and ratios of
    sums this is the bootstrap, and the total number of samples need not be known.

    >>> whole = draw_poisson_weights(np.arange(5), 3, seed=1)
    >>> bool((draw_poisson_weights(np.array([4, 2]), 3, seed=1) == whole[:, [4, 2]]).all())
    True
    """
    return draw_poisson_counts(keys, resamples, seed).astype(np.float64)


def draw_poisson_counts(
    keys: Int[np.ndarray, " samples"], resamples: int, seed: int
) -> UInt8[np.ndarray, "resamples samples"]:
    """Draw `draw_poisson_weights` as bytes, in an eighth of the memory."""
    counts = np.empty((resamples, len(keys)), np.uint8)
    if not has_native():
        step = max(MAX_DRAWS // max(resamples, 1), 1)
        for batch in (slice(at, at + step) for at in range(0, len(keys), step)):
            draws = hash_to_uniforms(keys[batch], (resamples,), seed).T
            counts[:, batch] = np.searchsorted(_POISSON, draws, side="right")
        return counts
    limits = np.append(np.ceil(_POISSON * 2.0**53), 2.0**53).astype(np.uint64)
    native.count_draws(hash_integers(np.asarray(keys), seed), int(GOLDEN), limits, counts)
    return counts


def percentile_interval(
    resampled: Float[np.ndarray, " resamples"], value: float, level: float, over: Source
) -> Interval | None:
    """Return the percentile interval of resampled values; None without defined or varying ones.

    The resampled values are moved so that their median is the value. That hardly changes means. A
    cosine of noisy means, however, shrinks with the noise that resampling adds, and its unmoved
    interval would not contain the value.
    """
    defined = resampled[~np.isnan(resampled)]
    if len(defined) < 2 or np.ptp(defined) <= 1e-14:
        return None
    tail = (1 - level) / 2
    low, middle, high = np.quantile(defined, [tail, 0.5, 1 - tail])
    below, above = float(low - middle), float(high - middle)
    method = "bootstrap percentiles around the value"
    return Interval(value + below, value + above, level, over, method, len(defined))


def shuffle_interval(
    shuffled: Float[np.ndarray, " draws"], value: float, level: float
) -> Interval | None:
    """Return the interval of value minus null from many draws of the null (permutation test).

    The interval excludes 0 if the value lies outside the central ``level`` of the draws.
    """
    defined = shuffled[~np.isnan(shuffled)]
    if len(defined) < 2 or np.isnan(value):
        return None
    tail = (1 - level) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return Interval(
        float(value - high), float(value - low), level, "shuffles", "shuffles", len(defined)
    )


def boundary_interval(
    value: float, bounds: tuple[float, float], n: int, level: float, over: Source
) -> Interval | None:
    """Return the interval of a mean of n samples that all equal a bound and do not vary.

    If all n samples are at the bound, then with confidence ``level`` at least a fraction
    ((1 - level) / 2) ** (1 / n) of the population is, which limits the mean.
    """
    near = next((end for end in bounds if abs(value - end) <= 1e-12), None)
    if n < 1 or near is None:
        return None
    reach = abs(bounds[1] - bounds[0]) * (1 - ((1 - level) / 2) ** (1 / n))
    low, high = (value - reach, value) if near == max(bounds) else (value, value + reach)
    return Interval(low, high, level, over, "exact, all samples on the bound", n)


def mean_interval(values: Float[np.ndarray, " n"], level: float, over: Source) -> Interval | None:
    """Return Student's interval for the mean of a few independent values, such as seeds."""
    defined = values[~np.isnan(values)]
    if len(defined) < 2:
        return None
    error = defined.std(ddof=1) / np.sqrt(len(defined))
    if error <= 1e-14:  # the seeds changed nothing
        return None
    half = float(stdtrit(len(defined) - 1, (1 + level) / 2) * error)
    middle = float(defined.mean())
    return Interval(middle - half, middle + half, level, over, "Student t", len(defined))


def compute_percentile_ends(draws: Draws, level: float = LEVEL) -> tuple[float, float]:
    """Return the ends of the percentile interval of a statistic from its resamples."""
    low, high = np.nanquantile(draws[1:], [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
