"""Compiled draws of resamples, and sums over samples in one fixed order: the same bits on every
kind of CPU."""

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def count_draws(start, step, limits, counts):
    """How many of the limits the number that is drawn for each resample and sample reaches.

    As ``evidence.sampling.uniform`` draws it from ``start``, before it is divided by 2 ** 53; the
    last limit is never reached.
    """
    for r in range(counts.shape[0]):
        for i in range(counts.shape[1]):
            z = start[i] + np.uint64(r + 2) * step
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            bits = (z ^ (z >> np.uint64(31))) >> np.uint64(11)
            n = 0
            while bits >= limits[n]:
                n += 1
            counts[r, i] = n


@numba.njit(cache=True, nogil=True)
def add_to_groups(each, groups, sums):
    """Add row ``i`` of ``each`` to row ``groups[i]`` of ``sums``; to none where that is below 0."""
    for i in range(each.shape[0]):
        group = groups[i]
        if group >= 0:
            for j in range(each.shape[1]):
                sums[group, j] += each[i, j]


@numba.njit(cache=True, nogil=True)
def add_products(weights, rows, sums):
    """Add ``weights @ rows`` to ``sums``, row after row of ``rows``."""
    for r in range(weights.shape[0]):
        for g in range(weights.shape[1]):
            weight = weights[r, g]
            if weight != 0.0:
                for j in range(rows.shape[1]):
                    sums[r, j] += weight * rows[g, j]
