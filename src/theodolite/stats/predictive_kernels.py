"""Compiled loops of predictive information: tables and a normal model, each cluster left out."""

import math

import numba
import numpy as np

# As in predictive_small; here too, because what is compiled is kept by this file alone.
LEVELS = 7  # tables of 2, 4, … 128 groups
PRIORS = (2.0, 8.0, 32.0)
EDGE = 1e-9  # sums of weights such as 1/3 must not move a row over an edge
LEAST_VARIANCE = 0.05
PAIR_LEVELS = 3  # of pairs: tables of 2, 4, 8 groups of each value
SHRUNK = (1.0, 9.0)  # by which many clusters without a correlation it is shrunk
MOST_CORRELATION = 0.995
MODELS = 1 + 3 * LEVELS + 1  # nothing, tables, the normal model
FEWEST_CLUSTERS, FEWEST_LABELS = 4, 2
FAR = 1e20  # products of ratios outside 1/FAR to FAR are turned into sums of logarithms
STEEPEST = 600.0  # largest exponent: nothing overflows, and no ratio is 0


@numba.njit(cache=True, nogil=True)
def column_terms(columns, order, strata, n_strata, labels, n_labels, clusters, single, terms):
    """Terms of each stratum of each column; NaN is left where there are too few of something.

    Rows lie cluster by cluster; ``single`` says that each is a cluster of its own. ``order`` is
    that of each column's values; rows that are equal may stand in any order.
    """
    n = len(labels)
    count, number = np.empty(n_labels, np.int64), np.empty(n_labels, np.int64)
    rows, at, sorted_rows = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    y, starts = np.empty(n, np.int64), np.empty(n + 1, np.int64)
    u, z, local = np.empty(n), np.empty(n), np.empty((3, n))
    for c in range(len(columns)):
        for s in range(n_strata):
            n_kept = _labels_kept(strata[c], s, labels, clusters, count, number)
            m, n_clusters, before = 0, 0, -1
            for i in range(n):
                at[i] = -1
                if strata[c, i] == s and number[labels[i]] >= 0:
                    if clusters[i] != before:
                        starts[n_clusters], before = m, clusters[i]
                        n_clusters += 1
                    rows[m], at[i], y[m] = i, m, number[labels[i]]
                    m += 1
            starts[n_clusters] = m
            if n_clusters < FEWEST_CLUSTERS or n_kept < FEWEST_LABELS:
                continue
            begin = 0
            for p in range(n):
                if at[order[c, p]] >= 0:
                    sorted_rows[begin] = order[c, p]
                    begin += 1
            own = starts[: n_clusters + 1]
            _ranks(columns[c], sorted_rows[:m], at, own, single, u[:m])
            edge = 1.0 / (4 * n_clusters)
            for i in range(m):
                z[i] = _quantile(min(max(u[i], edge), 1.0 - edge))
            if single:
                _single_terms(u[:m], z[:m], y[:m], n_kept, local[:, :m])
            else:
                _cluster_terms(u[:m], z[:m], y[:m], own, n_kept, local[:, :m])
            for t in range(3):
                for i in range(m):
                    terms[t, c, rows[i]] = local[t, i]


@numba.njit(cache=True, nogil=True)
def _labels_kept(strata, s, labels, clusters, count, number):
    """Numbers of the labels that at least two clusters of the stratum have; -1 for others."""
    count[:] = 0
    number[:] = -1  # until they are numbered: the last cluster that was counted
    for i in range(len(labels)):
        if strata[i] == s and number[labels[i]] != clusters[i]:
            number[labels[i]] = clusters[i]
            count[labels[i]] += 1
    n_kept = 0
    for k in range(len(count)):
        number[k] = n_kept if count[k] >= FEWEST_LABELS else -1
        n_kept += count[k] >= FEWEST_LABELS
    return n_kept


