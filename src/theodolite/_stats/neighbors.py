r"""Estimate mutual information from neighbors with correct handling of ties and clusters.

Used by the leakage metrics. As in `information` (Ross, Kraskov), estimates in nats are means of one
term per sample. The reach is the distance to the k-th neighbor; ties at that distance all count:

- one neighbor: the published term, :math:`\psi(N + 1) + \psi(k) - \psi(N_y + 1) - \psi(m)` for
  m others within reach, N others in all and :math:`N_y` of the same label;
- several neighbors: :math:`\psi(N) + \psi(\tilde k) - \psi(N_y) - \psi(m)` with all
  :math:`\tilde k` of the label within reach;
- reach 0 (many equal values): this term with the sample itself counted, which removes the bias of
  counting.

A constant column gives 0. On independent rows the mean is 0 without ties, and lies from
-0.03 to 0.01 with them (60 to 200 samples, two labels; tests/stats/test_neighbors.py).

Rows of one cluster are each other's neighbors, so each cluster is represented by one of its rows at
a time (`average_over_cluster_rows`).
"""

from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite._stats.information import (
    BLOCK_BYTES,
    NEIGHBORS,
    SMALL,
    Columns,
    check_k,
    has_ties,
    tabulate_digamma,
)
from theodolite._stats.information_numpy import compute_distances, get_label_reach, split_rows
from theodolite._stats.native import functions as native
from theodolite._stats.native.library import has_native
from theodolite._stats.threads import run_in_slices

MAX_ROUNDS = 16
"""Maximum number of rows that represent a cluster."""
Rows = Int[np.ndarray, " samples"]
Terms = Float[np.ndarray, " samples"]


