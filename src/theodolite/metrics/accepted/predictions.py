"""Metrics of acceptance: mean ratings, and agreement of predicted with actual ratings."""

from functools import partial
from typing import Annotated, Literal, cast

import numpy as np
from jaxtyping import Bool, Float
from pydantic import Field

from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.rating_summary import aggregate_ratings
from theodolite.metrics.accepted._nulls import (
    ALWAYS_THE_AVERAGE,
    OTHER_PREDICTION,
    RANDOM_VOTES,
    of_all,
)
from theodolite.metrics.accepted._ratings import (
    QuadraticKappa,
    clip_predictions,
    find_nearest_answer,
    rating_metric,
    spearman,
    sum_pairs,
    target,
)
from theodolite.metrics.base import Card, PerSample, Pooled, SampleMean, Weights, metric
from theodolite.metrics.option_types import Against

Rounded = Annotated[
    Literal["no", "yes"],
    Field(description="Whether predictions and votes are rounded to the nearest answer first."),
]
prediction_metric = partial(
    rating_metric,
    uses=("ratings", "scale", "predicted"),
    nulls=(ALWAYS_THE_AVERAGE, OTHER_PREDICTION),
)


@metric(
    "acceptance",
    title="Acceptance",
    version=2,
    question="accepted",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("ratings", "scale"),
    nulls=(RANDOM_VOTES,),
    threshold=0.75,
    cite="kazmierczak2024benchmarking",
    card=Card(
        question="Do people accept the explanations?",
        interpretation="0 is the lowest answer from everybody, 1 the highest; 0.75 is four of five "
        "stars. From 0.75 on we would say that they are accepted; that line is a convention.",
        limitations="Raters who like everything make every explanation accepted, and liking is not "
        "understanding. Read it beside the agreement of the raters, and beside the acceptance of "
        "a poor explanation by the same people. Not seen: columns copied from one rater, ratings "
        "that were not given, a scale that starts below the lowest answer that was offered, and "
        "the same explanations again (declare clusters).",
        cost="one mean per explanation",
        template="Votes reach {value} of the way from the lowest answer to the highest "
        "({low}–{high}{best}). {null}{enough}.",
    ),
)
class Acceptance(SampleMean):
    r"""Mean vote, with the lowest answer of the scale as 0 and the highest as 1.

    .. math:: \frac{1}{n} \sum_i \frac{\bar r_i - s_1}{s_k - s_1}

    Each explanation counts once, however many people rated it. One that nobody rated is left out
    and counted as undefined.

    Example:
        >>> from numpy import nan
        >>> from theodolite.metrics import acceptance
        >>> acceptance([[5.0, 4.0], [3.0, nan]], scale=[1.0, 2, 3, 4, 5])
        0.6875
    """

    @staticmethod
    def each(evidence: RatingEvidence) -> PerSample:
        low, high = evidence.scale[0], evidence.scale[-1]
        means = (aggregate_ratings(evidence.ratings, evidence.scale, "mean") - low) / (high - low)
        return PerSample.from_values(np.clip(means, 0.0, 1.0))


@prediction_metric(
    "predicted_rating_error",
    title="Error of predicted votes (MSE)",
    better="lower",
    bounds=(0.0, float("inf")),
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
        >>> from theodolite.metrics import predicted_rating_error
        >>> votes, scale = [[1.0], [2], [3], [4], [5], [5], [3], [2]], [1.0, 2, 3, 4, 5]
        >>> predicted = [1.2, 2.6, 2.4, 4.49, 3.5, 5, 3, 1.5]
        >>> round(predicted_rating_error(votes, scale, predicted), 6)
        0.437513
    """

    @staticmethod
    def each(evidence: RatingEvidence, *, against: Against = "mode") -> PerSample:
        return PerSample.from_values((clip_predictions(evidence) - target(evidence, against)) ** 2)


@prediction_metric(
    "predicted_rating_agreement",
    paper_names=("QWK",),
    title="Agreement of predicted votes (QWK)",
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
        >>> from theodolite.metrics import predicted_rating_agreement
        >>> votes, scale = [[1.0], [2], [3], [4], [5], [5], [3], [2]], [1.0, 2, 3, 4, 5]
        >>> predicted = [1.2, 2.6, 2.4, 4.49, 3.5, 5, 3, 1.5]
        >>> round(predicted_rating_agreement(votes, scale, predicted), 6)
        0.888889
    """

    @classmethod
    def of(
        cls, evidence: RatingEvidence, weights: Weights = None, *, against: Against = "mode"
    ) -> "PredictedRatingAgreement":
        predicted = find_nearest_answer(np.asarray(evidence.predicted, np.float64), evidence.scale)
        voted = find_nearest_answer(target(evidence, against), evidence.scale)
        both = (predicted >= 0) & (voted >= 0)
        each = sum_pairs(predicted.astype(float), voted.astype(float), both)
        return cls.by(each, (~both).astype(float), weights)


@prediction_metric(
    "predicted_rating_correlation",
    title="Correlation of predicted votes (Spearman)",
    nulls=(of_all(OTHER_PREDICTION),),
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
        >>> from theodolite.metrics import predicted_rating_correlation
        >>> votes, scale = [[1.0], [2], [3], [4], [5], [5], [3], [2]], [1.0, 2, 3, 4, 5]
        >>> predicted = [1.2, 2.6, 2.4, 4.49, 3.5, 5, 3, 1.5]
        >>> round(predicted_rating_correlation(votes, scale, predicted, rounded="yes"), 6)
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
        """Compute the correlation for each row of weights."""
        predicted, voted = np.asarray(evidence.predicted, np.float64), target(evidence, against)
        rows = np.flatnonzero(_known(evidence))
        predicted, voted = predicted[rows], voted[rows].round(9)
        if rounded == "yes":
            predicted, voted = (
                find_nearest_answer(side, evidence.scale).astype(float)
                for side in (predicted, voted)
            )
        return spearman(predicted, voted, weights[:, rows])


def _known(evidence: RatingEvidence) -> Bool[np.ndarray, " samples"]:
    """Return where somebody rated and something is predicted."""
    voted = ~np.isnan(evidence.ratings).all(axis=1)
    return np.asarray(voted & ~np.isnan(np.asarray(evidence.predicted, np.float64)))