@numba.njit(cache=True, nogil=True)
def _ranks(values, sorted_rows, at, starts, single, u):
    """The share of the weight that lies below each value, equal ones counted half.

    Returns the largest weight that one value has.
    """
    n, n_clusters, largest = len(u), len(starts) - 1, 0.0
    weight = np.ones(n)
    if not single:
        for c in range(n_clusters):
            weight[starts[c] : starts[c + 1]] = 1.0 / (starts[c + 1] - starts[c])
    first, below = 0, 0.0
    while first < n:
        value, last, equal = values[sorted_rows[first]], first, 0.0
        while last < n and values[sorted_rows[last]] == value:
            equal += weight[at[sorted_rows[last]]]
            last += 1
        for p in range(first, last):
            u[at[sorted_rows[p]]] = (below + equal / 2) / n_clusters
        first = last
        below += equal
        largest = max(largest, equal)
    return largest


@numba.njit(cache=True, nogil=True)
def _quantile(p):
    """Of the standard normal, for p from 1e-11 to 1 - 1e-11 (Wichura 1988, algorithm AS 241)."""
    q = p - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        above = 2509.0809287301226727 * r + 33430.575583588128105
        above = (above * r + 67265.770927008700853) * r + 45921.953931549871457
        above = (above * r + 13731.693765509461125) * r + 1971.5909503065514427
        above = (above * r + 133.14166789178437745) * r + 3.387132872796366608
        below = 5226.495278852854561 * r + 28729.085735721942674
        below = (below * r + 39307.89580009271061) * r + 21213.794301586595867
        below = (below * r + 5394.1960214247511077) * r + 687.1870074920579083
        return q * above / ((below * r + 42.313330701600911252) * r + 1.0)
    r = math.sqrt(-math.log(min(p, 1.0 - p))) - 1.6
    above = 7.7454501427834140764e-4 * r + 0.0227238449892691845833
    above = (above * r + 0.24178072517745061177) * r + 1.27045825245236838258
    above = (above * r + 3.64784832476320460504) * r + 5.7694972214606914055
    above = (above * r + 4.6303378461565452959) * r + 1.42343711074968357734
    below = 1.05075007164441684324e-9 * r + 5.475938084995344946e-4
    below = (below * r + 0.0151986665636164571966) * r + 0.14810397642748007459
    below = (below * r + 0.68976733498510000455) * r + 1.6763848301838038494
    away = above / ((below * r + 2.05319162663775882187) * r + 1.0)
    return away if q > 0 else -away


@numba.njit(cache=True, nogil=True)
def _cluster_terms(u, z, y, starts, n_labels, terms):
    """Terms of one stratum: u the rows' ranks, z these as normal values, y labels."""
    out, inside, surprise = terms
    n, n_clusters = len(u), len(starts) - 1
    weight = np.empty(n)
    for c in range(n_clusters):
        weight[starts[c] : starts[c + 1]] = 1.0 / (starts[c + 1] - starts[c])
    by_label = np.zeros(n_labels)
    for i in range(n):
        by_label[y[i]] += weight[i]
    own = np.zeros(n_labels)
    base_out, base_in = np.empty(n), np.empty(n)
    for c in range(n_clusters):
        for i in range(starts[c], starts[c + 1]):
            own[y[i]] += weight[i]
        for i in range(starts[c], starts[c + 1]):
            base_out[i] = (by_label[y[i]] - own[y[i]] + 0.5) / (n_clusters - 1 + n_labels / 2)
            base_in[i] = (by_label[y[i]] + 0.5) / (n_clusters + n_labels / 2)
        for i in range(starts[c], starts[c + 1]):
            own[y[i]] = 0.0
    ratio_out, ratio_in = np.ones((n, MODELS)), np.ones((n, MODELS))
    m, groups = 1, 1
    bins = np.empty(n, np.int64)
    level = np.int64(2)  # a bare 2 is a type of its own at first: what gets it compiles twice
    for _ in range(LEVELS):
        if level > 2 and level > n_clusters / 4:
            break
        used = np.zeros(level, np.bool_)
        for i in range(n):
            bins[i] = min(int(level * u[i] + EDGE), level - 1)
            used[bins[i]] = True
        if used.sum() > groups:  # else the same groups as before
            groups = used.sum()
            _table(
                bins,
                y,
                starts,
                weight,
                level,
                n_labels,
                base_out,
                base_in,
                ratio_out[:, m : m + 3],
                ratio_in[:, m : m + 3],
            )
            m += 3
        level *= 2
    if m > 1:
        _normal(
            z,
            y,
            starts,
            weight,
            by_label,
            base_out,
            base_in,
            ratio_out[:, m],
            ratio_in[:, m],
        )
        m += 1
    _mixture(ratio_out, ratio_in, m, starts, weight, out, inside)
    for i in range(n):
        surprise[i] = -math.log(base_out[i])


