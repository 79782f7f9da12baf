"""Estimate the predictive information of vectors: how much they lower the cross-entropy of labels.

Used by the leakage metrics for embeddings. As in `predictive`, with linear discriminants as models,
whose covariance is shrunk. Each is fitted in ten folds; the key of a cluster decides its fold.
"""

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp

from theodolite._stats.predictive import PredictiveTerms, rows_that_recur
from theodolite._stats.predictive_small import Numbers, Row, get_own_weight, mix_models
from theodolite._stats.sampling import mix_bits

FOLDS = 10
SHRINKAGE = (0.01, 0.1, 0.5, 0.9)
"""Weights of the mean variance in the shrunk covariance, one per model."""

Points = Float[np.ndarray, "rows dimensions"]


def predictive_vector_terms(
    vectors: Float[np.ndarray, "samples columns dimensions"],
    labels: Int[np.ndarray, " samples"],
    keys: Int[np.ndarray, " samples"],
    strata: Int[np.ndarray, "columns samples"] | None = None,
) -> PredictiveTerms:
    """Return the terms of each column of vectors within strata; NaN in negative strata.

    Samples with the same key are a cluster: they are left out together, and count as one.

    >>> labels = np.arange(40) % 2
    >>> noise = np.sin(np.arange(80.0)).reshape(40, 1, 2)
    >>> vectors = noise + 3 * labels[:, None, None]
    >>> terms = predictive_vector_terms(vectors, labels, np.arange(40))
    >>> (terms.out.mean() / terms.surprise.mean()).round(3)
    np.float64(0.995)
    """
    vectors = np.asarray(vectors, np.float64)
    shape = vectors.shape[1], len(vectors)
    labels = np.unique(labels, return_inverse=True)[1]
    names, clusters = np.unique(keys, return_inverse=True)
    folds = (mix_bits(names.astype(np.uint64)) % np.uint64(FOLDS)).astype(np.int64)[clusters]
    whole = np.zeros(shape, np.int64) if strata is None else np.asarray(strata)
    terms, parameters = np.full((4, *shape), np.nan), np.zeros(shape[0])
    for column in range(shape[0]):
        for stratum in range(int(whole[column].max(initial=-1)) + 1):
            chosen = rows_that_recur(labels, clusters, np.flatnonzero(whole[column] == stratum))
            if chosen is not None:
                rows, starts, numbers, n_labels = chosen
                sizes = np.diff(starts)
                terms[:, column, rows] = _compute_stratum_terms(
                    vectors[rows, column], numbers, sizes, folds[rows], n_labels
                )
                parameters[column] += vectors.shape[2] * (n_labels - 1)
    out, inside, surprise, learned = terms
    return PredictiveTerms(out, inside, surprise, learned, parameters)


def _compute_stratum_terms(
    points: Points, labels: Numbers, sizes: Int[np.ndarray, " clusters"], folds: Numbers, n: int
) -> Float[np.ndarray, "4 rows"]:
    """Return gains without and with each row's cluster, the cross-entropy, and learned gains."""
    clusters, weights = np.repeat(np.arange(len(sizes)), sizes), np.repeat(1 / sizes, sizes)
    counts = np.bincount(labels, weights, n)
    own = get_own_weight(labels, clusters, weights)
    base_out = (counts[labels] - own + 0.5) / (len(sizes) - 1 + n / 2)
    base_in = (counts[labels] + 0.5) / (len(sizes) + n / 2)
    by_cluster = np.bincount(clusters * n + labels, weights, len(sizes) * n).reshape(-1, n)
    before_out = np.log(counts - by_cluster + 0.5)[clusters]
    before_in = np.broadcast_to(np.log(counts + 0.5), before_out.shape)
    out, inside = ([np.zeros(len(labels))] for _ in range(2))
    points = _scale(points, weights)
    if points.any():
        learned = np.zeros((len(SHRINKAGE), len(labels)))
        for fold in np.unique(folds):
            own_fold, others = folds == fold, folds != fold
            fit = points[others], labels[others], weights[others]
            if fit[2].sum() > 1:  # else nothing can be learned
                learned[:, own_fold] = _fit_discriminants(
                    *fit, points[own_fold], labels[own_fold], before_out[own_fold]
                ) - np.log(base_out[own_fold])
        out += list(learned)
        whole = _fit_discriminants(points, labels, weights, points, labels, before_in)
        inside += list(whole - np.log(base_in))
    both = mix_models(out, inside, clusters, weights)
    learned_only = mix_models(out[1:], inside[1:], clusters, weights) if len(out) > 1 else both
    return np.array([*both, -np.log(base_out), learned_only.mean(axis=0)])


def _scale(points: Points, weights: Row) -> Points:
    """Center points and scale them to a root mean square of 1; all 0 if they are equal."""
    size = np.abs(points).max(initial=0.0)
    points = points / size if size > 0 else points  # huge ones must not overflow when squared
    points = points - weights @ points / weights.sum()
    spread = np.sqrt((weights @ points**2).sum() / weights.sum() / points.shape[1])
    return points / spread if spread > 1e-12 else np.zeros(points.shape)


def _fit_discriminants(
    points: Points,
    labels: Numbers,
    weights: Row,
    others: Float[np.ndarray, "others dimensions"],
    other_labels: Int[np.ndarray, " others"],
    before: Float[np.ndarray, "others labels"],
) -> Float[np.ndarray, "models others"]:
    """Return the log probability of the others' labels under normal distributions by label.

    Means are shrunk towards the overall mean by one row's weight. ``before`` is the log frequency
    of each label, up to a constant.
    """
    n, total = before.shape[1], weights.sum()
    middle = weights @ points / total
    points, others = points - middle, others - middle
    sums = np.zeros((n, points.shape[1]))
    np.add.at(sums, labels, weights[:, None] * points)
    means = sums / (np.bincount(labels, weights, n) + 1)[:, None]
    covariance = (points.T * weights) @ points - sums.T @ means
    values, directions = np.linalg.eigh(covariance / max(total - 1, 1))
    values = np.maximum(values, 0.0)
    means, others = means @ directions, others @ directions
    result = np.empty((len(SHRINKAGE), len(others)))
    for m, weight in enumerate(SHRINKAGE):
        scale = 1 / np.maximum((1 - weight) * values + weight * values.mean(), 1e-9)
        logs = before + others @ (scale * means).T - (scale * means**2).sum(axis=1) / 2
        result[m] = logs[np.arange(len(others)), other_labels] - logsumexp(logs, axis=1)
    return result
