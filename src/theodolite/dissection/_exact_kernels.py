"""Numba kernels that find the best formula of up to three concepts, proved optimal by bounds.

Let t be the best overlap so far and U the unit. A formula G beats it exactly if u - t o > t |U|,
where u are its pixels inside the unit and o those outside. Both sums are additive over pixels, so
every chain of three concepts is linear in one triple count, which pair counts bound from both
sides. Triples are counted only where that bound beats t."""

import numpy as np

from theodolite._storage.optional import require
from theodolite.dissection._beam_kernels import AND_NOT, OR, overlap
from theodolite.dissection._triple_kernels import MEMORY, outside, try_triple, unit_tables

numba = require("numba", "dissection", "dissect")

SLACK = 1e-7  # pixels; bounds are sums of floats


@numba.njit(cache=True, nogil=True)
def _pairs_of_two(state, pairs, own, shared, best, n_concepts):
    """All formulas of two concepts: their counts are in the tables."""
    mine, place, own_pairs, _, _ = own
    k = len(mine)
    for i in range(k):
        a = mine[i]
        if 2 * shared[a] <= state[0] * state[2]:
            break
        for j in range(i + 1, k):
            b = mine[j]
            if shared[a] + shared[b] <= state[0] * state[2]:
                break
            for op in range(2):
                hit = shared[a] + shared[b] - own_pairs[i, j] if op == OR else own_pairs[i, j]
                both = pairs[a, b]
                size = pairs[a, a] + pairs[b, b] - both if op == OR else both
                v = overlap(hit, size, state[2])
                if v > state[0]:
                    state[0] = v
                    best[0], best[1], best[2], best[3], best[4], best[5] = 2, size, hit, a, op, b
        if shared[a] <= state[0] * state[2]:
            continue
        for b in range(n_concepts):
            j = place[b]
            hit = shared[a] - (own_pairs[i, j] if j >= 0 else 0)
            size = pairs[a, a] - pairs[a, b]
            v = overlap(hit, size, state[2])
            if b != a and v > state[0]:
                state[0] = v
                best[0], best[1], best[2] = 2, size, hit
                best[3], best[4], best[5] = a, AND_NOT, b


@numba.njit(cache=True, nogil=True)
def _order_outside(i, a, pairs, own, orders, n_order, n_concepts):
    """Concepts by how many of a's pixels outside the unit they cover; made once for each a."""
    if n_order[i] >= 0:
        return
    _, place, own_pairs, _, _ = own
    covered = np.empty(n_concepts, np.int64)
    n = 0
    for c in range(n_concepts):
        covered[c] = 0 if c == a else outside(a, c, pairs, own_pairs, place)
        n += covered[c] > 0
    order = np.argsort(-covered, kind="mergesort")
    for r in range(n):
        orders[i, r] = order[r]
    n_order[i] = n


