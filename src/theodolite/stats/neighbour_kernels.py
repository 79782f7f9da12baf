"""Compiled loops of neighbour estimates that count ties."""

import numba
import numpy as np

from theodolite.stats.information_kernels import STRIPS, _insert, _outward, _table, _within


@numba.njit(cache=True, nogil=True)
def _reached(begin, end, sx, sy, px, py, far):
    """How many samples of a strip lie within reach, its edge included."""
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if py - sy[middle] > far:
            low = middle + 1
        else:
            high = middle
    n = 0
    while low < end and sy[low] - py <= far:
        if abs(sx[low] - px) <= far:
            n += 1
        low += 1
    return n


@numba.njit(cache=True, nogil=True)
def _one_pair_with_ties(x, y, x_column, y_column, y_order, tied, k, psi, out):
    """The pair's terms, one per sample, of which there are more than k.

    As in ``information_kernels._one_pair`` the plane is cut into strips along x, inside of which
    samples lie in the order of y.
    """
    x_rank, x_sorted, x_table, x_low, x_scale = x_column
    y_rank, y_sorted, y_table, y_low, y_scale = y_column
    n = x.size
    n_strips = max(1, int(np.sqrt(n) * STRIPS))
    first = np.empty(n_strips + 1, np.int64)
    strip_of = np.empty(n, np.int32)
    for s in range(n_strips + 1):
        first[s] = s * n // n_strips
    for s in range(n_strips):
        for at in range(first[s], first[s + 1]):
            strip_of[at] = s
    size = n + 2 * n_strips  # a guard below and above each strip
    sx, sy, who = np.zeros(size), np.full(size, np.inf), np.empty(size, np.int32)
    fill = np.empty(n_strips, np.int64)
    for s in range(n_strips):
        fill[s] = first[s] + 2 * s + 1
        sy[fill[s] - 1] = -np.inf
    start = fill.copy()
    for at in range(n):
        i = y_order[at]
        s = strip_of[x_rank[i]]
        p = fill[s]
        sx[p], sy[p], who[p] = x[i], y[i], i
        fill[s] = p + 1
    pointer = np.empty(n_strips, np.int64)
    empty_1 = np.inf if k > 2 else -1.0
    empty_2 = np.inf if k > 1 else -1.0
    for s in range(n_strips):
        for t in range(n_strips):
            pointer[t] = start[t]
        for p in range(start[s], fill[s]):
            px, py = sx[p], sy[p]
            b1, b2, far = empty_1, empty_2, np.inf
            b1, b2, far = _outward(p + 1, p - 1, sx, sy, px, py, b1, b2, far)
            t = s + 1
            while t < n_strips and x_sorted[first[t]] - px < far:
                at = pointer[t]
                while sy[at] < py:
                    at += 1
                pointer[t] = at
                b1, b2, far = _outward(at, at - 1, sx, sy, px, py, b1, b2, far)
                t += 1
            t = s - 1
            while t >= 0 and px - x_sorted[first[t + 1] - 1] < far:
                at = pointer[t]
                while sy[at] < py:
                    at += 1
                pointer[t] = at
                b1, b2, far = _outward(at, at - 1, sx, sy, px, py, b1, b2, far)
                t -= 1
            near = k
            if tied:
                near = _reached(start[s], fill[s], sx, sy, px, py, far) - 1
                t = s + 1
                while t < n_strips and x_sorted[first[t]] - px <= far:
                    near += _reached(start[t], fill[t], sx, sy, px, py, far)
                    t += 1
                t = s - 1
                while t >= 0 and px - x_sorted[first[t + 1] - 1] <= far:
                    near += _reached(start[t], fill[t], sx, sy, px, py, far)
                    t -= 1
            reach = far if near > k or far == 0.0 else np.nextafter(far, 0.0)
            i = who[p]
            # both count the sample itself
            n_x = _within(x_sorted, np.int64(x_rank[i]), reach, x_table, x_low, x_scale)
            n_y = _within(y_sorted, np.int64(y_rank[i]), reach, y_table, y_low, y_scale)
            if far == 0.0:
                out[i] = psi[n] + psi[near + 1] - psi[n_x] - psi[n_y]
            elif near > k:
                out[i] = psi[n - 1] + psi[near] - psi[n_x - 1] - psi[n_y - 1]
            else:
                out[i] = psi[n] + psi[k] - psi[n_x] - psi[n_y]


