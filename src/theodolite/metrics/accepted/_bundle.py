"""What the acceptance scores take from ratings: positions on the scale, targets."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.rating_summary import Aggregate, Ties, aggregated
from theodolite.metrics.base import ratio

Ratings = Float[np.ndarray, "samples raters"]
Scale = Float[np.ndarray, " levels"]


def quotient(part: Any, whole: Any) -> np.ndarray:
    """As ``ratio``, of sums that may be single numbers; NaN where the whole is not above 0."""
    return ratio(np.asarray(part, np.float64), np.asarray(whole, np.float64))


def nearest(values: Float[np.ndarray, "*n"], scale: Scale) -> Int[np.ndarray, "*n"]:
    """The position on the scale of the nearest answer, halves going up; -1 where there is none.

    >>> nearest(np.array([1.2, 2.5, 4.49, 9.0, np.nan]), np.arange(1.0, 6)).tolist()
    [0, 2, 3, 4, -1]
    """
    middles = (scale[1:] + scale[:-1]) / 2
    positions = np.searchsorted(middles, values, side="right")
    return np.asarray(np.where(np.isnan(values), -1, positions))


def target(evidence: RatingEvidence, against: Aggregate, ties: Ties = "lowest") -> np.ndarray:
    """One number for each explanation's votes."""
    return aggregated(evidence.ratings, evidence.scale, against, ties)


def clipped_predictions(evidence: RatingEvidence) -> Float[np.ndarray, " samples"]:
    """What is predicted, with what lies beyond the scale moved to its end."""
    scale = evidence.scale
    return np.clip(np.asarray(evidence.predicted, np.float64), scale[0], scale[-1])
