"""Compute how many samples, seeds or concepts distinguish two versions.

Power is that of the tests that ``compare`` does: Student's for these models and for a population of
concepts, Satterthwaite's for the recipe.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import betaincinv, chdtri, ndtr, ndtri, stdtrit

from theodolite._stats.intervals import SEEN

MAX_SAMPLES = 10**9
"""A larger number of anything counts as out of reach."""
MAX_SEEDS = 1000
NODES = 48
MANY_DEGREES = 10_000
"""Degrees of freedom."""


@dataclass(frozen=True)
class RecipeVariances:
    """What a difference between two recipes varies by, seed by seed and sample by sample."""

    spread: float
    """Standard deviation over the seeds of a run, or over paired differences."""
    common: float = 0.0
    """Of the difference over samples, as far as all seeds share it; 0 with samples to spare."""
    clusters: float = math.inf
    """Samples or clusters that this is from."""
    paired: bool = False
    """Whether seeds of both runs are paired."""


def compute_mean_power(effect: float, sd: float, n: int, alpha: float) -> float:
    """Return how often Student's test of the mean of n differences sees an effect.

    >>> round(compute_mean_power(0.05, 0.45, 638, 0.05), 3)
    0.8
    """
    return compute_recipe_power(effect, RecipeVariances(sd, paired=True), n, alpha)


def find_sample_size(effect: float, sd: float, alpha: float, power: float) -> int | None:
    """The fewest samples, clusters or concepts of which the mean difference would be seen.

    Args:
        effect: The difference between the versions.
        sd: Standard deviation of the difference of one sample, cluster or concept.
        alpha: How often chance alone may be taken for a difference.
        power: How often the effect is to be seen.

    None where no number would do that can be had.
    """
    if not compute_mean_power(effect, sd, MAX_SAMPLES, alpha) >= power:
        return None
    return _find_smallest(lambda n: compute_mean_power(effect, sd, n, alpha), power, MAX_SAMPLES)


def compute_recipe_power(effect: float, varied: RecipeVariances, seeds: int, alpha: float) -> float:
    """Return how often the test of two recipes with this many seeds each sees an effect.

    A mean over what the seeds may show: their variances are drawn (chi-squared for both together,
    a beta share for the first), and with these Satterthwaite's degrees of freedom.
    """
    if seeds < 2:
        return 0.0
    sides = 1 if varied.paired else 2
    df = seeds - 1
    of_seeds = sides * varied.spread**2 / seeds
    true = of_seeds + varied.common
    if true <= 0:
        return float(effect != 0)
    u, w = _compute_quadrature()
    drawn_seeds = of_seeds * _compute_chi_squared_quantiles(u, sides * df)[:, None] / (sides * df)
    if sides == 2:
        share, v = betaincinv(df / 2, df / 2, u)[None, :], w
    else:
        share, v = np.ones((1, 1)), np.ones(1)
    uneven = share**2 + (1 - share) ** 2
    variance = drawn_seeds + varied.common
    parts = drawn_seeds**2 * uneven / df + varied.common**2 / (varied.clusters - 1)
    line = stdtrit(variance**2 / parts, 1 - alpha / 2) * np.sqrt(variance)
    error = math.sqrt(true)
    seen = ndtr((abs(effect) - line) / error) + ndtr((-abs(effect) - line) / error)
    return float(w @ seen @ v)


@functools.cache
def _compute_quadrature() -> tuple[Float[np.ndarray, " nodes"], Float[np.ndarray, " nodes"]]:
    """Gauss and Legendre's places and weights between 0 and 1."""
    places, weights = np.polynomial.legendre.leggauss(NODES)
    return (places + 1) / 2, weights / 2


def _compute_chi_squared_quantiles(
    u: Float[np.ndarray, " nodes"], df: int
) -> Float[np.ndarray, " nodes"]:
    """Quantiles; by Wilson and Hilferty where there are many degrees of freedom."""
    if df < MANY_DEGREES:
        return np.asarray(chdtri(df, 1 - u))
    return np.asarray(df * (1 - 2 / (9 * df) + ndtri(u) * math.sqrt(2 / (9 * df))) ** 3)


def find_seed_count(
    effect: float, varied: RecipeVariances, alpha: float, power: float
) -> int | None:
    """Return the smallest number of seeds per side; None if there are too few samples."""
    if compute_recipe_power(effect, varied, MAX_SEEDS, alpha) < power:
        return None
    return _find_smallest(
        lambda n: compute_recipe_power(effect, varied, n, alpha), power, MAX_SEEDS
    )


def _find_smallest(power_of: Callable[[int], float], power: float, most: int) -> int:
    """The least number that has the power, which grows with it."""
    high = 2
    while power_of(high) < power and high < most:
        high *= 2
    low = max(high // 2, 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_of(middle) >= power else (middle, high)
    return high


def find_recipe_sample_size(
    effect: float,
    varied: RecipeVariances,
    pure: tuple[float, int],
    alpha: float,
    power: float = SEEN,
) -> int | None:
    """Return the smallest number of samples or clusters that distinguishes two recipes.

    Args:
        effect: The difference between the recipes.
        varied: What it varies by now.
        pure: The spread over seeds, had there been samples without end; and how many seeds each
            has.
        alpha: How often chance alone may be taken for a difference.
        power: How often the effect is to be seen.

    None where no number would do, because seeds are too few.
    """
    spread, seeds = pure
    own = max(varied.spread**2 - spread**2, 0.0)

    def power_of(n: int) -> float:
        share = varied.clusters / n
        more = RecipeVariances(
            math.sqrt(spread**2 + share * own), share * varied.common, n, paired=varied.paired
        )
        return compute_recipe_power(effect, more, seeds, alpha)

    return None if power_of(MAX_SAMPLES) < power else _find_smallest(power_of, power, MAX_SAMPLES)
