"""Weighted sums over samples with the same bits on every CPU, whatever the order of adding."""

import math

import numpy as np
from jaxtyping import Float, Shaped

MOST_WEIGHT = 24
"""No Poisson(1) number that is drawn in double precision is larger."""
DIGITS = 53
LOWEST = -1_074
"""The smallest number that there is, as a power of 2."""


def sum_weighted(
    weights: Float[np.ndarray, "rows samples"], each: Shaped[np.ndarray, "samples *n"]
) -> Float[np.ndarray, "rows *n"]:
    """``weights @ each`` for whole weights up to 24.

    A product of matrices adds in an order that depends on the CPU. So each column is cut into two
    parts of so few digits that no partial sum of either is ever rounded (Demmel and Hida, Fast and
    accurate floating point summation, 2003): whatever the order, both sums are exact.
    """
    flat = np.asarray(each, np.float64).reshape(len(each), math.prod(each.shape[1:]))
    shape = (len(weights), *each.shape[1:])
    largest = np.abs(flat).max(axis=0, initial=0.0)
    if not np.isfinite(largest).all():
        return np.asarray((weights @ flat).reshape(shape))
    room = math.frexp(MOST_WEIGHT * len(flat))[1]
    unit = np.maximum(np.frexp(largest)[1] + room - DIGITS, LOWEST)
    high = _round_to_unit(flat, unit)
    sums = weights @ high
    rest = flat - high
    columns = np.flatnonzero(rest.any(axis=0))
    if len(columns):
        finer = np.maximum(unit[columns] + room - DIGITS, LOWEST)
        sums[:, columns] += weights @ _round_to_unit(rest[:, columns], finer)
    return np.asarray(sums.reshape(shape))


def _round_to_unit(values: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Rounded to whole multiples of 2 ** unit."""
    return np.asarray(np.ldexp(np.rint(np.ldexp(values, -unit)), unit))