@numba.njit(cache=True, nogil=True)
def _table(bins, y, starts, weight, level, n_labels, base_out, base_in, ratio_out, ratio_in):
    in_bin, in_cell = np.zeros(level), np.zeros(level * n_labels)
    for i in range(len(bins)):
        in_bin[bins[i]] += weight[i]
        in_cell[bins[i] * n_labels + y[i]] += weight[i]
    own_bin, own_cell = np.zeros(level), np.zeros(level * n_labels)
    for c in range(len(starts) - 1):
        for i in range(starts[c], starts[c + 1]):
            own_bin[bins[i]] += weight[i]
            own_cell[bins[i] * n_labels + y[i]] += weight[i]
        for i in range(starts[c], starts[c + 1]):
            b, cell = bins[i], bins[i] * n_labels + y[i]
            left_bin, left_cell = in_bin[b] - own_bin[b], in_cell[cell] - own_cell[cell]
            for a in range(3):
                prior = PRIORS[a]
                ratio_out[i, a] = (left_cell + prior * base_out[i]) / (
                    (left_bin + prior) * base_out[i]
                )
                ratio_in[i, a] = (in_cell[cell] + prior * base_in[i]) / (
                    (in_bin[b] + prior) * base_in[i]
                )
        for i in range(starts[c], starts[c + 1]):
            own_bin[bins[i]] = 0.0
            own_cell[bins[i] * n_labels + y[i]] = 0.0


@numba.njit(cache=True, nogil=True)
def _normal(z, y, starts, weight, by_label, base_out, base_in, ratio_out, ratio_in):
    n_clusters, n_labels = len(starts) - 1, len(by_label)
    sums, squares = np.zeros(n_labels), 0.0
    for i in range(len(z)):
        sums[y[i]] += weight[i] * z[i]
        squares += weight[i] * z[i] * z[i]
    spread = 0.0
    all_means, all_counts = np.empty(n_labels), by_label + 0.5
    for k in range(n_labels):
        all_means[k] = sums[k] / (by_label[k] + 1.0)
        spread += sums[k] * all_means[k]
    whole = 0.5 / max((squares - spread) / max(n_clusters - 1.0, 1.0), LEAST_VARIANCE)
    means, counts = all_means.copy(), all_counts.copy()
    own_weight, own_sum = np.zeros(n_labels), np.zeros(n_labels)
    for c in range(n_clusters):
        first, last = starts[c], starts[c + 1]
        left, lost = squares, spread
        for i in range(first, last):
            own_weight[y[i]] += weight[i]
            own_sum[y[i]] += weight[i] * z[i]
            left -= weight[i] * z[i] * z[i]
        for i in range(first, last):
            k = y[i]
            if own_weight[k] > 0:
                total = sums[k] - own_sum[k]
                counts[k] = by_label[k] - own_weight[k] + 0.5
                means[k] = total / (counts[k] + 0.5)
                lost += total * means[k] - sums[k] * all_means[k]
                own_weight[k], own_sum[k] = 0.0, 0.0
        scale = 0.5 / max((left - lost) / max(n_clusters - 2.0, 1.0), LEAST_VARIANCE)
        for i in range(first, last):
            ratio_out[i] = _likelihood(z[i], y[i], means, counts, scale) / base_out[i]
            ratio_in[i] = _likelihood(z[i], y[i], all_means, all_counts, whole) / base_in[i]
        for i in range(first, last):
            means[y[i]], counts[y[i]] = all_means[y[i]], all_counts[y[i]]


