"""Compiled loops of cluster shuffles: what is counted of each deal, without dealing anything."""

import numba


@numba.njit(cache=True, nogil=True)
def joint_counts(first, second, starts, sizes, orders, turns, counts):
    """Of each deal of ``second``: rows with both, and rows with the second; into ``counts``.

    Rows lie cluster by cluster. Cluster g gets the rows of ``orders[deal, g]`` in turn, from row
    ``turns[deal, g]`` of it on.
    """
    for deal in range(orders.shape[0]):
        both, whole = 0, 0
        for g in range(len(starts)):
            dealt = orders[deal, g]
            begin = starts[dealt]
            end = begin + sizes[dealt]
            place = begin + turns[deal, g]
            for row in range(starts[g], starts[g] + sizes[g]):
                value = second[place]
                whole += value
                both += value & first[row]
                place += 1
                if place == end:
                    place = begin
        counts[deal, 0] = both
        counts[deal, 1] = whole
