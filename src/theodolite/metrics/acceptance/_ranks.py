"""Spearman's correlation of samples that count more or less often."""

import numpy as np
from jaxtyping import Float, Int

Rows = Float[np.ndarray, "rows samples"]


def spearman(
    x: Float[np.ndarray, " samples"], y: Float[np.ndarray, " samples"], weights: Rows
) -> Float[np.ndarray, " rows"]:
    """Correlation of ranks, equal values sharing theirs, as if samples were repeated.

    Undefined where one side has a single value.

    >>> x, y = np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 4])
    >>> spearman(x, y, np.array([[1.0, 1, 1, 1], [1, 0, 0, 2]]))
    array([0.8, 1. ])
    """
    if len(x) < 2:
        return np.full(len(weights), np.nan)
    of_x, of_y = (np.unique(side, return_inverse=True)[1].astype(np.int64) for side in (x, y))
    found = np.full(len(weights), np.nan)
    for row, times in enumerate(np.asarray(weights, np.float64)):
        found[row] = _correlation(_ranks(of_x, times), _ranks(of_y, times), times)
    return found


def _ranks(order: Int[np.ndarray, " samples"], times: np.ndarray) -> np.ndarray:
    """The middle of the places of all that have the same value, counted from the middle of all."""
    same = np.bincount(order, weights=times)
    return np.asarray((np.cumsum(same) - same / 2)[order] - times.sum() / 2)


def _correlation(x: np.ndarray, y: np.ndarray, times: np.ndarray) -> float:
    n = times.sum()
    if n <= 0:
        return float("nan")
    spread = np.sqrt(float(times @ x**2) * float(times @ y**2))
    if spread <= 1e-9 * n**3:  # squared ranks sum to about n³ / 12 unless all are equal
        return float("nan")
    return float(np.clip(float(times @ (x * y)) / spread, -1.0, 1.0))
