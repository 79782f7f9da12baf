"""Do base and attributions add up to the output?"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from theodolite.evidence.kinds.attribution import AttributionEvidence
from theodolite.metrics.base import Additive, Card, NullModel, Weights, metric, ratio, total

NO_SPREAD = 1e-12
"""Of the mean square of the output, what is rounding and no spread."""


def _sums(evidence: AttributionEvidence) -> dict[str, np.ndarray]:
    output = np.asarray(evidence.output, float)
    return {"output": np.asarray(output.sum()), "samples": np.asarray(float(len(output)))}


def _always_the_mean(
    evidence: AttributionEvidence, seed: int, sums: Mapping[str, np.ndarray]
) -> AttributionEvidence:
    del seed
    mean = float(sums["output"] / sums["samples"])
    nothing = np.zeros(np.asarray(evidence.values).shape)
    return replace(evidence, values=nothing, base=np.full(len(evidence), mean))


ALWAYS_THE_MEAN = NullModel(
    "constant_mean",
    "no attributions: whatever the sample, the mean output",
    _always_the_mean,
    sums=_sums,
    random=False,
)


@metric(
    "additivity_gap",
    title="Additivity gap",
    question="faithful",
    asked_as="Does the model use the features that the attribution names?",
    better="lower",
    bounds=(0.0, float("inf")),
    uses=("values", "output", "base"),
    decides=False,
    nulls=(ALWAYS_THE_MEAN,),
    cite="lundberg2017unified",
    card=Card(
        question="How far are base and attributions from adding up to the output?",
        interpretation="0 if they add up, as Shapley values do; 1 if they miss by the spread of "
        "the output. Always answering the mean misses by about 0.8 of it.",
        limitations="Adding up is easy: whatever is left can be given to any feature. A large gap "
        "is mostly another scale (log-odds against probability) or another model.",
        cost="one sum over the features of each sample",
    ),
)
@dataclass(frozen=True)
class AdditivityGap(Additive):
    r"""What base and attributions miss of the output, as a share of its spread.

    .. math:: \frac{\frac1N \sum_i |a_{i0} + \sum_j a_{ij} - f(x_i)|}{\sqrt{\mathrm{Var}_i f(x_i)}}

    :math:`a_{i0}` is the base and :math:`a_{ij}` the attribution to feature :math:`j`. Undefined
    where all outputs are the same. Adding up is the axiom of local accuracy of
    :cite:t:`lundberg2017unified`.

    Example:
        >>> from theodolite.metrics import additivity_gap
        >>> additivity_gap([[1.0, 0.0], [0.0, 0.5]], [1.0, 0.0], [0.0, 0.0])
        0.5
    """

    gap: np.ndarray
    output: np.ndarray
    squares: np.ndarray
    samples: np.ndarray

    @classmethod
    def of(cls, evidence: AttributionEvidence, weights: Weights = None) -> "AdditivityGap":
        """The sums of a shard."""
        output = np.asarray(evidence.output, float)
        parts = np.asarray(evidence.base, float) + np.asarray(evidence.values, float).sum(axis=1)
        return cls(
            gap=total(np.abs(parts - output), weights),
            output=total(output, weights),
            squares=total(output**2, weights),
            samples=total(np.ones(len(output)), weights),
        )

    def counted(self) -> tuple[np.ndarray, np.ndarray]:
        """All samples enter."""
        return self.samples, np.zeros_like(self.samples)

    def value(self) -> np.ndarray:
        """The mean gap over the spread."""
        mean, square = ratio(self.output, self.samples), ratio(self.squares, self.samples)
        variance = square - mean**2
        varies = variance > NO_SPREAD * square
        spread = np.asarray(np.sqrt(np.where(varies, variance, 0.0)))
        return ratio(ratio(self.gap, self.samples), spread)
