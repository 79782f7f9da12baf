"""Compute weighted sums over samples with the same bits on every CPU.

Used by the states of metrics.
"""

import math

import numpy as np
from jaxtyping import Float, Shaped

MAX_WEIGHT = 24
"""Largest Poisson(1) number that can be drawn in double precision."""
MANTISSA_BITS = 53
MIN_EXPONENT = -1_074
"""Exponent of the smallest positive double."""


def sum_weighted(
    weights: Float[np.ndarray, "rows samples"], each: Shaped[np.ndarray, "samples *n"]
) -> Float[np.ndarray, "rows *n"]:
    """Return ``weights @ each`` for whole weights up to 24.

    A matrix product adds in an order that depends on the CPU. So each column is split into two
    parts with so few digits that no partial sum is rounded (Demmel and Hida, Fast and accurate
    floating point summation, 2003): both sums are exact in any order.
    """
    flat = np.asarray(each, np.float64).reshape(len(each), math.prod(each.shape[1:]))
    shape = (len(weights), *each.shape[1:])
    largest = np.abs(flat).max(axis=0, initial=0.0)
    if not np.isfinite(largest).all():
        return np.asarray((weights @ flat).reshape(shape))
    room = math.frexp(MAX_WEIGHT * len(flat))[1]
    unit = np.maximum(np.frexp(largest)[1] + room - MANTISSA_BITS, MIN_EXPONENT)
    high = _round_to_unit(flat, unit)
    sums = weights @ high
    rest = flat - high
    columns = np.flatnonzero(rest.any(axis=0))
    if len(columns):
        finer = np.maximum(unit[columns] + room - MANTISSA_BITS, MIN_EXPONENT)
        sums[:, columns] += weights @ _round_to_unit(rest[:, columns], finer)
    return np.asarray(sums.reshape(shape))


def _round_to_unit(values: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Round values to whole multiples of 2 ** unit."""
    return np.asarray(np.ldexp(np.rint(np.ldexp(values, -unit)), unit))