@numba.njit(cache=True, nogil=True)
def _within(i, state, tables, own, unit, shared, best, memory, orders, n_order):
    """Chains inside one concept a: a AND x AND y, a AND x AND NOT y, a AND NOT x AND NOT y,
    (x OR y) AND a."""
    pairs = tables[0]
    mine, place, own_pairs, _, _ = own
    n_concepts = len(pairs)
    a = mine[i]
    u_a = shared[a]
    o_a = pairs[a, a] - u_a
    most_own, most_removed = _most_inside(i, own_pairs), _most_outside(a, pairs, own_pairs, place)
    meets = 2 * most_own > state[0] * state[2]
    removes = u_a - state[0] * o_a + 2 * state[0] * most_removed > state[0] * state[2] - SLACK
    if not meets and not removes:
        return
    # one number type for concepts: try_triple is compiled again for each mixture of types
    _order_outside(i, a, pairs, own, orders, n_order, n_concepts)
    by_own = np.argsort(-own_pairs[i], kind="mergesort")
    for r in range(len(by_own) if meets else 0):
        x = mine[by_own[r]]
        if x == a:
            continue
        u_x = own_pairs[i, by_own[r]]
        if 2 * u_x <= state[0] * state[2]:
            break
        o_x = pairs[a, x] - u_x
        for s in range(r + 1, len(by_own)):
            y = mine[by_own[s]]
            if y == a:
                continue
            u_y = own_pairs[i, by_own[s]]
            t, need = state[0], state[0] * state[2]
            if u_x + u_y <= need:
                break
            o_y = pairs[a, y] - u_y
            o_xy = pairs[x, y] - own_pairs[by_own[r], by_own[s]]
            u_or = min(u_x + u_y, u_a)
            o_or = o_x + o_y - min(o_x, o_y, o_xy)
            u_and = min(u_x, u_y, own_pairs[by_own[r], by_own[s]])
            o_and = max(0, o_x + o_y - o_a)
            if u_or - t * o_or > need - SLACK or u_and - t * o_and > need - SLACK:
                try_triple(a, x, y, state, tables, own, unit, shared, best, memory)
        # a AND x AND NOT y: y can only remove what lies outside
        for s in range(n_order[i]):
            y = np.int64(orders[i, s])
            t, need = state[0], state[0] * state[2]
            if u_x <= need:
                break
            covered = outside(a, y, pairs, own_pairs, place)
            if u_x - t * o_x + t * covered <= need - SLACK:
                break
            covered = min(covered, o_x, outside(x, y, pairs, own_pairs, place))
            j = place[y]
            u_y = own_pairs[i, j] if j >= 0 else 0
            u_xy = own_pairs[by_own[r], j] if j >= 0 else 0
            lost = max(0, u_x + u_y - u_a, u_x + u_xy - shared[x])
            if y != x and u_x - lost - t * (o_x - covered) > need - SLACK:
                try_triple(a, x, y, state, tables, own, unit, shared, best, memory)
    for r in range(n_order[i]):
        x = np.int64(orders[i, r])
        o_x = outside(a, x, pairs, own_pairs, place)
        u_x = own_pairs[i, place[x]] if place[x] >= 0 else 0
        if u_a - state[0] * o_a + 2 * state[0] * o_x <= state[0] * state[2] - SLACK:
            break
        for s in range(r + 1, n_order[i]):
            y = np.int64(orders[i, s])
            t, need = state[0], state[0] * state[2]
            o_y = outside(a, y, pairs, own_pairs, place)
            if u_a - t * o_a + t * (o_x + o_y) - u_x <= need - SLACK:
                break
            u_y = own_pairs[i, place[y]] if place[y] >= 0 else 0
            both = max(0, o_x + o_y - o_a)
            gone = max(u_x, u_y)
            if u_a - gone - t * (o_a - o_x - o_y + both) > need - SLACK:
                try_triple(a, x, y, state, tables, own, unit, shared, best, memory)


@numba.njit(cache=True, nogil=True)
def _removals(i, j, pair_value, state, tables, own, unit, shared, best, memory, orders, n_order):
    """(a OR b) AND NOT c and (a AND NOT c) OR b: c removes what lies outside."""
    pairs = tables[0]
    mine, place, own_pairs, _, _ = own
    a, b = mine[i], mine[j]
    _order_outside(i, a, pairs, own, orders, n_order, len(pairs))
    for r in range(n_order[i]):
        c = np.int64(orders[i, r])
        t, need = state[0], state[0] * state[2]
        o_ac = outside(a, c, pairs, own_pairs, place)
        if pair_value + 2 * t * o_ac <= need - SLACK:
            break
        if c == b:
            continue
        o_bc = outside(b, c, pairs, own_pairs, place)
        k = place[c]
        u_ac = own_pairs[i, k] if k >= 0 else 0
        u_bc = own_pairs[j, k] if k >= 0 else 0
        everywhere = t * min(o_ac + o_bc, pairs[c, c] - shared[c]) - max(u_ac, u_bc)
        o_a_only = pairs[a, a] - shared[a] - (pairs[a, b] - own_pairs[i, j])
        from_a = t * min(o_ac, o_a_only) - max(0, u_ac - min(own_pairs[i, j], u_bc))
        if pair_value + max(everywhere, from_a) > need - SLACK:
            try_triple(a, b, c, state, tables, own, unit, shared, best, memory)


@numba.njit(cache=True, nogil=True)
def _unions(state, tables, own, unit, shared, best, memory, orders, n_order):
    """Chains that begin with or come to an OR of concepts that the unit meets."""
    pairs = tables[0]
    mine, place, own_pairs, _, _ = own
    k = len(mine)
    most_removed = np.empty(k, np.int64)
    for i in range(k):
        most_removed[i] = -1
    for i in range(k):
        a = mine[i]
        u_a, o_a = shared[a], pairs[a, a] - shared[a]
        if 3 * u_a <= state[0] * state[2]:
            break
        for j in range(i + 1, k):
            b = mine[j]
            t, need = state[0], state[0] * state[2]
            if u_a + 2 * shared[b] <= need:
                break
            u_or = u_a + shared[b] - own_pairs[i, j]
            o_or = o_a + pairs[b, b] - shared[b] - (pairs[a, b] - own_pairs[i, j])
            value = u_or - t * o_or
            for m in range(j + 1, k):  # a OR b OR c, c meets the unit least
                c = mine[m]
                t, need = state[0], state[0] * state[2]
                if value + shared[c] <= need - SLACK:
                    break
                u_ac, u_bc = own_pairs[i, m], own_pairs[j, m]
                o_more = pairs[c, c] - shared[c] - (pairs[a, c] - u_ac) - (pairs[b, c] - u_bc)
                more = shared[c] - max(u_ac, u_bc) - t * max(0, o_more)
                if value + more > need - SLACK:
                    try_triple(a, b, c, state, tables, own, unit, shared, best, memory)
            if u_or <= state[0] * state[2]:
                continue
            for side in range(2):
                x = i if side == 0 else j
                if most_removed[x] < 0:
                    most_removed[x] = _most_outside(mine[x], pairs, own_pairs, place)
            removed = most_removed[i] + most_removed[j]
            if u_or - t * o_or + t * removed > need - SLACK:
                value = u_or - t * o_or
                _removals(
                    i, j, value, state, tables, own, unit, shared, best, memory, orders, n_order
                )
                _removals(
                    j, i, value, state, tables, own, unit, shared, best, memory, orders, n_order
                )