def label_terms(
    values: Float[np.ndarray, " samples"], labels: Rows, *, k: int = NEIGHBORS
) -> Terms:
    """Return the terms of numbers and a label; NaN where no other sample has the label.

    >>> label_terms(np.zeros(6), np.array([0, 0, 0, 1, 1, 1])).tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    check_k(k)
    values = np.asarray(values, np.float64)
    if not len(values):
        return np.zeros(0)
    label = _encode_labels(labels)
    reach, near = _find_reach(values, label, k)
    same = _count_within(values, label, reach) - 1
    others = _count_within(values, np.zeros(len(values), np.int64), reach) - 1
    n_same = np.bincount(label)[label] - 1
    return _compute_terms(
        reach, near, (np.full(len(values), len(values) - 1), n_same), (same, others)
    )


def _compute_terms(
    reach: np.ndarray,
    near: np.ndarray,
    n: tuple[np.ndarray, np.ndarray],
    within: tuple[np.ndarray, np.ndarray],
) -> Terms:
    """Compute the term of each sample from the numbers of neighbors within reach."""
    psi = tabulate_digamma(int(n[0].max()) + 1)
    (n_others, n_same), (same, others) = n, within
    atom, several = reach == 0, same > near
    also = (~(several & ~atom)).astype(np.int64)  # 1 if the sample itself counts in the total
    counted = atom.astype(np.int64)
    terms = psi[n_others + also] - psi[n_same + also] + psi[same + counted] - psi[others + counted]
    return np.asarray(np.where(near > 0, terms, np.nan))


def _find_reach(values: np.ndarray, label: Rows, k: int) -> tuple[np.ndarray, Rows]:
    """Return the distance to the k-th sample of the same label, and their number up to k."""
    order = np.lexsort((values, label))
    v, of, n = values[order], label[order], len(values)
    first, last = np.searchsorted(of, of, "left"), np.searchsorted(of, of, "right") - 1
    place = np.arange(n)
    up, down = place + 1, place - 1
    reach, near = np.zeros(n), np.zeros(n, np.int64)
    for _ in range(k):
        above = np.where(up <= last, v[np.minimum(up, n - 1)] - v, np.inf)
        below = np.where(down >= first, v - v[np.maximum(down, 0)], np.inf)
        away = np.minimum(above, below)
        some = np.isfinite(away)
        reach, near = np.where(some, away, reach), near + some
        up, down = up + (some & (above <= below)), down - (some & (above > below))
    back = np.empty(n, np.int64)
    back[order] = place
    return reach[back], near[back]


def _count_within(values: np.ndarray, group: Rows, reach: np.ndarray) -> Rows:
    """Count the values of the same group within reach of each value, itself included.

    Differences are compared with the reach; ``value ± reach``, which rounds differently, only
    gives the first guess.
    """
    order = np.lexsort((values, group))
    v, g = values[order], group[order]
    first, end = np.searchsorted(g, group, "left"), np.searchsorted(g, group, "right")
    keys = _build_sort_keys(g, v)
    low = np.searchsorted(keys, _build_sort_keys(group, values - reach), "left")
    high = np.searchsorted(keys, _build_sort_keys(group, values + reach), "right")
    padded = np.append(v, np.inf)
    while (step := (high < end) & (padded[high] - values <= reach)).any():
        high += step
    while (step := padded[high - 1] - values > reach).any():
        high -= step
    while (step := (low > first) & (values - padded[low - 1] <= reach)).any():
        low -= step
    while (step := values - padded[low] > reach).any():
        low += step
    return np.asarray(high - low)


def _build_sort_keys(group: Rows, values: np.ndarray) -> np.ndarray:
    """Return complex numbers, which numpy sorts by group first, then by value."""
    keys = np.empty(len(values), np.complex128)
    keys.real, keys.imag = group, values
    return keys


def label_vector_terms(
    vectors: Float[np.ndarray, "samples dimensions"], labels: Rows, *, k: int = NEIGHBORS
) -> Terms:
    """Return the terms of vectors, compared by Euclidean distance, and a label."""
    check_k(k)
    n = len(vectors)
    terms, psi, label = np.empty(n), tabulate_digamma(n), _encode_labels(labels)
    points, counts = np.ascontiguousarray(vectors, np.float64), np.bincount(label)
    kernel = native.label_vector_terms if has_native() else _fill_vector_terms

    def fill(block: slice) -> None:
        kernel(block, points, (label, counts), k, psi, terms)

    if n:
        run_in_slices(n, fill, small=n**2 < SMALL)
    return terms


def _fill_vector_terms(
    rows: slice,
    points: Float[np.ndarray, "samples dimensions"],
    labels: tuple[Rows, Int[np.ndarray, " labels"]],
    k: int,
    psi: np.ndarray,
    out: Terms,
) -> None:
    """Fill in the terms of some rows in numpy, where the native library is missing."""
    label, counts = labels
    n = len(points)
    for some in split_rows(rows, n):
        away, same_label = compute_distances(points, some), label[some, None] == label
        n_same = counts[label[some]] - 1
        near = np.minimum(k, n_same)
        reach = get_label_reach(away, label, some, near)
        inside = away <= reach[:, None]
        within, same = inside.sum(axis=1) - 1, (inside & same_label).sum(axis=1) - 1
        atom = psi[n] + psi[same + 1] - psi[n_same + 1] - psi[within + 1]
        tied = psi[n - 1] + psi[same] - psi[n_same] - psi[within]
        plain = psi[n] + psi[near] - psi[n_same + 1] - psi[within]
        terms = np.where(reach == 0, atom, np.where(same > near, tied, plain))
        out[some] = np.where(n_same > 0, terms, np.nan)


def stratified_pair_terms(
    values: Float[np.ndarray, "samples columns"],
    pairs: Int[np.ndarray, "pairs 2"],
    strata: Int[np.ndarray, "columns samples"],
    *,
    k: int = NEIGHBORS,
) -> Iterator[tuple[slice, Float[np.ndarray, "some samples"]]]:
    """Yield the terms of many pairs of columns within the strata of both, in blocks of pairs.

    ``strata`` is a small whole number for each column and sample. NaN where k or fewer samples
    agree in both strata.
    """
    check_k(k)
    n = len(values)
    step = max(BLOCK_BYTES // (8 * max(n, 1)), 1)
    use_numpy = not has_native()
    columns = Columns(values)
    ties = has_ties(values)
    for at in range(0, len(pairs), step):
        block = slice(at, min(at + step, len(pairs)))
        chosen = np.ascontiguousarray(pairs[block], np.int64)
        if use_numpy:
            yield block, _compute_pair_terms_numpy(columns.values, chosen, strata, k)
        else:
            yield block, _compute_pair_terms_native(columns, chosen, strata, ties, k)


def _compute_pair_terms_native(
    columns: Columns,
    pairs: Int[np.ndarray, "pairs 2"],
    strata: Int[np.ndarray, "columns samples"],
    ties: Bool[np.ndarray, " columns"],
    k: int,
) -> Float[np.ndarray, "pairs samples"]:
    strata, n_strata = np.ascontiguousarray(strata, np.int64), int(strata.max(initial=0)) + 1
    n = columns.values.shape[1]
    out, psi = np.full((len(pairs), n), np.nan), tabulate_digamma(n)

    def fill(block: slice) -> None:
        native.stratified_pair_terms(
            (columns.values, columns.order), (strata, n_strata, ties), pairs[block], k, psi,
            out[block],
        )  # fmt: skip

    run_in_slices(len(pairs), fill, small=out.size < SMALL)
    return out


def _compute_pair_terms_numpy(
    values: Float[np.ndarray, "columns samples"],
    pairs: Int[np.ndarray, "pairs 2"],
    strata: Int[np.ndarray, "columns samples"],
    k: int,
) -> Float[np.ndarray, "pairs samples"]:
    """Compute the terms of pairs in numpy, from all distances."""
    out = np.full((len(pairs), values.shape[1]), np.nan)
    for terms, (a, b) in zip(out, pairs.tolist(), strict=True):
        group = strata[a] * (int(strata[b].max(initial=0)) + 1) + strata[b]
        for code in np.unique(group):
            rows = np.flatnonzero(group == code)
            if len(rows) > k:
                terms[rows] = _compute_group_terms(values[a, rows], values[b, rows], k)
    return out


def _compute_group_terms(x: np.ndarray, y: np.ndarray, k: int) -> Terms:
    terms, psi = np.empty(len(x)), tabulate_digamma(len(x))
    for some in split_rows(slice(0, len(x)), len(x)):
        dx, dy = (np.abs(side[some, None] - side[None, :]) for side in (x, y))
        both = np.maximum(dx, dy)
        far = np.partition(both, k, axis=1)[:, k]  # the first is the sample itself
        near = (both <= far[:, None]).sum(axis=1) - 1
        atom, several = far == 0, near > k
        reach = np.where(atom | several, far, np.nextafter(far, 0.0))[:, None]
        n_x, n_y = ((away <= reach).sum(axis=1) for away in (dx, dy))
        less = (several & ~atom).astype(np.int64)
        joint = np.where(several | atom, near + atom, k)
        terms[some] = psi[len(x) - less] + psi[joint] - psi[n_x - less] - psi[n_y - less]
    return terms


def average_over_cluster_rows(
    clusters: Rows | None, n: int, compute: Callable[[Rows], Float[np.ndarray, "*terms rows"]]
) -> Float[np.ndarray, "*terms samples"]:
    """Average terms over rounds in which each cluster is represented by one of its rows.

    In each round every cluster gives its next row (after the last, the first again), for at most
    `MAX_ROUNDS` rounds. A row in several rounds gets its mean term, a row in none gets NaN.

    >>> average_over_cluster_rows(np.array([0, 0, 1]), 3, lambda rows: rows * 1.0)
    array([0., 1., 2.])
    """
    if clusters is None:
        return compute(np.arange(n))
    order = np.argsort(clusters, kind="stable")
    _, first, size = np.unique(np.asarray(clusters)[order], return_index=True, return_counts=True)
    rounds = min(int(size.max(initial=1)), MAX_ROUNDS)
    picks = [np.sort(order[first + turn % size]) for turn in range(rounds)]
    parts = [np.asarray(compute(rows)) for rows in picks]
    sums = np.zeros((*parts[0].shape[:-1], n))
    counts = np.zeros(sums.shape)
    for rows, terms in zip(picks, parts, strict=True):
        defined = ~np.isnan(terms)
        sums[..., rows] += np.where(defined, terms, 0.0)
        counts[..., rows] += defined
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _encode_labels(labels: Rows) -> Rows:
    """Replace labels by numbers from 0."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)
