"""How much of a network's accuracy a surrogate keeps."""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from jaxtyping import Float

from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.surrogate_settings import outputs_of
from theodolite.metrics.base import Additive, Weights, constant, ratio, total
from theodolite.metrics.faithful._distances import Outputs, right_answer
from theodolite.metrics.faithful.frame import needed

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
