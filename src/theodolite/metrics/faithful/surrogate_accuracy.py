"""How much of the network's accuracy do concepts and importances keep?"""

from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.surrogate_settings import ideal
from theodolite.metrics.base import Card, Weights, metric
from theodolite.metrics.faithful._accuracy import AccuracyKept
from theodolite.metrics.faithful._nulls import BLIND
from theodolite.metrics.faithful.frame import (
    MAY_USE,
    USES_IF,
    Projection,
    Surrogate,
    surrogate_outputs,
)
from theodolite.metrics.option_types import Chance


@metric(
    "surrogate_accuracy",
    title="Accuracy kept (CSHAP)",
    version=1,
    question="faithful",
    better="higher",
    bounds=(float("-inf"), float("inf")),
    uses=("importances", "labels"),
    may_use=MAY_USE,
    uses_if=USES_IF,
    decides=False,
    nulls=BLIND,
    ideal=ideal,
    cite="kumar2026unfaithfulness",
    card=Card(
        asks="How much of the network's accuracy is left if only the explanation answers?",
        read="1 is all of it, 0 is chance, below 0 is worse than chance. Above 1 the explanation "
        "is right more often than the network that it explains, which is not faithful either.",
        misleads="Being right for other reasons counts as well: it compares with the labels, not "
        "with the network. Nearly blind to importances.",
        cost="one product of embeddings and summed concept vectors",
    ),
)
class SurrogateAccuracy(AccuracyKept):
    r"""Accuracy of the explanation above chance, as a share of the network's.

    .. math:: \frac{a(\hat y) - a_r}{a(y) - a_r}

    :math:`a_r` is the accuracy of a random answer, 1 / classes unless ``chance`` says otherwise.
    As printed (CSHAP\ :sub:`1`, eq. 8 of :cite:t:`kumar2026unfaithfulness`) the formula subtracts
    the rate from counts; here all are rates. Undefined for a network that is no better than chance.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import surrogate_accuracy
        >>> surrogate_accuracy(
        ...     np.array([[2.0, np.nan], [np.nan, 0.5]]),
        ...     embeddings=np.array([[1.0, 0.0], [1.0, 3.0]]),
        ...     head=np.array([[2.0, 0.0], [0.0, 1.0]]),
        ...     vectors=np.eye(2),
        ...     labels=np.array([0, 1]),
        ... )
        0.0
    """

    @classmethod
    def of(
        cls,
        evidence: SurrogateEvidence,
        weights: Weights = None,
        *,
        surrogate: Surrogate = "linear",
        projection: Projection = "given",
        chance: Chance = None,
    ) -> "SurrogateAccuracy":
        answers = surrogate_outputs(evidence, surrogate, projection)
        return cls.by(evidence, answers, weights, chance)
