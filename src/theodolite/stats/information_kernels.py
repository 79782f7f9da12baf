"""Compiled loops of the nearest-neighbour estimators of mutual information.

Where there are columns or pairs to share out, callers do so with threads: a parallel loop inside
takes as long to compile as what it calls, once more.
"""

import numba
import numpy as np

STRIPS = 0.5  # strips per square root of the samples: the fastest seen


@numba.njit(cache=True, nogil=True)
def bucket_tables(ordered, tables, lowest, scale):
    """A table for each ordered column; see below."""
    for c in range(ordered.shape[0]):
        lowest[c], scale[c] = _fill_table(ordered[c], tables[c])


@numba.njit(cache=True, nogil=True)
def _table(values):
    """Where in ordered values each of many equal steps begins; the lowest value; steps per unit."""
    table = np.empty(4 * values.size + 2, np.int32)
    low, scale = _fill_table(values, table)
    return table, low, scale


@numba.njit(cache=True, nogil=True)
def _fill_table(values, table):
    n_buckets = 4 * values.size
    low, width = values[0], values[-1] - values[0]
    scale = n_buckets / width if width * 1e300 > n_buckets else 0.0
    at = 0
    for b in range(n_buckets + 2):
        while at < values.size and _bucket(values[at], low, scale, n_buckets) < b:
            at += 1
        table[b] = at
    return low, scale


@numba.njit(cache=True, nogil=True)
def _bucket(value, low, scale, n_buckets):
    return int(min(max((value - low) * scale, 0.0), float(n_buckets)))


@numba.njit(cache=True, nogil=True)
def _within(ordered, own, reach, table, low, scale):
    """How many values lie within reach of the one at position ``own``, itself included.

    The table says about where to look. What counts is the difference compared with the reach,
    never ``value ± reach``, which rounds differently.
    """
    n = ordered.size
    n_buckets = table.size - 2
    value = ordered[own]
    last = max(own, table[_bucket(value + reach, low, scale, n_buckets)] - 1)
    while last > own and ordered[last] - value > reach:
        last -= 1
    step = 1
    while last + step < n and ordered[last + step] - value <= reach:
        last += step
        step *= 2
    while step > 1:
        step //= 2
        if last + step < n and ordered[last + step] - value <= reach:
            last += step
    first = min(own, table[_bucket(value - reach, low, scale, n_buckets) + 1])
    while first < own and value - ordered[first] > reach:
        first += 1
    step = 1
    while first - step >= 0 and value - ordered[first - step] <= reach:
        first -= step
        step *= 2
    while step > 1:
        step //= 2
        if first - step >= 0 and value - ordered[first - step] <= reach:
            first -= step
    return last - first + 1


@numba.njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _one_pair(x, y, x_column, y_column, y_order, k, psi, out):
    """The pair's terms psi(n) + psi(k) - psi(n_x) - psi(n_y), one per sample.

    The plane is cut into strips of equally many samples along x; inside a strip samples lie in the
    order of y. A sample looks outward in y in its own strip, then in the strips beside it, as long
    as a strip is nearer in x than its k-th neighbour so far.
    """
    x_rank, x_sorted, x_table, x_low, x_scale = x_column
    y_rank, y_sorted, y_table, y_low, y_scale = y_column
    n = x.size
    n_strips = max(1, int(np.sqrt(n) * STRIPS))
    first = np.empty(n_strips + 1, np.int64)  # rank in x at which each strip begins
    strip_of = np.empty(n, np.int32)
    for s in range(n_strips + 1):
        first[s] = s * n // n_strips
    for s in range(n_strips):
        for at in range(first[s], first[s + 1]):  # assigned as a slice, it compiles 2 s longer
            strip_of[at] = s
    # a guard below and above each strip, infinitely far in y: no scan needs to know where it ends
    size = n + 2 * n_strips
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
    # the three smallest distances so far; with k below three the first are never beaten
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
            reach = np.nextafter(far, 0.0)
            i = who[p]
            # as int64: columns and labels then share what is compiled
            n_x = _within(x_sorted, np.int64(x_rank[i]), reach, x_table, x_low, x_scale)
            n_y = _within(y_sorted, np.int64(y_rank[i]), reach, y_table, y_low, y_scale)
            out[i] = psi[n] + psi[k] - psi[n_x] - psi[n_y]