@numba.njit(cache=True, nogil=True)
def stratified_pair_terms(columns, order, strata, n_strata, ties, pairs, k, psi, out):
    """The terms of each pair of columns with neighbours of the same strata only."""
    n = columns.shape[1]
    for p in range(pairs.shape[0]):
        i, j = pairs[p, 0], pairs[p, 1]
        group = np.empty(n, np.int64)
        counts = np.zeros(n_strata * n_strata, np.int64)
        for a in range(n):
            group[a] = strata[i, a] * n_strata + strata[j, a]
            counts[group[a]] += 1
        begin = np.zeros(n_strata * n_strata + 1, np.int64)
        for g in range(counts.size):
            begin[g + 1] = begin[g] + counts[g]
        # members of each group in the order of x, then renumbered inside the group
        fill = begin[:-1].copy()
        member = np.empty(n, np.int64)
        number = np.empty(n, np.int64)
        for at in range(n):
            who = order[i, at]
            g = group[who]
            member[fill[g]] = who
            number[who] = fill[g] - begin[g]
            fill[g] += 1
        fill = begin[:-1].copy()
        y_order = np.empty(n, np.int32)
        for at in range(n):
            who = order[j, at]
            g = group[who]
            y_order[fill[g]] = number[who]
            fill[g] += 1
        for g in range(counts.size):
            m = counts[g]
            if m <= k:
                continue
            people = member[begin[g] : begin[g + 1]]
            by_y = y_order[begin[g] : begin[g + 1]]
            x, y, y_sorted = np.empty(m), np.empty(m), np.empty(m)
            x_rank, y_rank = np.empty(m, np.int32), np.empty(m, np.int32)
            for at in range(m):
                x[at], y[at] = columns[i, people[at]], columns[j, people[at]]
                x_rank[at], y_rank[by_y[at]] = at, at
            for at in range(m):
                y_sorted[at] = y[by_y[at]]
            terms = np.empty(m)
            _one_pair_with_ties(
                x, y, (x_rank, x, *_table(x)), (y_rank, y_sorted, *_table(y_sorted)), by_y,
                ties[i] or ties[j], k, psi, terms,
            )  # fmt: skip
            for at in range(m):
                out[p, people[at]] = terms[at]


@numba.njit(cache=True, nogil=True, parallel=True)
def label_vector_terms(points, labels, counts, k, psi, out):
    """Of numbers and a label, for points in space: all distances, a row at a time."""
    n, d = points.shape
    for i in numba.prange(n):
        away = np.empty(n)
        best = np.full(k, np.inf)
        for j in range(n):
            s = 0.0
            for a in range(d):
                step = points[i, a] - points[j, a]
                s += step * step
            away[j] = np.sqrt(s)
            if j != i and labels[j] == labels[i] and away[j] < best[k - 1]:
                _insert(best, away[j], k)
        n_same = counts[labels[i]] - 1
        if n_same == 0:
            out[i] = np.nan
            continue
        near = min(k, n_same)
        reach = best[near - 1]
        within, same = -1, -1  # without the sample itself
        for j in range(n):
            if away[j] <= reach:
                within += 1
                same += labels[j] == labels[i]
        if reach == 0.0:
            out[i] = psi[n] + psi[same + 1] - psi[n_same + 1] - psi[within + 1]
        elif same > near:
            out[i] = psi[n - 1] + psi[same] - psi[n_same] - psi[within]
        else:
            out[i] = psi[n] + psi[near] - psi[n_same + 1] - psi[within]
