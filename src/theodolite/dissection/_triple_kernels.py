"""Numba kernels that count three concepts at once: the unit's tables, bounds, and chains of a
triple."""

import numpy as np

from theodolite._storage.optional import require
from theodolite.dissection._beam_kernels import AND, AND_NOT, OR, overlap

numba = require("numba", "dissection", "dissect")

MEMORY = 1 << 13


@numba.njit(cache=True, nogil=True)
def unit_tables(unit, n_concepts, shared):
    """The unit's own concepts, largest first; their pair counts; their rows of the unit."""
    unit_atom, unit_count, label_start, label = unit
    order = np.argsort(-shared, kind="mergesort")
    k = 0
    while k < n_concepts and shared[order[k]] > 0:
        k += 1
    mine = order[:k].copy()
    place = np.full(n_concepts, -1, np.int64)
    for i in range(k):
        place[mine[i]] = i
    pairs = np.zeros((k, k), np.int64)
    start = np.zeros(k + 1, np.int64)
    for r in range(len(unit_atom)):
        first, last = label_start[unit_atom[r]], label_start[unit_atom[r] + 1]
        for x in range(first, last):
            i = place[label[x]]
            start[i + 1] += 1
            for y in range(first, last):
                pairs[i, place[label[y]]] += unit_count[r]
    for i in range(k):
        start[i + 1] += start[i]
    at = start[:-1].copy()
    row = np.empty(start[k], np.int64)
    for r in range(len(unit_atom)):
        for x in range(label_start[unit_atom[r]], label_start[unit_atom[r] + 1]):
            i = place[label[x]]
            row[at[i]] = r
            at[i] += 1
    return mine, place, pairs, start, row


@numba.njit(cache=True, nogil=True)
def _carries(atom, a, b, label_start, label):
    n_matches = 0
    for j in range(label_start[atom], label_start[atom + 1]):
        n_matches += (label[j] == a) + (label[j] == b)
    return n_matches == 2


@numba.njit(cache=True, nogil=True)
def _inside_triple(a, b, c, own, unit):
    """Pixels of the unit that carry all three."""
    mine, place, pairs, start, row = own
    unit_atom, unit_count, label_start, label = unit
    i, j, k = place[a], place[b], place[c]
    if i < 0 or j < 0 or k < 0:
        return 0
    least = i
    if start[j + 1] - start[j] < start[least + 1] - start[least]:
        least = j
    if start[k + 1] - start[k] < start[least + 1] - start[least]:
        least = k
    x, y = (b, c) if least == i else ((a, c) if least == j else (a, b))
    total = 0
    for r in range(start[least], start[least + 1]):
        if _carries(unit_atom[row[r]], x, y, label_start, label):
            total += unit_count[row[r]]
    return total


@numba.njit(cache=True, nogil=True)
def _triple(a, b, c, concept_start, concept_atom, weight, label_start, label):
    """Pixels of all images that carry all three."""
    least, x, y = a, b, c
    if concept_start[b + 1] - concept_start[b] < concept_start[least + 1] - concept_start[least]:
        least, x, y = b, a, c
    if concept_start[c + 1] - concept_start[c] < concept_start[least + 1] - concept_start[least]:
        least, x, y = c, a, b
    total = 0
    for k in range(concept_start[least], concept_start[least + 1]):
        if _carries(concept_atom[k], x, y, label_start, label):
            total += weight[concept_atom[k]]
    return total


@numba.njit(cache=True, nogil=True)
def _chain(op1, op2, a, b, c, ab, ac, bc, abc):
    """Size of (a op1 b) op2 c from inclusion and exclusion."""
    if op1 == OR:
        f, fc = a + b - ab, ac + bc - abc
    elif op1 == AND:
        f, fc = ab, abc
    else:
        f, fc = a - ab, ac - abc
    if op2 == OR:
        return f + c - fc
    if op2 == AND:
        return fc
    return f - fc


