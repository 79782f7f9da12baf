"""Compiled sums over samples in one fixed order: the same bits on every kind of CPU."""

import numba


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
