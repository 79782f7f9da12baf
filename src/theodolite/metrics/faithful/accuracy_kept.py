"""How much of a network's accuracy does a surrogate keep?"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from jaxtyping import Float

from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.surrogate_settings import ideal, outputs_of
from theodolite.metrics.base import Additive, Card, Weights, constant, metric, ratio, total
from theodolite.metrics.faithful._nulls import BLIND
from theodolite.metrics.faithful.frame import (
    MAY_USE,
    USES_IF,
    Projection,
    Surrogate,
    needed,
    surrogate_outputs,
)
from theodolite.metrics.faithful.surrogates import Outputs, right_answer
from theodolite.metrics.option_types import Chance

Kept = TypeVar("Kept", bound="AccuracyKept")


@dataclass(frozen=True)
class AccuracyKept(Additive):
    """Counts of right answers of a surrogate and of the network."""

    surrogate: np.ndarray
    network: np.ndarray
    samples: np.ndarray
    chance: float = constant()

    @classmethod
    def by(
        cls: type[Kept],
        evidence: SurrogateEvidence,
        answers: Outputs,
        weights: Weights,
        chance: float | None,
    ) -> Kept:
        """The counts of a shard, for what the surrogate puts out."""
        if chance is not None and not 0 <= chance < 1:
            raise EvidenceError("chance", f"{chance}", "an accuracy from 0 to below 1")
        labels = needed(evidence, "labels")
        return cls(
            surrogate=total(right_answer(answers, labels), weights),
            network=total(right_answer(outputs_of(evidence), labels), weights),
            samples=total(np.ones(len(labels)), weights),
            chance=1 / len(evidence.classes) if chance is None else chance,
        )

    def counted(self) -> tuple[np.ndarray, np.ndarray]:
        """All samples enter."""
        return self.samples, np.zeros_like(self.samples)

    def value(self) -> Float[np.ndarray, "*resamples"]:
        """What the surrogate has above chance, of what the network has."""
        by_chance = self.chance * self.samples
        above = self.network - by_chance
        # accuracies are counts over the same number: what is left by rounding is no difference
        above = np.where(above > 1e-9 * np.maximum(self.samples, 1.0), above, 0.0)
        return ratio(np.asarray(self.surrogate - by_chance), above)


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
        question="How much of the network's accuracy is left if only the explanation answers?",
        interpretation="1 is all of it, 0 is chance, below 0 is worse than chance. Above 1 the "
        "explanation is right more often than the network that it explains, which is not faithful "
        "either.",
        limitations="Being right for other reasons counts as well: it compares with the labels, "
        "not with the network. Nearly blind to importances.",
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
        question="Could the network's answers be had from the concepts, by any means?",
        interpretation="1 means that nothing needed is missing from the concepts, 0 that they tell "
        "nothing.",
        limitations="A network stands between concepts and answer, so that it says what could be "
        "made of the concepts and not what an explanation makes of them. Random directions are "
        "often as complete: compare with them. Importances are not looked at.",
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