@numba.njit(cache=True, nogil=True)
def outside(a, b, pairs, own_pairs, place):
    i, j = place[a], place[b]
    return pairs[a, b] - (own_pairs[i, j] if i >= 0 and j >= 0 else 0)


@numba.njit(cache=True, nogil=True)
def triple_bounds(a, b, c, ab, ac, bc):
    """How many elements three sets share at least and at most, from their sizes and their pairs."""
    return max(0, ab + ac - a, ab + bc - b, ac + bc - c), min(ab, ac, bc)


@numba.njit(cache=True, nogil=True)
def try_triple(a, b, c, state, tables, own, unit, shared, best, memory):
    """Look at every chain of three concepts; count their pixels only if one could be the best."""
    pairs, names, concept_start, concept_atom, weight, label_start, label = tables
    low, high = min(a, b, c), max(a, b, c)
    code = (low * len(pairs) + (a + b + c - low - high)) * len(pairs) + high
    slot = (code * 2654435761) & (MEMORY - 1)
    if memory[slot] == code:
        return
    memory[slot] = code
    _, place, own_pairs, _, _ = own
    inside = _inside_triple(a, b, c, own, unit)
    # minimum and maximum number of pixels of the triple outside the unit
    o_a, o_b, o_c = pairs[a, a] - shared[a], pairs[b, b] - shared[b], pairs[c, c] - shared[c]
    o_ab = outside(a, b, pairs, own_pairs, place)
    o_ac = outside(a, c, pairs, own_pairs, place)
    o_bc = outside(b, c, pairs, own_pairs, place)
    fewest, most = triple_bounds(o_a, o_b, o_c, o_ab, o_ac, o_bc)
    least, most = inside + fewest, inside + most
    better = _best_chain(a, b, c, inside, least, most, state, pairs, own, shared, best)
    if not better or least == most:
        return
    whole = _triple(
        names[a], names[b], names[c], concept_start, concept_atom, weight, label_start, label
    )
    state[1] += 1
    _best_chain(a, b, c, inside, whole, whole, state, pairs, own, shared, best)


@numba.njit(cache=True, nogil=True)
def _best_chain(a, b, c, inside, least, most, state, pairs, own, shared, best):
    """Whether a chain can beat the best overlap, its triple having ``least`` to ``most`` pixels.

    Where that is one number, a chain that can does, and is kept.
    """
    _, place, own_pairs, _, _ = own
    better = False
    for turn in range(6):
        x, y, z = (a, b, c) if turn < 2 else ((b, c, a) if turn < 4 else (c, a, b))
        if turn % 2:
            x, y = y, x
        i, j, k = place[x], place[y], place[z]
        u_xy = own_pairs[i, j] if i >= 0 and j >= 0 else 0
        u_xz = own_pairs[i, k] if i >= 0 and k >= 0 else 0
        u_yz = own_pairs[j, k] if j >= 0 and k >= 0 else 0
        for op1 in range(3):
            if op1 != AND_NOT and turn % 2:
                continue  # the same formula with x and y exchanged
            for op2 in range(3):
                hit = _chain(op1, op2, shared[x], shared[y], shared[z], u_xy, u_xz, u_yz, inside)
                size = min(
                    _chain(op1, op2, pairs[x, x], pairs[y, y], pairs[z, z], pairs[x, y],
                           pairs[x, z], pairs[y, z], least),
                    _chain(op1, op2, pairs[x, x], pairs[y, y], pairs[z, z], pairs[x, y],
                           pairs[x, z], pairs[y, z], most),
                )  # fmt: skip
                v = overlap(hit, size, state[2])
                if v > state[0]:
                    better = True
                    if least == most:
                        state[0] = v
                        best[0], best[1], best[2] = 3, size, hit
                        best[3], best[4], best[5], best[6], best[7] = x, op1, y, op2, z
    return better
