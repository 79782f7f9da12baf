"""Correlations of samples that count more or less often."""

import numpy as np
from jaxtyping import Float, Int

from theodolite.metrics.accepted._bundle import quotient

Rows = Float[np.ndarray, "rows samples"]
BLOCK = 4_000_000
"""Weights that are looked at together."""


def spearman(
    x: Float[np.ndarray, " samples"], y: Float[np.ndarray, " samples"], weights: np.ndarray
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
    # votes have few values: samples that share both are counted together first
    both, pair = np.unique(of_x * (int(of_y.max()) + 1) + of_y, return_inverse=True)
    of_x, of_y = both // (int(of_y.max()) + 1), both % (int(of_y.max()) + 1)
    step = max(BLOCK // len(x), 1)
    coefficients = [np.empty(0)]
    for at in range(0, len(weights), step):
        times = _summed(np.asarray(weights[at : at + step], np.float64), pair)
        coefficients.append(_correlated(_ranks(of_x, times), _ranks(of_y, times), times))
    return np.concatenate(coefficients)


def pearson(
    x: Float[np.ndarray, " samples"], y: Float[np.ndarray, " samples"], weights: np.ndarray
) -> Float[np.ndarray, " rows"]:
    """Correlation, each sample counted so many times; NaN if a side never varies."""
    step = max(BLOCK // max(len(x), 1), 1)
    coefficients = [np.empty(0)]
    for at in range(0, len(weights), step):
        times = np.asarray(weights[at : at + step], np.float64)
        wide_x, wide_y = (np.broadcast_to(side, times.shape) for side in (x, y))
        coefficients.append(_correlated(wide_x, wide_y, times))
    return np.concatenate(coefficients)


def _summed(times: Rows, group: Int[np.ndarray, " samples"]) -> Float[np.ndarray, "rows groups"]:
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    return np.asarray(np.add.reduceat(times[:, order], starts, axis=1))


def _ranks(value: Int[np.ndarray, " groups"], times: np.ndarray) -> np.ndarray:
    """The middle of the places of all that have the same value."""
    same = _summed(times, value)
    return np.asarray((np.cumsum(same, axis=1) - same / 2)[:, value])


def _correlated(x: np.ndarray, y: np.ndarray, times: np.ndarray) -> np.ndarray:
    there = times > 0
    varies = [
        np.where(there, side, -np.inf).max(1, initial=-np.inf)
        > np.where(there, side, np.inf).min(1, initial=np.inf)
        for side in (x, y)
    ]
    n = times.sum(axis=1)
    x, y = (side - quotient((times * side).sum(axis=1), n)[:, None] for side in (x, y))
    spread = np.sqrt((times * x**2).sum(axis=1) * (times * y**2).sum(axis=1))
    coefficients = quotient(
        (times * x * y).sum(axis=1), np.where(varies[0] & varies[1], spread, 0.0)
    )
    return np.asarray(np.clip(coefficients, -1.0, 1.0))
