"""Correlations in which each pair counts as often as a weight says."""

from typing import Any

import numpy as np

LEAST_PAIRS = 3
FLAT = 1e-12
"""Of the largest value squared: a variance below that is rounding."""


class Ranks:
    """Mean ranks under weights; what is sorted is sorted once."""

    def __init__(self, values: np.ndarray) -> None:
        _, self._level = np.unique(values, return_inverse=True)
        self._n = int(self._level.max(initial=-1)) + 1

    def under(self, weights: np.ndarray) -> np.ndarray:
        """Of each value."""
        each = np.bincount(self._level, weights, self._n)
        return np.asarray((np.cumsum(each) - each / 2)[self._level])


def pearson(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """Of two columns; NaN for fewer than three pairs, or where either has no spread."""
    total: Any = weights.sum()
    if (weights > 0).sum() < LEAST_PAIRS:
        return float("nan")
    dx, dy = x - (x * weights).sum() / total, y - (y * weights).sum() / total
    spread = np.sqrt((weights * dx**2).sum() * (weights * dy**2).sum())
    scale = total * max(np.abs(x).max(), 1e-300) * max(np.abs(y).max(), 1e-300)
    if spread <= FLAT * scale:
        return float("nan")
    return float(np.clip((weights * dx * dy).sum() / spread, -1.0, 1.0))
