"""Define null baselines of the acceptance metrics."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from theodolite._stats.sampling import (
    POOLED,
    SAMPLE_HASH,
    draw_other_rows,
    draw_pool,
    hash_to_uniforms,
)
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.plain_arrays import replace_arrays
from theodolite.evidence.rating_summary import aggregate_ratings
from theodolite.metrics.base import NullModel, PerSample


def _average_answers(evidence: RatingEvidence) -> PerSample:
    """Return the mean rating of random answers on the scale."""
    scale = evidence.scale
    middle = float(((scale - scale[0]) / (scale[-1] - scale[0])).mean())
    rated = (~np.isnan(evidence.ratings)).any(axis=1).astype(float)
    return PerSample.from_values(middle * rated, rated)


RANDOM_VOTES = NullModel(
    "random_ratings",
    "every vote drawn from all answers of the scale alike",
    expected=_average_answers,
    random=False,
)


def _answers(evidence: RatingEvidence) -> dict[str, np.ndarray]:
    """How often each rater gave each answer; of clusters, the answers to some of them."""
    samples = evidence.samples
    if samples.clusters is not None:
        ratings = {"ratings": evidence.ratings}
        return draw_pool(np.asarray(samples.index), ratings, samples.clusters)
    counts = [(evidence.ratings == answer).sum(axis=0) for answer in evidence.scale]
    return {"answers": np.stack(counts, axis=1).astype(float)}


def _dealt_out(
    evidence: RatingEvidence, seed: int, sums: Mapping[str, np.ndarray]
) -> RatingEvidence:
    ratings = evidence.ratings
    if evidence.samples.clusters is not None:
        return replace_arrays(evidence, ratings=_draw_other_clusters(evidence, seed, sums))
    up_to = np.cumsum(sums["answers"], axis=1)
    up_to /= np.maximum(up_to[:, -1:], 1.0)
    draws = hash_to_uniforms(np.asarray(evidence.samples.index), (ratings.shape[1],), seed)
    level = (draws[:, :, None] >= up_to[None, :, :-1]).sum(axis=2)
    return replace_arrays(
        evidence, ratings=np.where(np.isnan(ratings), np.nan, evidence.scale[level])
    )


def _draw_other_clusters(
    evidence: RatingEvidence, seed: int, pool: Mapping[str, np.ndarray]
) -> np.ndarray:
    """Return for each rater and cluster the answers that the rater gave in a random cluster."""
    samples, ratings = evidence.samples, evidence.ratings
    clusters, n = np.asarray(samples.clusters), ratings.shape[1]
    cluster_draws = hash_to_uniforms(clusters, (n,), seed)
    row_draws = hash_to_uniforms(np.asarray(samples.index), (n,), seed)
    answers = np.full(ratings.shape, np.nan)
    for rater in range(n):
        votes = pool[f"{POOLED}ratings"][:, rater]
        rows = np.flatnonzero(~np.isnan(votes))
        _, first, size = np.unique(pool[SAMPLE_HASH][rows], return_index=True, return_counts=True)
        if len(rows):
            cluster = (cluster_draws[:, rater] * len(size)).astype(np.int64)
            within = (row_draws[:, rater] * size[cluster]).astype(np.int64)
            answers[:, rater] = votes[rows[first[cluster] + within]]
    return np.where(np.isnan(ratings), np.nan, answers)


DEALT_OUT = NullModel(
    "permuted_ratings",
    "each rater gives each answer as often as they did, but to explanations at random",
    _dealt_out,
    sums=_answers,
)


def _mean_votes(evidence: RatingEvidence) -> dict[str, np.ndarray]:
    means = aggregate_ratings(evidence.ratings, evidence.scale, "mean")
    known = ~np.isnan(means)
    return {"sum": np.array(means[known].sum()), "items": np.array(float(known.sum()))}


def _the_average(
    evidence: RatingEvidence, seed: int, sums: Mapping[str, np.ndarray]
) -> RatingEvidence:
    del seed
    mean = float(sums["sum"]) / float(sums["items"]) if sums["items"] > 0 else np.nan
    old = np.asarray(evidence.predicted)
    return replace_arrays(evidence, predicted=np.where(np.isnan(old), np.nan, mean))


ALWAYS_THE_AVERAGE = NullModel(
    "constant_mean",
    "whatever the explanation, the average of all votes is predicted",
    _the_average,
    sums=_mean_votes,
    random=False,
)


def _some_predictions(evidence: RatingEvidence) -> dict[str, np.ndarray]:
    predicted = np.asarray(evidence.predicted)
    known = ~np.isnan(predicted)
    samples = evidence.samples[known]
    return draw_pool(np.asarray(samples.index), {"predicted": predicted[known]}, samples.clusters)


def _of_another(
    evidence: RatingEvidence, seed: int, pool: Mapping[str, np.ndarray]
) -> RatingEvidence:
    old = np.asarray(evidence.predicted)
    new = np.full(len(old), np.nan)
    if len(pool[SAMPLE_HASH]):
        samples = evidence.samples
        rows = draw_other_rows(pool, np.asarray(samples.index), (), seed, samples.clusters)
        new = np.where(rows < 0, np.nan, pool[f"{POOLED}predicted"][rows])
    return replace_arrays(evidence, predicted=np.where(np.isnan(old), np.nan, new))


OTHER_PREDICTION = NullModel(
    "permuted_samples",
    "each explanation with the prediction for another",
    _of_another,
    sums=_some_predictions,
)


def of_all(null: NullModel) -> NullModel:
    """The same for a score that has all samples at once, and so needs no sums beforehand."""
    return replace(null, sums=None, make=null.made)
