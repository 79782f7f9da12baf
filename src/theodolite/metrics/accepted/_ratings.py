"""Share scales, kappa and correlations among the acceptance metrics."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, TypeVar

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.rating_summary import Aggregate, Ties, aggregate_ratings
from theodolite.metrics.accepted._nulls import DEALT_OUT
from theodolite.metrics.base import Additive, Weights, metric, ratio, total

Scale = Float[np.ndarray, " levels"]
Rows = Float[np.ndarray, "rows samples"]
Kappa = TypeVar("Kappa", bound="QuadraticKappa")
SUMS = 5
"""Pairs, the first's sum, the second's, squares of both, and squared differences."""
BLOCK = 4_000_000
"""Weights that are looked at together."""
rating_metric = partial(
    metric,
    question="accepted",
    better="higher",
    bounds=(-1.0, 1.0),
    uses=("ratings", "scale"),
    decides=False,
    nulls=(DEALT_OUT,),
    cite="kazmierczak2024benchmarking",
)


def find_nearest_answer(values: Float[np.ndarray, "*n"], scale: Scale) -> Int[np.ndarray, "*n"]:
    """Return the scale position of the nearest answer, halves going up; -1 where missing.

    >>> find_nearest_answer(np.array([1.2, 2.5, 4.49, 9.0, np.nan]), np.arange(1.0, 6)).tolist()
    [0, 2, 3, 4, -1]
    """
    middles = (scale[1:] + scale[:-1]) / 2
    positions = np.searchsorted(middles, values, side="right")
    return np.asarray(np.where(np.isnan(values), -1, positions))


def target(evidence: RatingEvidence, against: Aggregate, ties: Ties = "lowest") -> np.ndarray:
    """Return one number for the votes on each explanation."""
    return aggregate_ratings(evidence.ratings, evidence.scale, against, ties)


def clip_predictions(evidence: RatingEvidence) -> Float[np.ndarray, " samples"]:
    """Return predictions clipped to the ends of the scale."""
    scale = evidence.scale
    return np.clip(np.asarray(evidence.predicted, np.float64), scale[0], scale[-1])


def compute_quadratic_kappa(sums: Float[np.ndarray, "*n 5"]) -> Float[np.ndarray, "*n"]:
    """Compute one minus observed over expected squared differences.

    In positions on the full scale, seen or not. Undefined where all answers of both are the same.
    """
    pairs, first, second, squares, apart = np.moveaxis(sums, -1, 0)
    expected = squares - 2 * first * second / np.maximum(pairs, 1.0)
    return np.asarray(1 - ratio(apart, expected))


def sum_pairs(
    first: Float[np.ndarray, "*n"], second: Float[np.ndarray, "*n"], both: Bool[np.ndarray, "*n"]
) -> Float[np.ndarray, "*n 5"]:
    """Return the sums that each pair of positions contributes; 0 where one is missing."""
    x, y = np.where(both, first, 0.0), np.where(both, second, 0.0)
    return np.stack([both.astype(float), x, y, x**2 + y**2, (x - y) ** 2], axis=-1)


@dataclass(frozen=True)
class QuadraticKappa(Additive):
    """Sums over pairs of answers, and how many answers had no partner."""

    sums: np.ndarray
    alone: np.ndarray

    counts_of: ClassVar[str] = "answers"

    @classmethod
    def by(
        cls: type[Kappa],
        each: Float[np.ndarray, "samples 5"],
        alone: Float[np.ndarray, " samples"],
        weights: Weights,
    ) -> Kappa:
        """Build the state of a shard from what each sample contributes."""
        return cls(sums=total(each, weights), alone=total(alone, weights))

    def counted(self) -> tuple[np.ndarray, np.ndarray]:
        """Answers that entered, and answers with nothing to compare with."""
        return np.asarray(self.sums[..., 0]), self.alone

    def value(self) -> Float[np.ndarray, "*resamples"]:
        """Compute the kappa from the sums."""
        return compute_quadratic_kappa(self.sums)


def spearman(
    x: Float[np.ndarray, " samples"], y: Float[np.ndarray, " samples"], weights: np.ndarray
) -> Float[np.ndarray, " rows"]:
    """Correlation of ranks, equal values sharing theirs, as if samples were repeated.

    Undefined where one side has a single value.

    >>> x, y = np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 4])
    >>> spearman(x, y, np.array([[1.0, 1, 1, 1], [1, 0, 0, 2]]))
    array([0.8, 1. ])
    """
    if len(x) < 2:
        return np.full(len(weights), np.nan)
    of_x, of_y = (np.unique(side, return_inverse=True)[1].astype(np.int64) for side in (x, y))
    # votes have few values: samples that share both are counted together first
    both, pair = np.unique(of_x * (int(of_y.max()) + 1) + of_y, return_inverse=True)
    of_x, of_y = both // (int(of_y.max()) + 1), both % (int(of_y.max()) + 1)
    step = max(BLOCK // len(x), 1)
    coefficients = [np.empty(0)]
    for at in range(0, len(weights), step):
        times = _summed(np.asarray(weights[at : at + step], np.float64), pair)
        coefficients.append(
            _correlated(_compute_ranks(of_x, times), _compute_ranks(of_y, times), times)
        )
    return np.concatenate(coefficients)


def pearson(
    x: Float[np.ndarray, " samples"], y: Float[np.ndarray, " samples"], weights: np.ndarray
) -> Float[np.ndarray, " rows"]:
    """Correlation, each sample counted so many times; NaN if a side never varies."""
    step = max(BLOCK // max(len(x), 1), 1)
    coefficients = [np.empty(0)]
    for at in range(0, len(weights), step):
        times = np.asarray(weights[at : at + step], np.float64)
        wide_x, wide_y = (np.broadcast_to(side, times.shape) for side in (x, y))
        coefficients.append(_correlated(wide_x, wide_y, times))
    return np.concatenate(coefficients)


def _summed(times: Rows, group: Int[np.ndarray, " samples"]) -> Float[np.ndarray, "rows groups"]:
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    return np.asarray(np.add.reduceat(times[:, order], starts, axis=1))


def _compute_ranks(value: Int[np.ndarray, " groups"], times: np.ndarray) -> np.ndarray:
    """Return mean ranks, equal for tied values."""
    same = _summed(times, value)
    return np.asarray((np.cumsum(same, axis=1) - same / 2)[:, value])


def _correlated(x: np.ndarray, y: np.ndarray, times: np.ndarray) -> np.ndarray:
    there = times > 0
    varies = [
        np.where(there, side, -np.inf).max(1, initial=-np.inf)
        > np.where(there, side, np.inf).min(1, initial=np.inf)
        for side in (x, y)
    ]
    n = times.sum(axis=1)
    x, y = (side - ratio((times * side).sum(axis=1), n)[:, None] for side in (x, y))
    spread = np.sqrt((times * x**2).sum(axis=1) * (times * y**2).sum(axis=1))
    coefficients = ratio((times * x * y).sum(axis=1), np.where(varies[0] & varies[1], spread, 0.0))
    return np.asarray(np.clip(coefficients, -1.0, 1.0))
