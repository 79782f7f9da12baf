"""Numba kernels of the third pass: exact counts of each unit's formula on whole documents."""

import numpy as np

from theodolite._storage.optional import require
from theodolite.dissection.formula import OPERATORS

numba = require("numba", "naming units by formulas", "dissect")

OR, AND, AND_NOT = 0, 1, 2
assert OPERATORS == ("OR", "AND", "AND NOT")  # noqa: S101  rows of formulas have their numbers


@numba.njit(cache=True, nogil=True)
def bits_of_concepts(atom_set, set_start, set_label, bits):
    """Set for each concept the bits of the label sets that contain it."""
    for i in range(len(atom_set)):
        a = atom_set[i]
        for j in range(set_start[a], set_start[a + np.uint32(1)]):
            bits[set_label[j], i >> 6] |= np.uint64(1) << np.uint64(i & 63)


@numba.njit(cache=True, nogil=True)
def _holds(formula, bits, where):
    """Return the label sets in which a formula holds."""
    length, longest = formula[0], (len(formula) - 1) // 2
    for word in range(len(where)):
        now = bits[formula[1 + longest], word]
        for step in range(1, length):
            there = bits[formula[1 + longest + step], word]
            operator = formula[1 + step]
            if operator == OR:
                now |= there
            elif operator == AND:
                now &= there
            else:
                now &= ~there
        where[word] = now


@numba.njit(cache=True, nogil=True)
def count_formulas(entries, shift, formulas, bits, atom_of, weight, document_of, n_documents, sums):
    """Add the counts of each unit of a block and its formula in a shard's documents.

    Of each unit: positions of the unit, of the formula and of both; documents with the formula and
    with both; and over documents the sums of s s, s n and n n, for the positions s in both and n in
    either.
    """
    n_units = len(formulas)
    inside = np.uint32((1 << shift) - 1)
    start = np.zeros(n_units + 1, np.int64)
    for entry in entries:
        start[np.int64(entry & inside) + 1] += 1
    for u in range(n_units):
        start[u + 1] += start[u]
    at = start[:-1].copy()
    position = np.empty(len(entries), np.uint32)
    for entry in entries:
        u = np.int64(entry & inside)
        position[at[u]] = entry >> np.uint32(shift)
        at[u] += 1
    where = np.empty(bits.shape[1], np.uint64)
    size = np.zeros(n_documents, np.int64)
    for u in range(n_units):
        if formulas[u, 0] == 0:
            sums[u, 0] += start[u + 1] - start[u]
            continue
        _holds(formulas[u], bits, where)
        size[:] = 0
        for word in range(len(where)):
            rest = where[word]
            i = word << 6
            while rest:
                if not rest & np.uint64(0xFF):
                    rest >>= np.uint64(8)
                    i += 8
                    continue
                if rest & np.uint64(1):
                    size[document_of[i]] += weight[i]
                rest >>= np.uint64(1)
                i += 1
        for d in range(n_documents):
            n = size[d]
            if n:
                sums[u, 1] += n
                sums[u, 3] += 1
                sums[u, 7] += n * n
        j = start[u]
        while j < start[u + 1]:
            d = document_of[atom_of[position[j]]]
            own, both = 0, 0
            while j < start[u + 1] and document_of[atom_of[position[j]]] == d:
                i = atom_of[position[j]]
                both += np.int64((where[i >> 6] >> np.uint64(i & 63)) & np.uint64(1))
                own += 1
                j += 1
            sums[u, 0] += own
            sums[u, 2] += both
            sums[u, 4] += both > 0
            either = own + size[d] - both
            sums[u, 5] += both * both
            sums[u, 6] += both * either
            sums[u, 7] += either * either - size[d] * size[d]
