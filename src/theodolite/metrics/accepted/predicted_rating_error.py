"""How far are predicted votes from real ones?"""

import numpy as np

from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.metrics.accepted._bundle import (
    clipped_predictions,
    target,
)
from theodolite.metrics.accepted._nulls import ALWAYS_THE_AVERAGE, OTHER_PREDICTION
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.option_types import Against


@metric(
    "predicted_rating_error",
    title="Error of predicted votes (MSE)",
    version=1,
    question="accepted",
    better="lower",
    bounds=(0.0, float("inf")),
    uses=("ratings", "scale", "predicted"),
    decides=False,
    nulls=(ALWAYS_THE_AVERAGE, OTHER_PREDICTION),
    cite="kazmierczak2024benchmarking",
    card=Card(
        asks="How far are predicted votes from real ones?",
        read="0 is no error; on a scale of five answers 1 is one answer beside it. It tells about "
        "the learned score, not about the explanations.",
        misleads="Where most explanations get the same votes, always predicting the average does "
        "nearly as well: compare with that.",
        cost="one difference per explanation",
    ),
)
class PredictedRatingError(SampleMean):
    r"""Mean squared difference of prediction and votes, on the scale and not rounded.

    .. math:: \frac1n \sum_i (\hat r_i - r_i)^2

    Predictions beyond the ends of the scale are moved to them. Votes are put together by their
    mode (the lowest, where it is not unique), mean or median.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import predicted_rating_error
        >>> error = predicted_rating_error(
        ...     np.array([[1.0], [2], [3], [4], [5], [5], [3], [2]]),
        ...     np.arange(1.0, 6),
        ...     np.array([1.2, 2.6, 2.4, 4.49, 3.5, 5, 3, 1.5]),
        ... )
        >>> round(error, 6)
        0.437513
    """

    @staticmethod
    def each(evidence: RatingEvidence, *, against: Against = "mode") -> PerSample:
        """The squared difference of each explanation."""
        apart = clipped_predictions(evidence) - target(evidence, against)
        known = ~np.isnan(apart)
        return PerSample(
            np.where(known, apart, 0.0) ** 2, known.astype(float), np.ones(len(apart), bool)
        )
