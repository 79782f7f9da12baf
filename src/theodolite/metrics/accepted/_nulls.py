"""Null baselines of the acceptance scores."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.rating_summary import aggregated
from theodolite.evidence.sampling import LUCK, POOLED, another, pool_of, uniform
from theodolite.metrics.base import NullModel


def _with(evidence: RatingEvidence, **changed: Any) -> RatingEvidence:
    """The same with other arrays. A shard may have no answer at all, so nothing is checked."""
    other = evidence[slice(None)]
    for name, values in changed.items():
        object.__setattr__(other, name, values)
    return other


def _at_random(evidence: RatingEvidence, seed: int) -> RatingEvidence:
    ratings, scale = evidence.ratings, evidence.scale
    draws = uniform(np.asarray(evidence.samples.index), (ratings.shape[1],), seed)
    answers = scale[(draws * len(scale)).astype(np.int64)]
    return _with(evidence, ratings=np.where(np.isnan(ratings), np.nan, answers))


RANDOM_VOTES = NullModel(
    "votes at random", "every vote drawn from all answers of the scale alike", _at_random
)


def _answers(evidence: RatingEvidence) -> dict[str, np.ndarray]:
    """How often each rater gave each answer."""
    counts = [(evidence.ratings == answer).sum(axis=0) for answer in evidence.scale]
    return {"answers": np.stack(counts, axis=1).astype(float)}


def _dealt_out(
    evidence: RatingEvidence, seed: int, sums: Mapping[str, np.ndarray]
) -> RatingEvidence:
    ratings = evidence.ratings
    up_to = np.cumsum(sums["answers"], axis=1)
    up_to /= np.maximum(up_to[:, -1:], 1.0)
    draws = uniform(np.asarray(evidence.samples.index), (ratings.shape[1],), seed)
    level = (draws[:, :, None] >= up_to[None, :, :-1]).sum(axis=2)
    return _with(evidence, ratings=np.where(np.isnan(ratings), np.nan, evidence.scale[level]))


DEALT_OUT = NullModel(
    "votes dealt out",
    "each rater gives each answer as often as they did, but to explanations at random",
    _dealt_out,
    sums=_answers,
)


def _mean_votes(evidence: RatingEvidence) -> dict[str, np.ndarray]:
    means = aggregated(evidence.ratings, evidence.scale, "mean")
    known = ~np.isnan(means)
    return {"sum": np.array(means[known].sum()), "items": np.array(float(known.sum()))}


def _the_average(
    evidence: RatingEvidence, seed: int, sums: Mapping[str, np.ndarray]
) -> RatingEvidence:
    del seed
    mean = float(sums["sum"]) / float(sums["items"]) if sums["items"] > 0 else np.nan
    old = np.asarray(evidence.predicted)
    return _with(evidence, predicted=np.where(np.isnan(old), np.nan, mean))


ALWAYS_THE_AVERAGE = NullModel(
    "always the average",
    "whatever the explanation, the average of all votes is predicted",
    _the_average,
    sums=_mean_votes,
    random=False,
)


def _some_predictions(evidence: RatingEvidence) -> dict[str, np.ndarray]:
    predicted = np.asarray(evidence.predicted)
    known = ~np.isnan(predicted)
    return pool_of(np.asarray(evidence.samples.index)[known], {"predicted": predicted[known]})


def _of_another(
    evidence: RatingEvidence, seed: int, pool: Mapping[str, np.ndarray]
) -> RatingEvidence:
    old = np.asarray(evidence.predicted)
    new = np.full(len(old), np.nan)
    if len(pool[LUCK]):
        rows = another(pool, np.asarray(evidence.samples.index), (), seed)
        new = np.where(rows < 0, np.nan, pool[f"{POOLED}predicted"][rows])
    return _with(evidence, predicted=np.where(np.isnan(old), np.nan, new))


OTHER_PREDICTION = NullModel(
    "shuffled samples",
    "each explanation with the prediction for another",
    _of_another,
    sums=_some_predictions,
)


def of_all(null: NullModel) -> NullModel:
    """The same for a score that has all samples at once, and so needs no sums beforehand."""
    return replace(null, sums=None, make=null.made)