@numba.njit(cache=True, nogil=True)
def _likelihood(z, label, means, counts, scale):
    """The probability of the label, each label's values being normal around its mean."""
    ours = (z - means[label]) * (z - means[label])
    total = counts[label]
    for k in range(len(means)):
        if k != label:
            away = z - means[k]
            total += counts[k] * math.exp(min((ours - away * away) * scale, STEEPEST))
    return counts[label] / total


@numba.njit(cache=True, nogil=True)
def _mixture(ratio_out, ratio_in, n_models, starts, weight, out, inside):
    n_clusters = len(starts) - 1
    gains, product = np.zeros((n_clusters, n_models)), np.empty(n_models)
    total = np.zeros(n_models)
    for c in range(n_clusters):
        product[:] = 1.0
        for i in range(starts[c], starts[c + 1]):
            for m in range(n_models):
                product[m] *= ratio_out[i, m]
                if product[m] > FAR or product[m] < 1 / FAR:
                    gains[c, m] += math.log(product[m])
                    product[m] = 1.0
        for m in range(n_models):
            gains[c, m] = (gains[c, m] + math.log(product[m])) * weight[starts[c]]
            total[m] += gains[c, m]
    for c in range(n_clusters):
        most = -1e300
        for m in range(n_models):
            gains[c, m] = total[m] - gains[c, m]
            most = max(most, gains[c, m])
        share = 0.0
        for m in range(n_models):
            gains[c, m] = math.exp(gains[c, m] - most)
            share += gains[c, m]
        for i in range(starts[c], starts[c + 1]):
            a, b = 0.0, 0.0
            for m in range(n_models):
                a += gains[c, m] * ratio_out[i, m]
                b += gains[c, m] * ratio_in[i, m]
            out[i] = math.log(a / share)
            inside[i] = math.log(b / share)


@numba.njit(cache=True, nogil=True)
def _single_terms(u, z, y, n_labels, terms):
    """The same where every row is a cluster of its own: tables are worked out cell by cell."""
    out, inside, surprise = terms
    n = len(u)
    finest = 2
    while finest < 2**LEVELS and 2 * finest <= n / 4:
        finest *= 2
    by_label = np.zeros(n_labels)
    cells, counts = np.empty(n, np.int64), np.zeros((2 * finest, n_labels))
    for i in range(n):
        cells[i] = finest + min(int(finest * u[i] + EDGE), finest - 1)
        counts[cells[i], y[i]] += 1.0
        by_label[y[i]] += 1.0
    base_out, base_in, left_open = np.empty(n_labels), np.empty(n_labels), np.empty(n_labels)
    for k in range(n_labels):
        base_out[k] = (by_label[k] - 0.5) / (n - 1 + n_labels / 2)
        base_in[k] = (by_label[k] + 0.5) / (n + n_labels / 2)
        left_open[k] = -math.log(base_out[k])
    in_bin, tables, gains = _table_gains(counts, finest, base_out)
    ratio_out, ratio_in = np.ones(n), np.ones(n)
    normal_gain = 0.0
    if tables.any():
        normal_gain = _single_normal(z, y, by_label, base_out, base_in, ratio_out, ratio_in)
    most = max(0.0, normal_gain)
    for t in range(LEVELS):
        if tables[t]:
            for a in range(3):
                most = max(most, gains[t, a])
    nothing = math.exp(-most)
    normal = math.exp(normal_gain - most) if tables.any() else 0.0
    total = nothing + normal
    for t in range(LEVELS):
        for a in range(3):
            gains[t, a] = math.exp(gains[t, a] - most) if tables[t] else 0.0
            total += gains[t, a]
    below, above = _cell_sums(counts, in_bin, finest, tables, gains, base_out, base_in)
    for i in range(n):
        b, k = cells[i], y[i]
        d = below[b, k] + nothing + normal / ratio_out[i]
        out[i] = math.log(total / d)
        inside[i] = math.log((above[b, k] + nothing + normal * ratio_in[i] / ratio_out[i]) / d)
        surprise[i] = left_open[k]


