"""Do units mark what they are named after?"""

from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from theodolite.evidence.kinds.unit import UnitEvidence
from theodolite.metrics.base import Card, NullModel, PerSample, SampleMean, metric


def _by_chance(evidence: UnitEvidence, seed: int) -> UnitEvidence:
    del seed
    return replace(
        evidence,
        unit_pixels=np.asarray(evidence.chance_unit_pixels),
        formula_pixels=np.asarray(evidence.chance_formula_pixels),
        shared_pixels=np.asarray(evidence.chance_shared_pixels),
        annotated=evidence.chance_annotated,
    )


BY_CHANCE = NullModel(
    "permuted_masks",
    "the best formula for what stands for nothing: the unit's masks dealt out over other images "
    "or sequences; or, if the evidence was made so, units of a random SAE",
    _by_chance,
    random=False,
    per_item=True,
    label="chance-level masks",
)
CHANCE_ARRAYS = ("chance_unit_pixels", "chance_formula_pixels", "chance_shared_pixels")


def _other_units_accuracy(state: Any, seed: int) -> Any:
    order = np.random.default_rng(seed).permutation(state.right.shape[-1])
    return replace(state, right=state.right[..., order], asked=state.asked[..., order])


SHUFFLED_UNITS = NullModel(
    "permuted_units",
    "each unit with the accuracy that belongs to another",
    _other_units_accuracy,
    on="state",
)


Denominator = Annotated[
    Literal["all", "category"],
    Field(description="Images whose pixels count in the union: all, or the annotated ones."),
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
    threshold=0.5,
    threshold_from="null",
    cite="bau2017network",
    card=Card(
        question="Do the unit and what it is named after mark the same places (pixels or tokens)?",
        interpretation="1 is the same mask. Units mark half a per cent of all pixels, so that "
        "large or frequent concepts cannot reach 1; 0.04 is Network Dissection's customary line. "
        "Compare with what the best formula scores by chance: from half of the way from there to 1 "
        "on we would rely on the name, which is a convention.",
        limitations="It grows with the length of the formula, whatever the formula says: it is "
        "what the search maximizes. Read it beside detection accuracy.",
        cost="three sums of pixel counts",
        template="Units and what they are named after overlap to {value} ({low}–{high}{best}). "
        "{null}{enough}.",
    ),
)
class UnitIoU(SampleMean):
    r"""Intersection over union of a unit's mask and its formula's, over all places of all samples.

    .. math:: \frac{\sum_x |M_u(x) \cap G(x)|}{\sum_x |M_u(x) \cup G(x)|}

    Places are pixels of images, or tokens of sequences (``theodolite.dissect_tokens``).
    Network Dissection :cite:p:`bau2017network` counts in the union only the unit's pixels in
    images that are annotated with the concept's category (``denominator="category"``, needs
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
        """Each image's shared pixels, and the pixels in either mask."""
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


@metric(
    "pixel_recall",
    title="Pixel recall",
    version=2,
    question="detects",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("unit_pixels", "formula_pixels", "shared_pixels"),
    nulls_use=CHANCE_ARRAYS,
    detail=True,
    nulls=(BY_CHANCE,),
    threshold=0.5,
    threshold_from="null",
    cite="larosa2023towards",
    card=Card(
        question="How much of the formula's places (pixels or tokens) does the unit mark?",
        interpretation="A unit marks half a per cent of all pixels, so that only small concepts "
        "can be covered; compare units of one layer with each other. From half of the way from "
        "chance to 1 on we would rely on the name, which is a convention.",
        limitations="A large concept has a low recall however well it is found.",
        cost="two sums of pixel counts",
        template="Units mark {value} of the places of what they are named after "
        "({low}–{high}{best}). {null}{enough}.",
    ),
)
class PixelRecall(SampleMean):
    r"""Share of the formula's pixels that the unit marks.

    .. math:: \frac{\sum_x |M_u(x) \cap G(x)|}{\sum_x |G(x)|}

    Called detection accuracy by :cite:t:`larosa2023towards`; that name belongs to another score
    here. A formula that is nowhere: NaN.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import pixel_recall
        >>> pixel_recall(np.array([[2], [2]]), np.array([[1], [4]]), np.array([[0], [2]]))
        array([0.4])
    """

    @staticmethod
    def each(evidence: UnitEvidence, *, over: Over = "units") -> PerSample:
        """Each image's shared pixels and its pixels of the formula."""
        del over
        return PerSample(
            part=evidence.shared_pixels.astype(float),
            whole=evidence.formula_pixels.astype(float),
            asked=np.ones(len(evidence), bool),
        )


@metric(
    "detection_accuracy",
    paper_names=("DetAcc",),
    title="Detection accuracy",
    version=2,
    question="detects",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("unit_pixels", "formula_pixels", "shared_pixels"),
    nulls_use=CHANCE_ARRAYS,
    detail=True,
    nulls=(BY_CHANCE,),
    threshold=0.8,
    cite="makinwa2022detection",
    card=Card(
        question="Where the formula is in the image, does the unit notice it?",
        interpretation="0.8 means that the unit marks some of it in four of five images that show "
        "it. From 0.8 on we would rely on the name; that line is a convention.",
        limitations="One shared place (pixel, token) is enough, so that a unit that fires "
        "everywhere detects everything: compare with chance, and read it beside the overlap.",
        cost="two counts of images",
        template="In {value} of the images that show what a unit is named after, the unit marks "
        "some of it ({low}–{high}{best}). {null}{enough}.",
    ),
)
class DetectionAccuracy(SampleMean):
    r"""Of the images that show the formula, the share in which the unit marks a pixel of it.

    .. math:: \frac{\#\{x : M_u(x) \cap G(x) \neq \emptyset\}}{\#\{x : G(x) \neq \emptyset\}}

    Introduced in :cite:t:`makinwa2022detection`, eq. 4. The published code rounds to four digits
    and returns 0 for a formula that is nowhere; here nothing is rounded and that is undefined, so
    NaN. Another project gives the name to what is ``pixel_recall`` here.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import detection_accuracy
        >>> detection_accuracy(np.array([[2], [2]]), np.array([[1], [4]]), np.array([[0], [2]]))
        array([0.5])
    """

    @staticmethod
    def each(evidence: UnitEvidence, *, over: Over = "units") -> PerSample:
        """Whether each image shows the formula, and whether the unit meets it there."""
        del over
        return PerSample(
            part=(evidence.shared_pixels > 0).astype(float),
            whole=(evidence.formula_pixels > 0).astype(float),
            asked=np.ones(len(evidence), bool),
        )
