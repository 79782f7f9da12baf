"""Compiled loops of predictive information: tables and a normal model, each cluster left out."""

import math
from typing import no_type_check

import numba
import numpy as np

# As in predictive_small; here too, because what is compiled is kept by this file alone.
LEVELS = 7  # tables of 2, 4, … 128 groups
PRIORS = (2.0, 8.0, 32.0)
EDGE = 1e-9  # sums of weights such as 1/3 must not move a row over an edge
LEAST_VARIANCE = 0.05


@numba.njit(cache=True, nogil=True)
@no_type_check
def stratum_terms(u, z, y, starts, n_labels, terms):
    """Terms of one stratum: u the rows' ranks, z these as normal values, y labels.

    Rows lie cluster by cluster, each cluster from one of ``starts`` to the next.
    """
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
    n_models = 1 + 3 * LEVELS + 1
    ratio_out, ratio_in = np.ones((n_models, n)), np.ones((n_models, n))
    m, groups = 1, 1
    bins = np.empty(n, np.int64)
    level = 2
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
                ratio_out[m : m + 3],
                ratio_in[m : m + 3],
            )
            m += 3
        level *= 2
    if m > 1:
        _normal(
            z, y, starts, weight, n_labels, by_label, base_out, base_in, ratio_out[m], ratio_in[m]
        )
        m += 1
    _mixture(ratio_out[:m], ratio_in[:m], starts, weight, out, inside)
    for i in range(n):
        surprise[i] = -math.log(base_out[i])


@numba.njit(cache=True, nogil=True)
@no_type_check
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
            cell = bins[i] * n_labels + y[i]
            for a in range(3):
                prior = PRIORS[a]
                ratio_out[a, i] = (in_cell[cell] - own_cell[cell] + prior * base_out[i]) / (
                    (in_bin[bins[i]] - own_bin[bins[i]] + prior) * base_out[i]
                )
                ratio_in[a, i] = (in_cell[cell] + prior * base_in[i]) / (
                    (in_bin[bins[i]] + prior) * base_in[i]
                )
        for i in range(starts[c], starts[c + 1]):
            own_bin[bins[i]] = 0.0
            own_cell[bins[i] * n_labels + y[i]] = 0.0


@numba.njit(cache=True, nogil=True)
@no_type_check
def _normal(z, y, starts, weight, n_labels, by_label, base_out, base_in, ratio_out, ratio_in):
    n_clusters = len(starts) - 1
    sums, squares = np.zeros(n_labels), 0.0
    for i in range(len(z)):
        sums[y[i]] += weight[i] * z[i]
        squares += weight[i] * z[i] * z[i]
    spread = 0.0
    for k in range(n_labels):
        spread += sums[k] * sums[k] / (by_label[k] + 1.0)
    whole = max((squares - spread) / max(n_clusters - 1.0, 1.0), LEAST_VARIANCE)
    means, counts = np.empty(n_labels), np.empty(n_labels)
    for c in range(n_clusters):
        first, last = starts[c], starts[c + 1]
        for k in range(n_labels):
            counts[k], means[k] = by_label[k], sums[k]
        left, lost = squares, spread
        for i in range(first, last):
            k = y[i]
            lost -= means[k] * means[k] / (counts[k] + 1.0)
            counts[k] -= weight[i]
            means[k] -= weight[i] * z[i]
            lost += means[k] * means[k] / (counts[k] + 1.0)
            left -= weight[i] * z[i] * z[i]
        variance = max((left - lost) / max(n_clusters - 2.0, 1.0), LEAST_VARIANCE)
        for i in range(first, last):
            ratio_out[i] = _likelihood(z[i], y[i], means, counts, variance) / base_out[i]
            ratio_in[i] = _likelihood(z[i], y[i], sums, by_label, whole) / base_in[i]


@numba.njit(cache=True, nogil=True)
@no_type_check
def _likelihood(z, label, sums, counts, variance):
    """The probability of the label, each label's values being normal around its mean."""
    total, own = 0.0, 0.0
    nearest = 1e300
    for k in range(len(sums)):
        away = z - sums[k] / (counts[k] + 1.0)
        nearest = min(nearest, away * away)
    for k in range(len(sums)):
        away = z - sums[k] / (counts[k] + 1.0)
        p = (counts[k] + 0.5) * math.exp((nearest - away * away) / (2 * variance))
        total += p
        if k == label:
            own = p
    return own / total


@numba.njit(cache=True, nogil=True)
@no_type_check
def _mixture(ratio_out, ratio_in, starts, weight, out, inside):
    n_models, n_clusters = len(ratio_out), len(starts) - 1
    gains = np.zeros((n_clusters, n_models))
    for m in range(n_models):
        for c in range(n_clusters):
            for i in range(starts[c], starts[c + 1]):
                gains[c, m] += weight[i] * math.log(ratio_out[m, i])
    total = np.zeros(n_models)
    for c in range(n_clusters):
        for m in range(n_models):
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
                a += gains[c, m] * ratio_out[m, i]
                b += gains[c, m] * ratio_in[m, i]
            out[i] = math.log(a / share)
            inside[i] = math.log(b / share)


