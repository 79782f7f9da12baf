"""Numba kernels that sort activations by blocks of units and count each block with every concept.

A block's table fits the cache. Threads take whole blocks, so no locks are needed."""

import numpy as np

from theodolite._storage.optional import require

numba = require("numba", "naming units by formulas", "dissect")


@numba.njit(cache=True, nogil=True)
def block_sizes(start, unit, first, last, low, slot, shift, sizes):
    """Count the values of some positions in each block of units."""
    n = np.uint32(len(slot))
    base = np.uint32(low)
    for j in range(start[first], start[last]):
        u = np.uint32(unit[j] - base)  # below the first one it wraps round, and is too large
        if u < n and slot[u] >= 0:
            sizes[slot[u] >> shift] += 1


@numba.njit(cache=True, nogil=True)
def sort_by_block(start, unit, first, last, low, slot, shift, at, entries):
    """Pack position and place in the block of each value into one number, block by block."""
    n = np.uint32(len(slot))
    base = np.uint32(low)
    inside = (1 << shift) - 1
    for p in range(first, last):
        for j in range(start[p], start[p + 1]):
            u = np.uint32(unit[j] - base)
            if u < n and slot[u] >= 0:
                s = slot[u]
                entries[at[s >> shift]] = (p << shift) | (s & inside)
                at[s >> shift] += 1


@numba.njit(cache=True, nogil=True)
def count_block(entries, shift, atom, document, set_start, set_label, stamp, table, active):
    """Add the positions and documents that each unit of a block shares with each concept.

    ``table`` has a row (positions, documents) for each unit and concept, ``active`` for each unit;
    ``stamp`` is scratch space, zero, with a number for each unit and concept and one for each unit.
    """
    inside = np.uint32((1 << shift) - 1)
    n_concepts = (len(stamp) // len(active)) - 1
    n_cells = n_concepts * len(active)
    for entry in entries:
        p = entry >> np.uint32(shift)
        s = np.int64(entry & inside)
        a = atom[p]
        mark = document[p] + np.uint32(1)
        active[s, 0] += np.uint32(1)
        if stamp[n_cells + s] != mark:
            stamp[n_cells + s] = mark
            active[s, 1] += np.uint32(1)
        row = s * n_concepts
        for k in range(set_start[a], set_start[a + np.uint32(1)]):
            cell = row + np.int64(set_label[k])
            table[cell, 0] += np.uint32(1)
            if stamp[cell] != mark:
                stamp[cell] = mark
                table[cell, 1] += np.uint32(1)
