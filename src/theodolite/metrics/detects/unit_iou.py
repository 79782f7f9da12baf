"""How well do a unit's mask and its formula's mask coincide?"""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from theodolite.evidence.kinds.unit import UnitEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.detects._nulls import BY_CHANCE, CHANCE_ARRAYS

Denominator = Annotated[
    Literal["all", "category"],
    Field(description="Pictures whose pixels count in the union: all, or the annotated ones."),
]
Over = Literal["units"]


@metric(
    "unit_iou",
    paper_names=("IoU",),
    title="Overlap of unit and formula (IoU)",
    version=2,
    question="detects",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("unit_pixels", "formula_pixels", "shared_pixels"),
    nulls_use=CHANCE_ARRAYS,
    uses_if={"denominator": {"category": ("annotated", "chance_annotated")}},
    detail=True,
    nulls=(BY_CHANCE,),
    reliable_from=0.5,
    share_from="null",
    cite="bau2017network",
    card=Card(
        asks="Do the unit and what it is named after mark the same places (pixels or tokens)?",
        read="1 is the same mask. Units mark half a per cent of all pixels, so that large or "
        "frequent concepts cannot reach 1; 0.04 is Network Dissection's customary line. Compare "
        "with what the best formula scores by chance: from half of the way from there to 1 on we "
        "would rely on the name, which is a convention.",
        misleads="It grows with the length of the formula, whatever the formula says: it is what "
        "the search maximises. Read it beside detection accuracy.",
        cost="three sums of pixel counts",
        says="Units and what they are named after overlap to {value} ({low}–{high}{best}). "
        "{null}{enough}.",
    ),
)
class UnitIoU(SampleMean):
    r"""Intersection over union of a unit's mask and its formula's, over all places of all samples.

    .. math:: \frac{\sum_x |M_u(x) \cap G(x)|}{\sum_x |M_u(x) \cup G(x)|}

    Places are pixels of pictures, or tokens of sequences (``theodolite.dissect_tokens``).
    Network Dissection :cite:p:`bau2017network` counts in the union only the unit's pixels in
    pictures that are annotated with the concept's category (``denominator="category"``, needs
    ``annotated``). The published codes return 0 where both masks are empty everywhere; here that
    is undefined, so NaN.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import unit_iou
        >>> unit_iou(np.array([[2], [2]]), np.array([[1], [4]]), np.array([[1], [2]])).round(6)
        array([0.5])
    """

    @staticmethod
    def each(
        evidence: UnitEvidence, *, denominator: Denominator = "all", over: Over = "units"
    ) -> PerSample:
        """Each picture's shared pixels, and the pixels in either mask."""
        del over
        unit = evidence.unit_pixels
        if denominator == "category":
            unit = np.where(np.asarray(evidence.annotated), unit, evidence.shared_pixels)
        shared = evidence.shared_pixels.astype(float)
        return PerSample(
            part=shared,
            whole=unit + evidence.formula_pixels - shared,
            asked=np.ones(len(evidence), bool),
        )