@numba.njit(cache=True, nogil=True)
@no_type_check
def single_terms(u, z, y, n_labels, terms):
    """The same where every row is a cluster of its own: tables are worked out cell by cell."""
    out, inside, surprise = terms
    n = len(u)
    finest = 2
    while finest < 2**LEVELS and 2 * finest <= n / 4:
        finest *= 2
    by_label = np.zeros(n_labels)
    bins, counts = np.empty(n, np.int64), np.zeros((finest, n_labels))
    for i in range(n):
        bins[i] = min(int(finest * u[i] + EDGE), finest - 1)
        counts[bins[i], y[i]] += 1.0
        by_label[y[i]] += 1.0
    base_out, base_in = np.empty(n_labels), np.empty(n_labels)
    for k in range(n_labels):
        base_out[k] = (by_label[k] - 0.5) / (n - 1 + n_labels / 2)
        base_in[k] = (by_label[k] + 0.5) / (n + n_labels / 2)
    n_tables, width, gains, below, above = _cells(counts, base_out, base_in)
    ratio_out, ratio_in = np.ones(n), np.ones(n)
    normal_gain = 0.0
    if n_tables:
        normal_gain = _single_normal(z, y, by_label, base_out, base_in, ratio_out, ratio_in)
    most = max(0.0, normal_gain)
    for m in range(n_tables):
        most = max(most, gains[m])
    nothing = math.exp(-most)
    normal = math.exp(normal_gain - most) if n_tables else 0.0
    total = nothing + normal
    denominators, numerators = np.zeros((finest, n_labels)), np.zeros((finest, n_labels))
    for m in range(n_tables):
        share = math.exp(gains[m] - most)
        total += share
        per = finest // width[m]
        for b in range(finest):
            for k in range(n_labels):
                if counts[b, k] > 0:
                    left = share / below[m, b // per, k]
                    denominators[b, k] += left
                    numerators[b, k] += left * above[m, b // per, k]
    for i in range(n):
        b, k = bins[i], y[i]
        d = denominators[b, k] + nothing + normal / ratio_out[i]
        out[i] = math.log(total / d)
        inside[i] = math.log((numerators[b, k] + nothing + normal * ratio_in[i] / ratio_out[i]) / d)
        surprise[i] = -math.log(base_out[k])


@numba.njit(cache=True, nogil=True)
@no_type_check
def _cells(finest_counts, base_out, base_in):
    """Of each table that groups rows anew: how wide it is, its gain, and its ratios by cell."""
    finest, n_labels = finest_counts.shape
    below, above = np.ones((3 * LEVELS, finest, n_labels)), np.ones((3 * LEVELS, finest, n_labels))
    gains, width = np.zeros(3 * LEVELS), np.zeros(3 * LEVELS, np.int64)
    m, groups, level = 0, 1, 2
    while level <= finest:
        per = finest // level
        counts, in_bin = np.zeros((level, n_labels)), np.zeros(level)
        for b in range(finest):
            for k in range(n_labels):
                counts[b // per, k] += finest_counts[b, k]
                in_bin[b // per] += finest_counts[b, k]
        used = (in_bin > 0).sum()
        if used > groups:
            groups = used
            for a in range(3):
                prior, width[m] = PRIORS[a], level
                for b in range(level):
                    for k in range(n_labels):
                        rows = counts[b, k]
                        if rows > 0:
                            p = (rows - 1 + prior * base_out[k]) / (in_bin[b] - 1 + prior)
                            below[m, b, k] = p / base_out[k]
                            above[m, b, k] = (rows + prior * base_in[k]) / (
                                (in_bin[b] + prior) * base_in[k]
                            )
                            gains[m] += rows * math.log(below[m, b, k])
                m += 1
        level *= 2
    return m, width, gains, below, above


@numba.njit(cache=True, nogil=True)
@no_type_check
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
    gain = 0.0
    for i in range(n):
        own = y[i]
        count, total = by_label[own] - 1.0, sums[own] - z[i]
        mean = total / (count + 1.0)
        lost = spread - sums[own] * means[own] + total * mean
        left = squares - z[i] * z[i]
        own_scale = 0.5 / max((left - lost) / max(n - 2.0, 1.0), LEAST_VARIANCE)
        away, own_away = z[i] - means[own], z[i] - mean
        ours, theirs = away * away, own_away * own_away
        whole, rest = by_label[own] + 0.5, count + 0.5
        for k in range(n_labels):
            if k != own:
                far = (z[i] - means[k]) * (z[i] - means[k])
                weight = by_label[k] + 0.5
                whole += weight * math.exp(min((ours - far) * scale, 700.0))
                rest += weight * math.exp(min((theirs - far) * own_scale, 700.0))
        ratio_out[i] = (count + 0.5) / rest / base_out[own]
        ratio_in[i] = (by_label[own] + 0.5) / whole / base_in[own]
        gain += math.log(ratio_out[i])
    return gain