@numba.njit(cache=True, nogil=True)
def _most_outside(a, pairs, own_pairs, place):
    most = 0
    for c in range(len(pairs)):
        if c != a:
            most = max(most, outside(a, c, pairs, own_pairs, place))
    return most


@numba.njit(cache=True, nogil=True)
def _most_inside(i, own_pairs):
    most = 0
    for j in range(len(own_pairs)):
        if j != i:
            most = max(most, own_pairs[i, j])
    return most


@numba.njit(cache=True, nogil=True)
def _meets_and_union(state, tables, own, unit, shared, best, memory):
    """(a AND b) OR c."""
    pairs = tables[0]
    mine, _, own_pairs, _, _ = own
    k = len(mine)
    value = np.empty(k)
    for i in range(k):
        value[i] = shared[mine[i]] - state[0] * (pairs[mine[i], mine[i]] - shared[mine[i]])
    order = np.argsort(-value, kind="mergesort")
    for i in range(k):
        if shared[mine[i]] + value[order[0]] <= state[0] * state[2] - SLACK:
            break  # concepts come by how much they meet the unit
        for j in range(i + 1, k):
            meet = own_pairs[i, j]
            if meet + value[order[0]] <= state[0] * state[2] - SLACK:
                continue
            a, b = mine[i], mine[j]
            o_ab = pairs[a, b] - meet
            for r in range(k):
                t, need = state[0], state[0] * state[2]
                m = order[r]
                if meet + value[m] <= need - SLACK:
                    break
                if m in (i, j):
                    continue
                c = mine[m]
                u_ac, u_bc = own_pairs[i, m], own_pairs[j, m]
                more = min(meet, shared[a] - u_ac, shared[b] - u_bc)
                covered = min(pairs[a, c] - u_ac, pairs[b, c] - u_bc)
                now = shared[c] - t * (pairs[c, c] - shared[c])
                if now + more - t * max(0, o_ab - covered) > need - SLACK:
                    try_triple(a, b, c, state, tables, own, unit, shared, best, memory)


@numba.njit(cache=True, nogil=True)
def best_of_three(tables, unit, shared, state, lengths, precision, best):
    """Improve on an overlap as far as formulas of up to ``lengths`` concepts can.

    ``tables`` are pair counts, and by their names (the labels of the atoms that follow) where the
    concepts of these are; ``unit`` has atoms, counts and labels of its own, numbered like pairs.
    ``best`` gets length, size, shared pixels, then concept, operator, concept, operator, concept;
    its length stays 0 where nothing beats that overlap. ``state`` has it, how many triples were
    counted, and the unit's pixels; three concepts must be better by more than ``precision``.
    Returns how many triples were counted.
    """
    pairs = tables[0]
    n_concepts = len(pairs)
    own = unit_tables(unit, n_concepts, shared)
    mine = own[0]
    for c in mine:
        v = overlap(shared[c], pairs[c, c], state[2])
        if v > state[0]:
            state[0] = v
            best[0], best[1], best[2], best[3] = 1, pairs[c, c], shared[c], c
    if lengths >= 2:
        _pairs_of_two(state, pairs, own, shared, best, n_concepts)
    if lengths >= 3:
        state[0] += precision
        memory = np.full(MEMORY, -1, np.int64)
        orders = np.empty((len(mine), n_concepts), np.int32)
        n_order = np.full(len(mine), -1, np.int64)
        for i in range(len(mine)):
            if shared[mine[i]] <= state[0] * state[2]:
                break
            _within(i, state, tables, own, unit, shared, best, memory, orders, n_order)
        _unions(state, tables, own, unit, shared, best, memory, orders, n_order)
        _meets_and_union(state, tables, own, unit, shared, best, memory)
    return int(state[1])
