"""Numba kernels that project label sets on a unit's candidates and count them in a hash table."""

import numpy as np

from theodolite._storage.optional import require

numba = require("numba", "naming units by formulas", "dissect")

SEQUENCE = np.uint64(0x03F79D71B4CB0A89)
"""De Bruijn sequence: the first six bits after shifts by 0 to 63 are all different."""
PLACE_OF_BIT = np.zeros(64, np.int64)
PLACE_OF_BIT[[(int(SEQUENCE) << i & (1 << 64) - 1) >> 58 for i in range(64)]] = np.arange(64)


@numba.njit(cache=True, nogil=True)
def _slot(owner, key, owners, keys):
    """Return the slot of a unit's set in the table, or the free one for it."""
    code = np.uint64(owner) * np.uint64(0x9E3779B97F4A7C15)
    for word in key:
        code = (code ^ word) * np.uint64(0xBF58476D1CE4E5B9)
        code ^= code >> np.uint64(29)
    mask = np.uint64(len(owners) - 1)
    slot = code & mask
    while owners[slot] >= 0:
        if owners[slot] == owner:
            same = True
            for w in range(len(key)):
                same &= keys[slot, w] == key[w]
            if same:
                break
        slot = (slot + np.uint64(1)) & mask
    return np.int64(slot)


@numba.njit(cache=True, nogil=True)
def _add(owner, key, n, owners, keys, counts):
    """Add to a unit's set; return whether it is new."""
    slot = _slot(owner, key, owners, keys)
    counts[slot] += n
    if owners[slot] >= 0:
        return 0
    owners[slot] = owner
    for w in range(len(key)):
        keys[slot, w] = key[w]
    return 1


@numba.njit(cache=True, nogil=True)
def project_block(entries, first, shift, atom, set_start, set_label, bit_of, table, used):
    """Count the sets of a block's values from ``first`` on; stop when the table is half full.

    ``bit_of`` has, for each unit of the block and concept, the candidate's number, or -1. Returns
    where it stopped, and how many sets there are.
    """
    owners, keys, counts = table
    inside = np.uint32((1 << shift) - 1)
    words = keys.shape[1]
    key = np.zeros(words, np.uint64)
    for e in range(first, len(entries)):
        if 2 * used > len(owners):
            return e, used
        p = entries[e] >> np.uint32(shift)
        owner = np.int64(entries[e] & inside)
        a = atom[p]
        for w in range(words):
            key[w] = np.uint64(0)
        for j in range(set_start[a], set_start[a + np.uint32(1)]):
            bit = bit_of[owner, set_label[j]]
            if bit >= 0:
                key[bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)
        used += _add(owner, key, np.int64(1), owners, keys, counts)
    return len(entries), used


@numba.njit(cache=True, nogil=True)
def add_sets(start, sets, number, first, table, used):
    """Add counted sets of units from row ``first`` on, as ``project_block`` adds values."""
    owners, keys, counts = table
    owner = 0
    for r in range(first, len(sets)):
        if 2 * used > len(owners):
            return r, used
        while start[owner + 1] <= r:
            owner += 1
        used += _add(owner, sets[r], np.int64(number[r]), owners, keys, counts)
    return len(sets), used


@numba.njit(cache=True, nogil=True)
def gather_sets(table, start, sets, number):
    """Write the sets of each unit in table order; ``start`` has their number."""
    owners, keys, counts = table
    at = start[:-1].copy()
    for slot in range(len(owners)):
        owner = owners[slot]
        if owner >= 0:
            for w in range(keys.shape[1]):
                sets[at[owner], w] = keys[slot, w]
            number[at[owner]] = counts[slot]
            at[owner] += 1


@numba.njit(cache=True, nogil=True)
def labels_of(sets, most, label_start, label):
    """Write the candidates of each set as rows of numbers below ``most``."""
    n = 0
    for r in range(len(sets)):
        for w in range(sets.shape[1]):
            rest = sets[r, w]
            while rest:
                lowest = rest & (~rest + np.uint64(1))
                i = (w << 6) + PLACE_OF_BIT[(lowest * SEQUENCE) >> np.uint64(58)]
                if i < most:
                    label[n] = i
                    n += 1
                rest ^= lowest
        label_start[r + 1] = n
    return n


@numba.njit(cache=True, nogil=True)
def some_pairs(pairs, names):
    """Return the rows and columns of some concepts."""
    k = len(names)
    some = np.empty((k, k), np.int64)
    for i in range(k):
        for j in range(k):
            some[i, j] = pairs[names[i], names[j]]
    return some