@numba.njit(cache=True, nogil=True)
def _outward(up, down, sx, sy, px, py, b1, b2, far):
    """Look through a strip upward and downward in y while that alone is nearer than the third."""
    # without branches: which of the three a distance replaces cannot be foreseen
    while sy[up] - py < far:
        d = max(abs(sx[up] - px), sy[up] - py)
        second = max(b1, d)
        b1 = min(b1, d)
        third = max(b2, second)
        b2 = min(b2, second)
        far = min(far, third)
        up += 1
    while py - sy[down] < far:
        d = max(abs(sx[down] - px), py - sy[down])
        second = max(b1, d)
        b1 = min(b1, d)
        third = max(b2, second)
        b2 = min(b2, second)
        far = min(far, third)
        down -= 1
    return b1, b2, far


@numba.njit(cache=True, nogil=True)
def _insert(best, d, k):
    """Put a distance into the ordered list of the k smallest."""
    at = k - 1
    while at > 0 and best[at - 1] > d:
        best[at] = best[at - 1]
        at -= 1
    best[at] = d


@numba.njit(cache=True, nogil=True)
def ksg_pair_terms(columns, ordered, order, rank, tables, lowest, scale, pairs, k, psi, out):
    """psi(n) + psi(k) - psi(n_x) - psi(n_y) of every sample for each pair of columns."""
    for p in range(pairs.shape[0]):
        i, j = pairs[p, 0], pairs[p, 1]
        _one_pair(
            columns[i], columns[j],
            (rank[i], ordered[i], tables[i], lowest[i], scale[i]),
            (rank[j], ordered[j], tables[j], lowest[j], scale[j]),
            order[j], k, psi, out[p],
        )  # fmt: skip


@numba.njit(cache=True, nogil=True)
def cell_terms(truth, pairs, cells, out):
    """For each pair and sample the number that belongs to its combination of two truths."""
    for p in range(pairs.shape[0]):
        a, b = truth[pairs[p, 0]], truth[pairs[p, 1]]
        for i in range(a.size):
            out[p, i] = cells[p, 2 * a[i] + b[i]]


@numba.njit(cache=True, nogil=True)
def ross_column_terms(ordered, order, tables, lowest, scale, labels, counts, k, psi, out):
    """psi(k_i) - psi(N_y) - psi(m_i) of every sample for each column; NaN for a label of one.

    ``ordered`` and ``order`` hold the samples whose label is not alone, in the order of the column.
    """
    n_labels = counts.size
    n = ordered.shape[1]
    begin = np.zeros(n_labels + 1, np.int64)
    for label in range(n_labels):
        begin[label + 1] = begin[label] + counts[label]
    for c in range(ordered.shape[0]):
        fill = begin[:n_labels].copy()
        values = np.empty(n)
        place = np.empty(n, np.int64)
        for at in range(n):
            label = labels[order[c, at]]
            values[fill[label]] = ordered[c, at]
            place[fill[label]] = at
            fill[label] += 1
        for label in range(n_labels):
            first, last = begin[label], begin[label + 1]
            near = min(k, counts[label] - 1)
            for p in range(first, last):
                up, down, reach = p + 1, p - 1, 0.0
                for _ in range(near):
                    above = values[up] - values[p] if up < last else np.inf
                    below = values[p] - values[down] if down >= first else np.inf
                    if above <= below:
                        reach = above
                        up += 1
                    else:
                        reach = below
                        down -= 1
                m = _within(
                    ordered[c], place[p], np.nextafter(reach, 0.0), tables[c], lowest[c], scale[c]
                )
                i = order[c, place[p]]
                out[c, i] = psi[near] - psi[counts[label]] - psi[m]