@numba.njit(cache=True, nogil=True)
def _table_gains(counts, finest, base_out):
    """Rows in each bin, which tables group rows anew, and what each gains.

    Bins of the table of 2 are numbers 2 and 3 of ``counts``, those of the table of 4 numbers 4 to
    7: bin b lies in bin b // 2 of the next coarser table. Only the finest is filled before.
    """
    for b in range(2 * finest - 1, 3, -1):
        counts[b // 2] += counts[b]
    in_bin = np.zeros(2 * finest)
    tables, gains = np.zeros(LEVELS, np.bool_), np.zeros((LEVELS, 3))
    groups, level, t = 1, 2, 0
    while level <= finest:
        used = 0
        for b in range(level, 2 * level):
            in_bin[b] = counts[b].sum()
            used += in_bin[b] > 0
        if used > groups:
            groups, tables[t] = used, True
            for a in range(3):
                gains[t, a] = _table_gain(counts[level : 2 * level], in_bin[level : 2 * level],
                                          PRIORS[a], base_out)  # fmt: skip
        level *= 2
        t += 1
    return in_bin, tables, gains


@numba.njit(cache=True, nogil=True)
def _table_gain(counts, in_bin, prior, base_out):
    gain, product = 0.0, 1.0
    for b in range(len(counts)):
        scale = 1.0 / (in_bin[b] - 1 + prior) if in_bin[b] > 0 else 0.0
        for k in range(len(base_out)):
            rows = counts[b, k]
            if rows > 0:
                ratio = ((rows - 1) / base_out[k] + prior) * scale
                if rows > 8:
                    gain += rows * math.log(ratio)
                else:
                    for _ in range(int(rows)):
                        product *= ratio
                    if product > FAR or product < 1 / FAR:
                        gain += math.log(product)
                        product = 1.0
    return gain + math.log(product)


@numba.njit(cache=True, nogil=True)
def _cell_sums(counts, in_bin, finest, tables, shares, base_out, base_in):
    """Of each cell the sums over tables of share / ratio, and of share * ratio inside / ratio."""
    below, above = np.zeros(counts.shape), np.zeros(counts.shape)
    level, t = 2, 0
    while level <= finest:
        for b in range(level, 2 * level):
            if in_bin[b] == 0:
                continue
            for k in range(counts.shape[1]):
                rows = counts[b, k]
                if rows == 0:
                    continue
                below[b, k], above[b, k] = below[b // 2, k], above[b // 2, k]
                if tables[t]:
                    for a in range(3):
                        prior = PRIORS[a]
                        left = (
                            shares[t, a]
                            * (in_bin[b] - 1 + prior)
                            / ((rows - 1) / base_out[k] + prior)
                        )
                        below[b, k] += left
                        above[b, k] += left * (rows / base_in[k] + prior) / (in_bin[b] + prior)
        level *= 2
        t += 1
    return below, above


@numba.njit(cache=True, nogil=True)
def _single_normal(z, y, by_label, base_out, base_in, ratio_out, ratio_in):
    n, n_labels = len(z), len(by_label)
    sums, squares = np.zeros(n_labels), 0.0
    for i in range(n):
        sums[y[i]] += z[i]
        squares += z[i] * z[i]
    means, spread = np.empty(n_labels), 0.0
    for k in range(n_labels):
        means[k] = sums[k] / (by_label[k] + 1.0)
        spread += sums[k] * means[k]
    scale = 0.5 / max((squares - spread) / max(n - 1.0, 1.0), LEAST_VARIANCE)
    gain, product = 0.0, 1.0
    for i in range(n):
        own = y[i]
        count, total = by_label[own] - 1.0, sums[own] - z[i]
        mean = total / (count + 1.0)
        lost = spread - sums[own] * means[own] + total * mean
        left = squares - z[i] * z[i]
        own_scale = 0.5 / max((left - lost) / max(n - 2.0, 1.0), LEAST_VARIANCE)
        away, own_away = z[i] - means[own], z[i] - mean
        ours, theirs = away * away, own_away * own_away
        whole, rest = 0.0, 0.0
        moved = (theirs - ours) * own_scale
        shift, near = math.exp(min(moved, STEEPEST)), abs(moved) < 300.0
        for k in range(n_labels):
            if k != own:
                far = ours - (z[i] - means[k]) * (z[i] - means[k])
                weight = by_label[k] + 0.5
                likely = math.exp(min(far * scale, STEEPEST))
                whole += weight * likely
                x = far * (own_scale - scale)
                if near and abs(x) < 0.03 and far * scale < 300.0:  # exp(x) without a call
                    y7 = 1 + x / 6 * (1 + x / 7)
                    more = 1 + x * (1 + x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5 * y7))))
                    rest += weight * likely * more * shift
                else:
                    rest += weight * math.exp(min((far + theirs - ours) * own_scale, STEEPEST))
        ratio_out[i] = (count + 0.5) / (count + 0.5 + rest) / base_out[own]
        ratio_in[i] = (by_label[own] + 0.5) / (by_label[own] + 0.5 + whole) / base_in[own]
        product *= ratio_out[i]
        if product > FAR or product < 1 / FAR:
            gain += math.log(product)
            product = 1.0
    return gain + math.log(product)


