"""Do predicted votes agree with those of people?"""

from typing import Annotated, Literal, cast

import numpy as np
from jaxtyping import Bool, Float
from pydantic import Field

from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.metrics.accepted._bundle import (
    clipped_predictions,
    nearest,
    target,
)
from theodolite.metrics.accepted._kappa import QuadraticKappa, pair_sums
from theodolite.metrics.accepted._nulls import ALWAYS_THE_AVERAGE, OTHER_PREDICTION, of_all
from theodolite.metrics.accepted._ranks import spearman
from theodolite.metrics.base import Card, PerSample, Pooled, SampleMean, Weights, metric
from theodolite.metrics.option_types import Against


@metric(
    "predicted_rating_error",
    title="Error of predicted votes (MSE)",
    question="accepted",
    better="lower",
    bounds=(0.0, float("inf")),
    uses=("ratings", "scale", "predicted"),
    decides=False,
    nulls=(ALWAYS_THE_AVERAGE, OTHER_PREDICTION),
    cite="kazmierczak2024benchmarking",
    card=Card(
        question="How far are predicted votes from real ones?",
        interpretation="0 is no error; on a scale of five answers 1 is one answer beside it. It "
        "tells about the learned score, not about the explanations.",
        limitations="Where most explanations get the same votes, always predicting the average "
        "does nearly as well: compare with that.",
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


@metric(
    "predicted_rating_agreement",
    paper_names=("QWK",),
    title="Agreement of predicted votes (QWK)",
    question="accepted",
    better="higher",
    bounds=(-1.0, 1.0),
    uses=("ratings", "scale", "predicted"),
    decides=False,
    nulls=(ALWAYS_THE_AVERAGE, OTHER_PREDICTION),
    cite="kazmierczak2024benchmarking",
    card=Card(
        question="Do predicted votes agree with the votes of people?",
        interpretation="1 is the same answer always, 0 chance. Compare with rater_agreement, which "
        "one person reaches against the others. It tells about the learned score, not about the "
        "explanations.",
        limitations="A prediction that hardly moves from the average rounds to one answer and "
        "scores 0, even if it orders the explanations well: read it beside the correlation.",
        cost="one comparison per explanation",
    ),
)
class PredictedRatingAgreement(QuadraticKappa):
    r"""Quadratic kappa of the nearest answer to the prediction with the votes.

    .. math:: \kappa = 1 - \frac{\sum_{ij} w_{ij} O_{ij}}{\sum_{ij} w_{ij} E_{ij}}, \qquad
        w_{ij} = \frac{(i - j)^2}{(k - 1)^2}

    :math:`O_{ij}` counts how often answer :math:`i` of the :math:`k` meets answer :math:`j`,
    :math:`E_{ij}` how often it would if the two were independent.

    Halves go up, to the higher answer, and so do means and medians of votes that are no answer.
    Distances are those on the full scale. Undefined if all are one and the same answer.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import predicted_rating_agreement
        >>> agreement = predicted_rating_agreement(
        ...     np.array([[1.0], [2], [3], [4], [5], [5], [3], [2]]),
        ...     np.arange(1.0, 6),
        ...     np.array([1.2, 2.6, 2.4, 4.49, 3.5, 5, 3, 1.5]),
        ... )
        >>> round(agreement, 6)
        0.888889
    """

    @classmethod
    def of(
        cls, evidence: RatingEvidence, weights: Weights = None, *, against: Against = "mode"
    ) -> "PredictedRatingAgreement":
        predicted = nearest(np.asarray(evidence.predicted, np.float64), evidence.scale)
        voted = nearest(target(evidence, against), evidence.scale)
        both = (predicted >= 0) & (voted >= 0)
        each = pair_sums(predicted.astype(float), voted.astype(float), both)
        return cls.by(each, (~both).astype(float), weights)


Rounded = Annotated[
    Literal["no", "yes"],
    Field(description="Whether predictions and votes are rounded to the nearest answer first."),
]


@metric(
    "predicted_rating_correlation",
    title="Correlation of predicted votes (Spearman)",
    question="accepted",
    better="higher",
    bounds=(-1.0, 1.0),
    uses=("ratings", "scale", "predicted"),
    decides=False,
    nulls=(of_all(OTHER_PREDICTION),),
    cite="kazmierczak2024benchmarking",
    card=Card(
        question="Do predicted votes order explanations as people do?",
        interpretation="1 is the same order, 0 an unrelated one. Compare with rater_correlation, "
        "which one person reaches against the others. It tells about the learned score, not about "
        "the explanations.",
        limitations="The order of images counts as well as that of explanations: a score that only "
        "sees which image is easy correlates, too.",
        cost="one sort of predictions and votes",
    ),
)
class PredictedRatingCorrelation(Pooled):
    r"""Spearman's correlation of predictions and votes.

    .. math:: \rho = \mathrm{corr}\bigl(\mathrm{rank}(\hat r), \mathrm{rank}(r)\bigr)

    ``rounded="yes"`` takes the nearest answers instead, halves going up, as the code of
    :cite:t:`kazmierczak2024benchmarking` does. Their tables print the mean of the correlation
    and its p-value, about half of it. Undefined if all predictions, or all votes, are the same.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import predicted_rating_correlation
        >>> correlation = predicted_rating_correlation(
        ...     np.array([[1.0], [2], [3], [4], [5], [5], [3], [2]]),
        ...     np.arange(1.0, 6),
        ...     np.array([1.2, 2.6, 2.4, 4.49, 3.5, 5, 3, 1.5]),
        ...     rounded="yes",
        ... )
        >>> round(correlation, 6)
        0.882716
    """

    def counted(self) -> tuple[np.ndarray, np.ndarray]:
        """Explanations that entered, and those without a prediction or a vote."""
        whole, weights = self._whole()
        evidence = cast(RatingEvidence, whole)
        known = _known(evidence)
        return weights[:, known].sum(axis=1), weights[:, ~known].sum(axis=1)

    @staticmethod
    def measure(
        evidence: RatingEvidence,
        weights: Float[np.ndarray, "rows samples"],
        *,
        against: Against = "mode",
        rounded: Rounded = "no",
    ) -> Float[np.ndarray, " rows"]:
        """The correlation for each row of weights."""
        predicted, voted = np.asarray(evidence.predicted, np.float64), target(evidence, against)
        rows = np.flatnonzero(_known(evidence))
        predicted, voted = predicted[rows], voted[rows].round(9)
        if rounded == "yes":
            predicted, voted = (
                nearest(side, evidence.scale).astype(float) for side in (predicted, voted)
            )
        return spearman(predicted, voted, weights[:, rows])


def _known(evidence: RatingEvidence) -> Bool[np.ndarray, " samples"]:
    """Whether somebody voted and something is predicted."""
    voted = ~np.isnan(evidence.ratings).all(axis=1)
    return np.asarray(voted & ~np.isnan(np.asarray(evidence.predicted, np.float64)))
