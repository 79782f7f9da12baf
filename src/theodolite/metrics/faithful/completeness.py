"""Do the concepts hold all that the network's answer needs?"""

from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.surrogate_settings import ideal
from theodolite.metrics.base import Card, Weights, metric
from theodolite.metrics.faithful._accuracy import AccuracyKept
from theodolite.metrics.faithful._nulls import BLIND
from theodolite.metrics.faithful.frame import surrogate_outputs
from theodolite.metrics.option_types import Chance


@metric(
    "completeness",
    title="Completeness (Yeh)",
    version=1,
    question="faithful",
    better="higher",
    bounds=(float("-inf"), float("inf")),
    uses=("importances", "learned", "labels"),
    may_use=("outputs", "embeddings", "head", "bias", "vectors", "projections"),
    decides=False,
    nulls=BLIND,
    ideal=ideal,
    cite="yeh2020completeness",
    card=Card(
        asks="Could the network's answers be had from the concepts, by any means?",
        read="1 means that nothing needed is missing from the concepts, 0 that they tell nothing.",
        misleads="A network stands between concepts and answer, so that it says what could be made "
        "of the concepts and not what an explanation makes of them. Random directions are often "
        "as complete: compare with them. Importances are not looked at.",
        cost="counts; the fit of the network comes before",
    ),
)
class Completeness(AccuracyKept):
    r"""Accuracy above chance of the best predictor on the concepts, as a share of the network's.

    .. math:: \eta = \frac{\sup_g a(f(g(P(h)))) - a_r}{a(f(h)) - a_r}

    Introduced in :cite:t:`yeh2020completeness`. The best predictor is approached by a network
    :math:`g` that is fitted to turn projections back into embeddings; ``learned`` is what the last
    layer puts out for these, on samples that :math:`g` was not fitted on.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import completeness
        >>> completeness(
        ...     np.ones((1, 2)),
        ...     learned=np.array([[2.0, 1.0], [2.0, 1.0], [0.0, 1.0], [0.0, 1.0]]),
        ...     outputs=np.array([[3.0, 0.0], [3.0, 0.0], [0.0, 3.0], [2.0, 3.0]]),
        ...     projections=np.ones((4, 1)),
        ...     labels=np.array([0, 0, 1, 0]),
        ... )
        1.0
    """

    @classmethod
    def of(
        cls, evidence: SurrogateEvidence, weights: Weights = None, *, chance: Chance = None
    ) -> "Completeness":
        return cls.by(evidence, surrogate_outputs(evidence, "learned"), weights, chance)