@numba.njit(cache=True, nogil=True)
def pair_terms(columns, order, strata, n_strata, pairs, clusters, single, out, inside):
    """Terms of what two columns tell about each other, in strata of both; as ``column_terms``."""
    n, n_groups = len(clusters), n_strata * n_strata
    group, rows, at = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    begin, end = np.empty(n_groups + 1, np.int64), np.empty(n_groups, np.int64)
    before, n_clusters = np.empty(n_groups, np.int64), np.empty(n_groups, np.int64)
    starts, sorted_rows = np.empty(n + n_groups, np.int64), np.empty((2, n), np.int64)
    ranks, normal, terms = np.empty((2, n)), np.empty((2, n)), np.empty((2, n))
    for pair in range(len(pairs)):
        i, j = pairs[pair]
        begin[:], before[:], n_clusters[:] = 0, -1, 0
        for row in range(n):
            a, b = strata[i, row], strata[j, row]
            group[row] = a * n_strata + b if a >= 0 and b >= 0 else -1
            if group[row] >= 0:
                begin[group[row] + 1] += 1
        for g in range(n_groups):
            begin[g + 1] += begin[g]
            end[g] = begin[g]
        for row in range(n):
            g = group[row]
            if g >= 0:
                if clusters[row] != before[g]:
                    starts[begin[g] + g + n_clusters[g]] = end[g] - begin[g]
                    before[g] = clusters[row]
                    n_clusters[g] += 1
                rows[end[g]], at[row] = row, end[g] - begin[g]
                end[g] += 1
        for side in range(2):
            end[:] = begin[:n_groups]
            for p in range(n):
                row = order[pairs[pair, side], p]
                g = group[row]
                if g >= 0:
                    sorted_rows[side, end[g]] = row
                    end[g] += 1
        for g in range(n_groups):
            first, last, groups = begin[g], begin[g + 1], n_clusters[g]
            if groups < FEWEST_CLUSTERS:
                continue
            own, smooth = starts[first + g : first + g + groups + 1], np.bool_(True)
            own[groups] = last - first
            for side in range(2):
                u = ranks[side, first:last]
                column = columns[pairs[pair, side]]
                most = _ranks(column, sorted_rows[side, first:last], at, own, single, u)
                smooth = smooth and most <= groups / 2 + EDGE
                _scores(u, own, normal[side, first:last])
            parts = ranks[:, first:last], normal[:, first:last], terms[:, first:last]
            if single:
                _single_pair(parts[0], parts[1], smooth, parts[2])
            else:
                _cluster_pair(parts[0], parts[1], own, smooth, parts[2])
            for k in range(first, last):
                out[pair, rows[k]], inside[pair, rows[k]] = terms[0, k], terms[1, k]


@numba.njit(cache=True, nogil=True)
def _scores(u, starts, z):
    """Normal scores of ranks, divided by their root mean square, clusters counted once."""
    n_clusters, squares = len(starts) - 1, 0.0
    edge = 1.0 / (4 * n_clusters)
    for c in range(n_clusters):
        weight = 1.0 / (starts[c + 1] - starts[c])
        for i in range(starts[c], starts[c + 1]):
            z[i] = _quantile(min(max(u[i], edge), 1.0 - edge))
            squares += weight * z[i] * z[i]
    scale = math.sqrt(n_clusters / squares) if squares > 0 else 0.0
    for i in range(len(z)):
        z[i] *= scale


