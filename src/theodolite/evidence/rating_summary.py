"""Summarize the ratings of each explanation: mode, mean, median, ties and groups of raters."""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Raters
from theodolite.evidence.kinds.rating import RatingEvidence

Aggregate: TypeAlias = Literal["mode", "mean", "median"]
Ties: TypeAlias = Literal["lowest", "median", "nan"]


@dataclass(frozen=True, eq=False)
class RatingSummary:
    """Ratings of each explanation in numbers; the same columns for every question."""

    histogram: Int[np.ndarray, "samples levels"]
    """How often each answer of the scale was given."""
    mode: Float[np.ndarray, " samples"]
    mode_tie: Bool[np.ndarray, " samples"]
    """Whether two or more answers were given most often."""
    mean: Float[np.ndarray, " samples"]
    median: Float[np.ndarray, " samples"]
    votes: Int[np.ndarray, " samples"]


def histogram(
    ratings: Float[np.ndarray, "samples raters"], scale: Float[np.ndarray, " levels"]
) -> Int[np.ndarray, "samples levels"]:
    """Return how often each answer of the scale was given for each explanation.

    >>> histogram(np.array([[5.0, 4, 4, np.nan, 1]]), np.arange(1.0, 6))
    array([[1, 0, 0, 2, 1]])
    """
    counts = np.zeros((len(ratings), len(scale)), dtype=np.int64)
    for level, answer in enumerate(scale):
        counts[:, level] = (ratings == answer).sum(1)
    return counts


def aggregate_ratings(
    ratings: Float[np.ndarray, "samples raters"],
    scale: Float[np.ndarray, " levels"],
    how: Aggregate = "mode",
    ties: Ties = "lowest",
) -> Float[np.ndarray, " samples"]:
    """Return one number per explanation from its ratings; NaN if nobody rated it.

    ``ties`` says what the mode is where it is not unique: the lowest of the answers given most
    often, the median of all votes (the lower of the two in the middle, so that it is an answer of
    the scale), or NaN. About a third of all patterns of five votes on five answers tie.

    >>> aggregate_ratings(np.array([[1.0, 2, 3, 4, 5], [5, 4, 4, 5, 1]]), np.arange(1.0, 6))
    array([1., 4.])
    """
    if how == "mode":
        return compute_modes(histogram(ratings, scale), scale, ties)
    has_vote = ~np.isnan(ratings)
    votes = has_vote.sum(1)
    if how == "mean":
        total = np.where(has_vote, ratings, 0.0).sum(1)
        return np.where(votes > 0, total / np.maximum(votes, 1), np.nan)
    if not ratings.shape[1]:
        return np.full(len(ratings), np.nan)
    ordered = np.sort(ratings, axis=1)  # NaN come last
    rows = np.arange(len(ratings))
    low, high = np.maximum(votes - 1, 0) // 2, np.maximum(votes, 1) // 2
    high = np.minimum(high, ratings.shape[1] - 1)
    return np.asarray((ordered[rows, low] + ordered[rows, high]) / 2)


def compute_modes(
    counts: Int[np.ndarray, "samples levels"], scale: Float[np.ndarray, " levels"], ties: Ties
) -> Float[np.ndarray, " samples"]:
    """Return the most frequent answer from the counts of each answer."""
    result = np.where(counts.any(1), scale[counts.argmax(1)], np.nan)
    if ties == "lowest":
        return result
    tied = _tied(counts)
    if ties == "nan":
        return np.where(tied, np.nan, result)
    passed = counts.cumsum(1) * 2 >= counts.sum(1, keepdims=True)
    return np.where(tied, scale[passed.argmax(1)], result)


def mode_ties(ratings: Float[np.ndarray, "samples raters"]) -> Bool[np.ndarray, " samples"]:
    """Return where two or more answers were given most often.

    >>> mode_ties(np.array([[5.0, 4, 4, 5, 1], [5, 4, 4, 4, 1]]))
    array([ True, False])
    """
    return _tied(histogram(ratings, np.unique(ratings[~np.isnan(ratings)])))


def _tied(counts: Int[np.ndarray, "samples levels"]) -> Bool[np.ndarray, " samples"]:
    most = counts.max(1, keepdims=True, initial=0)
    return np.asarray(((counts == most) & (most > 0)).sum(1) > 1)


def by_group(evidence: RatingEvidence) -> dict[str, RatingEvidence]:
    """Return the ratings of each group of raters separately.

    Explanations stay the same; those that nobody of a group rated have no vote there. Groups
    without any vote are left out.

    >>> votes = RatingEvidence(ratings=np.ones((2, 3)), scale=np.arange(1.0, 6), group=[0, 1, 0])
    >>> {name: len(part.raters) for name, part in by_group(votes).items()}
    {'group 0': 2, 'group 1': 1}
    """
    if evidence.group is None:
        raise EvidenceError("group", "nothing", "the group of each rater")
    parts = {}
    for number, name in enumerate(evidence.groups.names):
        columns = np.flatnonzero(evidence.group == number)
        ratings = evidence.ratings[:, columns]
        if not np.isnan(ratings).all():
            raters = Raters(tuple(evidence.raters.names[i] for i in columns))
            group = evidence.group[columns]
            parts[name] = replace(evidence, ratings=ratings, raters=raters, group=group)
    return parts


def summary(evidence: RatingEvidence, *, ties: Ties = "lowest") -> RatingSummary:
    """Return all columns that are exported for each explanation's ratings."""
    counts = histogram(evidence.ratings, evidence.scale)
    return RatingSummary(
        counts,
        compute_modes(counts, evidence.scale, ties),
        _tied(counts),
        aggregate_ratings(evidence.ratings, evidence.scale, "mean"),
        aggregate_ratings(evidence.ratings, evidence.scale, "median"),
        counts.sum(1),
    )
