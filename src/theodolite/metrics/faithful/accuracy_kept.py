"""Metric of how much of the model's accuracy a concept surrogate keeps."""

from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from jaxtyping import Float

from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.surrogate_settings import compute_outputs, make_ideal
from theodolite.metrics.base import Additive, Card, Weights, constant, ratio, total
from theodolite.metrics.faithful.frame import (
    BLIND,
    Outputs,
    Projection,
    Surrogate,
    compute_surrogate_outputs,
    require_array,
    surrogate_card,
    surrogate_metric,
)
from theodolite.metrics.faithful.surrogates import highest
from theodolite.metrics.option_types import Chance

Kept = TypeVar("Kept", bound="AccuracyKept")
accuracy_metric = partial(
    surrogate_metric,
    better="higher",
    bounds=(float("-inf"), float("inf")),
    decides=False,
    nulls=BLIND,
    ideal=make_ideal,
)


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
        """Build the state of a shard from the outputs of the surrogate."""
        if chance is not None and not 0 <= chance < 1:
            raise EvidenceError("chance", f"{chance}", "an accuracy from 0 to below 1")
        labels = require_array(evidence, "labels")
        return cls(
            surrogate=total(_score_answers(answers, labels), weights),
            network=total(_score_answers(compute_outputs(evidence), labels), weights),
            samples=total(np.ones(len(labels)), weights),
            chance=1 / len(evidence.classes) if chance is None else chance,
        )

    def counted(self) -> tuple[np.ndarray, np.ndarray]:
        """Count all samples."""
        return self.samples, np.zeros_like(self.samples)

    def value(self) -> Float[np.ndarray, "*resamples"]:
        """Compute the surrogate's accuracy above chance, relative to the model's."""
        by_chance = self.chance * self.samples
        above = self.network - by_chance
        # accuracies are counts over the same number: what is left by rounding is no difference
        above = np.where(above > 1e-9 * np.maximum(self.samples, 1.0), above, 0.0)
        return ratio(self.surrogate - by_chance, above)


def _score_answers(outputs: Outputs, labels: np.ndarray) -> Float[np.ndarray, " samples"]:
    """Return whether the highest output is the label's; with ties, the probability of it."""
    most = highest(outputs)
    return np.asarray(most[np.arange(len(labels)), labels] / most.sum(axis=1))


@accuracy_metric(
    "surrogate_accuracy",
    title="Accuracy kept (CSHAP)",
    uses=("importances", "labels"),
    card=surrogate_card(
        question="How much of the network's accuracy is left if only the explanation answers?",
        interpretation="1 is all of it, 0 is chance, below 0 is worse than chance. Above 1 the "
        "explanation is right more often than the network that it explains, which is not faithful "
        "either.",
        limitations="Being right for other reasons counts as well: it compares with the labels, "
        "not with the network. Nearly blind to importances.",
    ),
)
class SurrogateAccuracy(AccuracyKept):
    r"""Accuracy of the explanation above chance, as a share of the network's.

    .. math:: \frac{a(\hat y) - a_r}{a(y) - a_r}

    :math:`a_r` is the accuracy of a random answer, 1 / classes unless ``chance`` says otherwise.
    As printed (CSHAP\ :sub:`1`, eq. 8 of :cite:t:`kumar2026unfaithfulness`) the formula subtracts
    the rate from counts; here all are rates. Undefined for a network that is no better than chance.

    Example:
        >>> from numpy import nan
        >>> from theodolite.metrics import surrogate_accuracy
        >>> network = {"embeddings": [[1.0, 0.0], [1.0, 3.0]], "head": [[2.0, 0.0], [0.0, 1.0]]}
        >>> explained = {"importances": [[2.0, nan], [nan, 0.5]], "vectors": [[1.0, 0], [0, 1]]}
        >>> surrogate_accuracy(**explained, **network, labels=[0, 1])
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
        answers = compute_surrogate_outputs(evidence, surrogate, projection)
        return cls.by(evidence, answers, weights, chance)


@accuracy_metric(
    "completeness",
    title="Completeness (Yeh)",
    uses=("importances", "learned", "labels"),
    may_use=("outputs", "embeddings", "head", "bias", "vectors", "projections"),
    uses_if={},
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
        >>> from theodolite.metrics import completeness
        >>> learned = [[2.0, 1.0], [2.0, 1.0], [0.0, 1.0], [0.0, 1.0]]
        >>> outputs = [[3.0, 0.0], [3.0, 0.0], [0.0, 3.0], [2.0, 3.0]]
        >>> named = {"importances": [[1.0, 1.0]], "projections": [[1.0]] * 4}
        >>> completeness(**named, learned=learned, outputs=outputs, labels=[0, 0, 1, 0])
        1.0
    """

    @classmethod
    def of(
        cls, evidence: SurrogateEvidence, weights: Weights = None, *, chance: Chance = None
    ) -> "Completeness":
        return cls.by(evidence, compute_surrogate_outputs(evidence, "learned"), weights, chance)