@numba.njit(cache=True, nogil=True, parallel=True)
def ross_vector_terms(points, labels, counts, k, psi, out):
    """The same for points in space, by Euclidean distance: all distances, a row at a time."""
    n, d = points.shape
    for i in numba.prange(n):
        away = np.empty(n)
        near = min(k, counts[labels[i]] - 1)
        best = np.full(max(near, 1), np.inf)
        for j in range(n):
            s = 0.0
            for a in range(d):
                step = points[i, a] - points[j, a]
                s += step * step
            away[j] = np.sqrt(s)
            if j != i and labels[j] == labels[i] and away[j] < best[near - 1]:
                _insert(best, away[j], near)
        reach = np.nextafter(best[near - 1], 0.0)
        m = 0
        for j in range(n):
            if away[j] <= reach:
                m += 1
        out[i] = psi[near] - psi[counts[labels[i]]] - psi[m]


@numba.njit(cache=True, nogil=True, parallel=True)
def ksg_vector_terms(x, y, k, psi, out):
    """psi(n_x) + psi(n_y) of every sample for points in two spaces, by largest difference."""
    n = x.shape[0]
    for i in numba.prange(n):
        away_x, away_y = np.empty(n), np.empty(n)
        best = np.full(k, np.inf)
        for j in range(n):
            dx, dy = 0.0, 0.0
            for a in range(x.shape[1]):
                dx = max(dx, abs(x[i, a] - x[j, a]))
            for a in range(y.shape[1]):
                dy = max(dy, abs(y[i, a] - y[j, a]))
            away_x[j], away_y[j] = dx, dy
            if j != i and max(dx, dy) < best[k - 1]:
                _insert(best, max(dx, dy), k)
        reach = np.nextafter(best[k - 1], 0.0)
        n_x, n_y = 0, 0
        for j in range(n):
            if away_x[j] <= reach:
                n_x += 1
            if away_y[j] <= reach:
                n_y += 1
        out[i] = psi[n_x] + psi[n_y]


@numba.njit(cache=True, nogil=True, parallel=True)
def ross_vector_many_terms(points, labels, counts, k, psi, out):
    """The same for many labels at once: distances once, then each label among the nearest.

    Only where a label has too few of its own among the nearest are all samples looked at.
    """
    n, d = points.shape
    most = min(n - 1, 64)
    for i in numba.prange(n):
        away = np.empty(n)
        near_ones, n_near = np.empty(most, np.int64), 0  # in order; np.partition compiles for 14 s
        for j in range(n):
            s = 0.0
            for a in range(d):
                step = points[i, a] - points[j, a]
                s += step * step
            away[j] = np.sqrt(s)
            if j == i or (n_near == most and away[j] >= away[near_ones[most - 1]]):
                continue
            at = n_near if n_near < most else most - 1
            while at > 0 and away[near_ones[at - 1]] > away[j]:
                near_ones[at] = near_ones[at - 1]
                at -= 1
            near_ones[at] = j
            n_near = min(n_near + 1, most)
        for label in range(labels.shape[0]):
            own = labels[label, i]
            near = min(k, counts[label, own] - 1)
            matches, reach = 0, np.inf
            for at in range(n_near):
                if labels[label, near_ones[at]] == own:
                    matches += 1
                    if matches == near:
                        reach = away[near_ones[at]]
                        break
            m = 0
            if matches == near and reach > 0.0:  # of equal points there may be more
                reach = np.nextafter(reach, 0.0)
                m = 1
                for at in range(n_near):
                    if away[near_ones[at]] > reach:
                        break
                    m += 1
            else:
                best = np.full(near, np.inf)
                for j in range(n):
                    if j != i and labels[label, j] == own and away[j] < best[near - 1]:
                        _insert(best, away[j], near)
                reach = np.nextafter(best[near - 1], 0.0)
                for j in range(n):
                    if away[j] <= reach:
                        m += 1
            out[label, i] = psi[near] - psi[counts[label, own]] - psi[m]