@numba.njit(cache=True, nogil=True)
def _correlation(total, n):
    return min(max(total / n, -MOST_CORRELATION), MOST_CORRELATION)


@numba.njit(cache=True, nogil=True)
def _normal_ratio(r, x, y):
    """Of jointly normal x and y, density over that of unrelated ones."""
    rest = 1.0 - r * r
    away = (r * r * (x * x + y * y) - 2 * r * x * y) / (2 * rest)
    return math.exp(max(-away, -STEEPEST)) / math.sqrt(rest)


@numba.njit(cache=True, nogil=True)
def _pair_bins(ranks, level, groups, bins):
    """Cells of a table of both values; whether it groups rows anew."""
    used = np.zeros((2, level), np.bool_)
    n = ranks.shape[1]
    for i in range(n):
        p = min(int(level * ranks[0, i] + EDGE), level - 1)
        q = min(int(level * ranks[1, i] + EDGE), level - 1)
        used[0, p], used[1, q], bins[i] = True, True, p * level + q
    first, second = used[0].sum(), used[1].sum()
    if first < 2 or second < 2 or (first == groups[0] and second == groups[1]):
        return False
    groups[0], groups[1] = first, second
    return True


@numba.njit(cache=True, nogil=True)
def _cluster_pair(ranks, normal, starts, smooth, terms):
    n, n_clusters = ranks.shape[1], len(starts) - 1
    weight = np.empty(n)
    for c in range(n_clusters):
        weight[starts[c] : starts[c + 1]] = 1.0 / (starts[c + 1] - starts[c])
    n_models = 1 + 3 * PAIR_LEVELS + len(SHRUNK)
    ratio_out, ratio_in = np.ones((n, n_models)), np.ones((n, n_models))
    m, level, bins, groups = 1, np.int64(2), np.empty(n, np.int64), np.ones(2, np.int64)
    for _ in range(PAIR_LEVELS):
        if level > 2 and level * level > n_clusters / 2:
            break
        if _pair_bins(ranks, level, groups, bins):
            _pair_table(bins, level, starts, weight, ratio_out[:, m:], ratio_in[:, m:])
            m += 3
        level *= 2
    if smooth:
        total = (weight * normal[0] * normal[1]).sum()
        for c in range(n_clusters):
            left = total
            for i in range(starts[c], starts[c + 1]):
                left -= weight[i] * normal[0, i] * normal[1, i]
            for a in range(len(SHRUNK)):
                r = _correlation(left, n_clusters - 1 + SHRUNK[a])
                whole = _correlation(total, n_clusters + SHRUNK[a])
                for i in range(starts[c], starts[c + 1]):
                    ratio_out[i, m + a] = _normal_ratio(r, normal[0, i], normal[1, i])
                    ratio_in[i, m + a] = _normal_ratio(whole, normal[0, i], normal[1, i])
        m += len(SHRUNK)
    _mixture(ratio_out, ratio_in, m, starts, weight, terms[0], terms[1])


