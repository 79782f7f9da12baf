"""Do predicted votes agree with real ones?"""

import numpy as np

from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.metrics.accepted._bundle import nearest, target
from theodolite.metrics.accepted._kappa import QuadraticKappa, pair_sums
from theodolite.metrics.accepted._nulls import ALWAYS_THE_AVERAGE, OTHER_PREDICTION
from theodolite.metrics.base import Card, Weights, metric
from theodolite.metrics.option_types import Against


@metric(
    "predicted_rating_agreement",
    paper_names=("QWK",),
    title="Agreement of predicted votes (QWK)",
    version=1,
    question="accepted",
    better="higher",
    bounds=(-1.0, 1.0),
    uses=("ratings", "scale", "predicted"),
    decides=False,
    nulls=(ALWAYS_THE_AVERAGE, OTHER_PREDICTION),
    cite="kazmierczak2024benchmarking",
    card=Card(
        asks="Do predicted votes agree with the votes of people?",
        read="1 is the same answer always, 0 chance. Compare with rater_agreement, which one "
        "person reaches against the others. It tells about the learned score, not about the "
        "explanations.",
        misleads="A prediction that hardly moves from the average rounds to one answer and scores "
        "0, even if it orders the explanations well: read it beside the correlation.",
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
