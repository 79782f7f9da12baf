"""Correct the p-values of several tests, by Holm's method or Benjamini and Hochberg's.

Used for the verdicts of an audit, conflicts and comparisons.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class HolmSteps:
    """Corrected p-value of each test, and the level that its own p-value was compared with."""

    p: Float[np.ndarray, " tests"]
    level: Float[np.ndarray, " tests"]
    """``alpha`` divided by the number of tests undecided so far; equal for all tests that stay
    undecided."""


def correct_holm(p: Sequence[float], alpha: float = 0.05) -> HolmSteps:
    """Return Holm-corrected p-values; tests without a p-value (NaN) are not counted.

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
        undecided = len(order) - step
        largest = max(largest, min(1.0, undecided * float(values[test])))
        if largest > alpha and open_since is None:
            open_since = undecided
        corrected[test], level[test] = largest, alpha / (open_since or undecided)
    level[np.isnan(values)] = alpha / max(open_since or 1, 1)
    return HolmSteps(corrected, level)


def correct_discoveries(p: Float[np.ndarray, " tests"]) -> Float[np.ndarray, " tests"]:
    """Return p-values corrected by Benjamini and Hochberg; NaN is not counted.

    >>> correct_discoveries(np.array([0.01, 0.02, 0.03, 0.5])).round(3).tolist()
    [0.04, 0.04, 0.04, 0.5]
    """
    corrected = np.full(p.shape, np.nan)
    order = np.argsort(-p, kind="stable")[: int((~np.isnan(p)).sum())]
    ranks = np.arange(len(order), 0, -1)
    corrected[order] = np.minimum.accumulate(np.minimum(1.0, p[order] * len(order) / ranks))
    return corrected
