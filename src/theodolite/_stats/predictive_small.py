"""Compute the predictive information of one column in one stratum in numpy.

Used by `predictive` for few rows, by the other predictive modules, and by tests of the kernels.
"""

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp

LEVELS = (2, 4, 8, 16, 32, 64, 128)
"""Numbers of equal bins of the tables."""
PRIORS = (2.0, 8.0, 32.0)
"""Strengths of smoothing, in clusters."""
EDGE = 1e-9
"""Slack of bin edges, so that rounding of weights such as 1/3 never moves a row to another bin."""
MIN_VARIANCE = 0.05

Row = Float[np.ndarray, " rows"]
Numbers = Int[np.ndarray, " rows"]


def stratum_terms(
    ranks: Row,
    normal: Row,
    labels: Numbers,
    starts: Int[np.ndarray, " clusters_and_one"],
    n_labels: int,
    terms: Float[np.ndarray, "3 rows"],
) -> None:
    """Write gains without and with each row's cluster, and the cross-entropy, to ``terms``.

    Rows are sorted by cluster; ``starts`` are the first rows of clusters and the end.
    """
    sizes = np.diff(starts)
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    weights = np.repeat(1 / sizes, sizes)
    by_label = np.bincount(labels, weights, n_labels)
    own = get_own_weight(labels, clusters, weights)
    base_out = (by_label[labels] - own + 0.5) / (len(sizes) - 1 + n_labels / 2)
    base_in = (by_label[labels] + 0.5) / (len(sizes) + n_labels / 2)
    out, inside = _compute_table_gains(
        ranks, labels, clusters, weights, (base_out, base_in), n_labels
    )
    if len(out) > 1:
        probabilities = _compute_normal_probabilities(normal, labels, clusters, weights, n_labels)
        out.append(np.log(probabilities[0] / base_out))
        inside.append(np.log(probabilities[1] / base_in))
    terms[:2] = mix_models(out, inside, clusters, weights)
    terms[2] = -np.log(base_out)


def mix_models(
    out: list[Row], inside: list[Row], clusters: Numbers, weights: Row
) -> Float[np.ndarray, "2 rows"]:
    """Return both gains of the mixture of models, weighted by gains on the other clusters."""
    gains = np.array([np.bincount(clusters, weights * gain) for gain in out])
    shares = gains.sum(axis=1, keepdims=True) - gains
    shares -= logsumexp(shares, axis=0)
    mixed = [logsumexp(shares[:, clusters] + np.array(side), axis=0) for side in (out, inside)]
    return np.array(mixed)


def get_own_weight(cells: Numbers, clusters: Numbers, weights: Row) -> Row:
    """Return the weight of each row's own cluster in the row's own cell."""
    keys = cells * (int(clusters[-1]) + 1) + clusters
    at = np.unique(keys, return_inverse=True)[1]
    return np.asarray(np.bincount(at, weights)[at])


def _compute_table_gains(
    ranks: Row,
    labels: Numbers,
    clusters: Numbers,
    weights: Row,
    bases: tuple[Row, Row],
    n_labels: int,
) -> tuple[list[Row], list[Row]]:
    """Return the gains of no model (zeros), then of each table with a new binning."""
    out, inside = [np.zeros(len(ranks))], [np.zeros(len(ranks))]
    groups = 1
    for level in LEVELS:
        if level > max((int(clusters[-1]) + 1) / 4, 2):
            break
        bins = np.minimum((level * ranks + EDGE).astype(int), level - 1)
        in_bin = np.bincount(bins, weights, level)
        if np.count_nonzero(in_bin) == groups:  # a finer table without new groups is identical
            continue
        groups = int(np.count_nonzero(in_bin))
        cells = bins * n_labels + labels
        in_cell = np.bincount(cells, weights, level * n_labels)[cells]
        own_bin, own_cell = (
            get_own_weight(bins, clusters, weights),
            get_own_weight(cells, clusters, weights),
        )
        for prior in PRIORS:
            for gains, base, left_bin, left_cell in (
                (out, bases[0], own_bin, own_cell),
                (inside, bases[1], 0.0, 0.0),
            ):
                share = (in_cell - left_cell + prior * base) / (in_bin[bins] - left_bin + prior)
                gains.append(np.log(share / base))
    return out, inside


def _compute_normal_probabilities(
    normal: Row, labels: Numbers, clusters: Numbers, weights: Row, n_labels: int
) -> tuple[Row, Row]:
    """Return the probability of each row's label under normal values by label.

    The first array leaves the row's cluster out, the second includes it.
    """
    n_clusters = int(clusters[-1]) + 1
    cells = clusters * n_labels + labels
    shape = (n_clusters, n_labels)
    sums = np.bincount(cells, weights * normal, n_clusters * n_labels).reshape(shape)
    counts = np.bincount(cells, weights, n_clusters * n_labels).reshape(shape)
    squares = np.bincount(clusters, weights * normal**2, n_clusters)
    all_sums, all_counts = sums.sum(axis=0), counts.sum(axis=0)
    every = np.arange(len(normal))

    def compute_probability(
        own: np.ndarray, n: np.ndarray, total: np.ndarray, weight: float
    ) -> Row:
        means = own / (n + 1)
        spread = (total - (own * means).sum(axis=-1)) / max(weight - 1, 1)
        variance = np.maximum(spread, MIN_VARIANCE)
        logs = np.log(n + 0.5) - (normal[:, None] - means) ** 2 / (2 * variance[:, None])
        return np.asarray(np.exp(logs[every, labels] - logsumexp(logs, axis=1)))

    out = compute_probability(
        (all_sums - sums)[clusters],
        (all_counts - counts)[clusters],
        (squares.sum() - squares)[clusters],
        n_clusters - 1,
    )
    whole = (all_sums[None], all_counts[None], np.full(1, squares.sum()), n_clusters)
    return out, compute_probability(*whole)
