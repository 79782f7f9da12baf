"""Several tests at once: p-values corrected by Holm."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class HolmSteps:
    """Of each test its corrected p-value, and the level at which it was looked at."""

    p: Float[np.ndarray, " tests"]
    level: Float[np.ndarray, " tests"]
    """``alpha`` over the number of tests that were not decided before; the same for all that are
    left undecided."""


def correct_holm(p: Sequence[float], alpha: float = 0.05) -> HolmSteps:
    """Corrected p-values; tests without one (NaN) are not counted and get none.

    >>> correct_holm([0.004, 0.011, 0.02, 0.3, 0.04, 0.8]).p.round(3).tolist()
    [0.024, 0.055, 0.08, 0.6, 0.12, 0.8]
    >>> correct_holm([0.004, 0.2, 0.02], alpha=0.06).level.round(3).tolist()
    [0.02, 0.06, 0.03]
    """
    values = np.asarray(p, float)
    corrected = np.full(values.shape, np.nan)
    level = np.full(values.shape, np.nan)
    order = np.argsort(values, kind="stable")[: int((~np.isnan(values)).sum())]
    largest, open_since = 0.0, None
    for step, test in enumerate(order):
        left = len(order) - step
        largest = max(largest, min(1.0, left * float(values[test])))
        if largest > alpha and open_since is None:
            open_since = left
        corrected[test], level[test] = largest, alpha / (open_since or left)
    level[np.isnan(values)] = alpha / max(open_since or 1, 1)
    return HolmSteps(corrected, level)