@numba.njit(cache=True, nogil=True)
def _pair_table(bins, level, starts, weight, ratio_out, ratio_in):
    n_clusters = len(starts) - 1
    cells, sides = np.zeros(level * level), np.zeros((2, level))
    for i in range(len(bins)):
        cells[bins[i]] += weight[i]
        sides[0, bins[i] // level] += weight[i]
        sides[1, bins[i] % level] += weight[i]
    whole = n_clusters + level / 2
    for c in range(n_clusters):
        for sign in (1.0, -1.0):
            for i in range(starts[c], starts[c + 1]):
                cells[bins[i]] -= sign * weight[i]
                sides[0, bins[i] // level] -= sign * weight[i]
                sides[1, bins[i] % level] -= sign * weight[i]
            for i in range(starts[c], starts[c + 1]):
                less = 1.0 if sign > 0 else 0.0  # first without the cluster, then with it again
                base = (sides[0, bins[i] // level] + 0.5) * (sides[1, bins[i] % level] + 0.5)
                base /= (whole - less) * (whole - less)
                for a in range(3):
                    prior = PRIORS[a]
                    ratio = (cells[bins[i]] / base + prior) / (n_clusters - less + prior)
                    if sign > 0:
                        ratio_out[i, a] = ratio
                    else:
                        ratio_in[i, a] = ratio


@numba.njit(cache=True, nogil=True)
def _single_pair(ranks, normal, smooth, terms):
    """The same where every row is a cluster of its own: tables are worked out cell by cell."""
    n = ranks.shape[1]
    level, groups = np.int64(2), np.ones(2, np.int64)
    bins, tables = np.empty((PAIR_LEVELS, n), np.int64), np.zeros(PAIR_LEVELS, np.bool_)
    below, above = np.ones((PAIR_LEVELS, 64, 3)), np.ones((PAIR_LEVELS, 64, 3))
    gains = np.zeros((PAIR_LEVELS, 3))
    for t in range(PAIR_LEVELS):
        if level > 2 and level * level > n / 2:
            break
        tables[t] = _pair_bins(ranks, level, groups, bins[t])
        if tables[t]:
            _single_pair_table(bins[t], level, below[t], above[t], gains[t])
        level *= 2
    n_normal = len(SHRUNK) if smooth else 0
    ratio_out, ratio_in = np.ones((n, len(SHRUNK))), np.ones((n, len(SHRUNK)))
    normal_gains, total = np.zeros(len(SHRUNK)), (normal[0] * normal[1]).sum()
    for a in range(n_normal):
        whole, product = _correlation(total, n + SHRUNK[a]), 1.0
        for i in range(n):
            x, y = normal[0, i], normal[1, i]
            r = _correlation(total - x * y, n - 1 + SHRUNK[a])
            ratio_out[i, a] = _normal_ratio(r, x, y)
            ratio_in[i, a] = _normal_ratio(whole, x, y)
            product *= ratio_out[i, a]
            if product > FAR or product < 1 / FAR:
                normal_gains[a] += math.log(product)
                product = 1.0
        normal_gains[a] += math.log(product)
    most = max(0.0, gains.max(), normal_gains.max())
    nothing = math.exp(-most)
    share = nothing
    for t in range(PAIR_LEVELS):
        for a in range(3):
            gains[t, a] = math.exp(gains[t, a] - most) if tables[t] else 0.0
            share += gains[t, a]
            for cell in range(64):
                below[t, cell, a] = gains[t, a] / below[t, cell, a]
                above[t, cell, a] *= below[t, cell, a]
    for a in range(n_normal):
        normal_gains[a] = math.exp(normal_gains[a] - most)
        share += normal_gains[a]
    for i in range(n):
        d, e = nothing, nothing
        for t in range(PAIR_LEVELS):
            if tables[t]:
                for a in range(3):
                    d += below[t, bins[t, i], a]
                    e += above[t, bins[t, i], a]
        for a in range(n_normal):
            left = normal_gains[a] / ratio_out[i, a]
            d += left
            e += left * ratio_in[i, a]
        terms[0, i], terms[1, i] = math.log(share / d), math.log(e / d)


@numba.njit(cache=True, nogil=True)
def _single_pair_table(bins, level, below, above, gains):
    n = len(bins)
    cells, sides = np.zeros(level * level), np.zeros((2, level))
    for i in range(n):
        cells[bins[i]] += 1.0
        sides[0, bins[i] // level] += 1.0
        sides[1, bins[i] % level] += 1.0
    whole = n + level / 2
    for cell in range(level * level):
        rows = cells[cell]
        if rows > 0:
            p, q = sides[0, cell // level], sides[1, cell % level]
            base_out = (p - 0.5) * (q - 0.5) / ((whole - 1) * (whole - 1))
            base_in = (p + 0.5) * (q + 0.5) / (whole * whole)
            for a in range(3):
                prior = PRIORS[a]
                below[cell, a] = ((rows - 1) / base_out + prior) / (n - 1 + prior)
                above[cell, a] = (rows / base_in + prior) / (n + prior)
                gains[a] += rows * math.log(below[cell, a])
