"""Decide whether a value is better than several random draws of a null.

Resampling samples does not show how draws differ from each other: with 20 random dictionaries, an
interval of the difference from their mean calls one in six such dictionaries better than the
others. So a value must also exceed every draw. Of many items (concepts, classes, units), some
exceed every draw by chance, so their p-values are corrected together. Used by `_scoring`,
`_verdicts` and `theodolite.language`.
"""

import math

import numpy as np
from jaxtyping import Float
from scipy.special import stdtr

from theodolite._stats.multiple import correct_discoveries
from theodolite.results import Answer

ENOUGH = 20
"""Minimum number of draws for a claim: one value in 21 exceeds 20 draws by chance."""
OF_USE = 0.1
"""Smallest relevant difference from the mean of draws; a convention."""
SAME = 1e-12
"""Largest difference that counts as equal."""
FALSE_DISCOVERIES = 0.05
"""Expected share of false *yes* among all *yes* of several items."""
SPREAD_OF_NONE = 1e-6
"""Standard deviation of draws below which they count as equal."""
NARROW, FULL = 0.2, 0.05
"""Room between the mean of draws and the best value that is little, and too little for a *no*."""


def compute_draw_p(value: float, draws: Float[np.ndarray, " draws"]) -> float:
    """Return the probability of a value as high under draws, by Student's t with their spread.

    >>> round(compute_draw_p(0.8, np.linspace(0.55, 0.65, 20)), 6)
    3e-06
    """
    own = draws[~np.isnan(draws)]
    if len(own) < ENOUGH or math.isnan(value):
        return math.nan
    spread = float(own.std(ddof=1))
    if spread < SPREAD_OF_NONE:
        return 1 / (len(own) + 1) if value > own.max() else 1.0
    step = (value - float(own.mean())) / (spread * math.sqrt(1 + 1 / len(own)))
    return float(stdtr(len(own) - 1, -step))


def compare_with_draws(
    value: float,
    draws: Float[np.ndarray, " draws"],
    interval: tuple[float, float],
    *,
    passed: bool = True,
    best: float = math.inf,
) -> Answer:
    """Answer whether a value is better than draws of a null; higher is better.

    Args:
        value: Value of the item.
        draws: Values of the null.
        interval: Ends of the interval of value minus mean of draws.
        passed: Whether the p-value passes the correction for all items.
        best: Largest possible value; near it there is no *no*.

    >>> draws = np.linspace(0.5, 0.6, 20)
    >>> compare_with_draws(0.7, draws, (0.01, 0.2)), compare_with_draws(0.59, draws, (0.01, 0.2))
    ('yes', 'inconclusive')
    >>> compare_with_draws(0.56, draws, (-0.05, 0.08)), compare_with_draws(0.9, draws[:3], (0.1, 1))
    ('no', 'inconclusive')
    >>> compare_with_draws(0.99, 0.97 + draws / 30, (-0.01, 0.01), best=1.0)
    'inconclusive'
    """
    low, high = interval
    own = draws[~np.isnan(draws)]
    if len(own) < ENOUGH or math.isnan(value) or math.isnan(low) or math.isnan(high):
        return "inconclusive"
    if passed and value > own.max() + SAME and low > 0:
        return "yes"
    room = best - float(own.mean())
    if room < FULL:
        return "inconclusive"
    return "no" if high < (OF_USE if room >= NARROW else room / 2) else "inconclusive"


def compare_items_with_draws(
    values: Float[np.ndarray, " items"],
    draws: Float[np.ndarray, "draws items"],
    intervals: Float[np.ndarray, "2 items"],
    best: float = math.inf,
) -> tuple[Answer, ...]:
    """Answer for each of several items; of all *yes*, at most 5 % are false on average."""
    p = np.array([compute_draw_p(value, draws[:, j]) for j, value in enumerate(values)])
    passed = correct_discoveries(p) <= FALSE_DISCOVERIES
    if len(values) == 1:
        passed[:] = True
    return tuple(
        compare_with_draws(
            float(value), draws[:, j], (float(intervals[0, j]), float(intervals[1, j])),
            passed=bool(passed[j]), best=best,
        )
        for j, value in enumerate(values)
    )  # fmt: skip
