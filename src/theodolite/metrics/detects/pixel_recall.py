"""How much of its formula's area does a unit mark?"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from theodolite.evidence.kinds.unit import UnitEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.detects._nulls import BY_CHANCE, CHANCE_ARRAYS
from theodolite.metrics.detects.unit_iou import Over


def pixel_recall(
    unit_pixels: Int[np.ndarray, "samples units"],
    formula_pixels: Int[np.ndarray, "samples units"],
    shared_pixels: Int[np.ndarray, "samples units"],
    **arrays: Any,
) -> Float[np.ndarray, " units"]:
    r"""Share of the formula's pixels that the unit marks.

    .. math:: \frac{\sum_x |M_u(x) \cap G(x)|}{\sum_x |G(x)|}

    Called detection accuracy by :cite:t:`larosa2023towards`; that name belongs to another score
    here. A formula that is nowhere: NaN.

    Example:
        >>> pixel_recall(np.array([[2], [2]]), np.array([[1], [4]]), np.array([[0], [2]]))
        array([0.4])
    """
    evidence = UnitEvidence(
        unit_pixels=unit_pixels,
        formula_pixels=formula_pixels,
        shared_pixels=shared_pixels,
        **arrays,
    )
    state: PixelRecall = PixelRecall.of(evidence)
    return state.value()


@metric(
    "pixel_recall",
    title="Pixel recall",
    version=2,
    question="detects",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("unit_pixels", "formula_pixels", "shared_pixels", *CHANCE_ARRAYS),
    detail=True,
    baselines=(BY_CHANCE,),
    enough=0.5,
    enough_from="null",
    cite="larosa2023towards",
    card=Card(
        asks="How much of the formula's area does the unit mark?",
        read="A unit marks half a per cent of all pixels, so that only small concepts can be "
        "covered; compare units of one layer with each other. From half of the way from another "
        "picture's masks to 1 on we would rely on the name, which is a convention.",
        misleads="A large concept has a low recall however well it is found.",
        cost="two sums of pixel counts",
    ),
)
class PixelRecall(SampleMean):
    """Sums of shared pixels and of the formula's pixels."""

    @staticmethod
    def each(evidence: UnitEvidence, *, over: Over = "units") -> PerSample:
        """Each picture's shared pixels and its pixels of the formula."""
        del over
        return PerSample(
            part=evidence.shared_pixels.astype(float),
            whole=evidence.formula_pixels.astype(float),
            asked=np.ones(len(evidence), bool),
        )
