"""Metrics of units of a network: overlap with their formulas, and accuracy of the model there."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field

from theodolite.evidence.kinds.unit import UnitEvidence
from theodolite.metrics.base import (
    Additive,
    Card,
    NullModel,
    PerSample,
    SampleMean,
    Weights,
    metric,
    ratio,
    total,
)

Denominator = Annotated[
    Literal["all", "category"],
    Field(description="Images whose pixels count in the union: all, or the annotated ones."),
]
AverageOver = Literal["units"]
SetOperation = Literal["union", "intersection"]
CorrelatedScore = Literal["detection_accuracy", "iou"]
SetOperations = Annotated[
    Sequence[SetOperation],
    Field(min_length=1, description="Images where unit or formula is, or where both are."),
]
CorrelatedScores = Annotated[
    Sequence[CorrelatedScore],
    Field(min_length=1, description="The score of a unit that is correlated."),
]
IntersectionRule = Annotated[
    Literal["overlap", "present"],
    Field(description="When an image is in the intersection: a shared pixel, or both somewhere."),
]


def _use_chance_masks(evidence: UnitEvidence, seed: int) -> UnitEvidence:
    del seed
    return replace(
        evidence,
        unit_pixels=np.asarray(evidence.chance_unit_pixels),
        formula_pixels=np.asarray(evidence.chance_formula_pixels),
        shared_pixels=np.asarray(evidence.chance_shared_pixels),
        annotated=evidence.chance_annotated,
    )


CHANCE_MASKS = NullModel(
    "permuted_masks",
    "the best formula for what stands for nothing: the unit's masks dealt out over other images "
    "or sequences; or, if the evidence was made so, units of a random SAE",
    _use_chance_masks,
    random=False,
    per_item=True,
    label="chance-level masks",
)


def _other_units_accuracy(state: Any, seed: int) -> Any:
    order = np.random.default_rng(seed).permutation(state.right.shape[-1])
    return replace(state, right=state.right[..., order], asked=state.asked[..., order])


PERMUTED_UNITS = NullModel(
    "permuted_units",
    "each unit with the accuracy that belongs to another",
    _other_units_accuracy,
    on="state",
)
unit_metric = partial(
    metric,
    question="detects",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("unit_pixels", "formula_pixels", "shared_pixels"),
    nulls_use=("chance_unit_pixels", "chance_formula_pixels", "chance_shared_pixels"),
    detail=True,
    nulls=(CHANCE_MASKS,),
)


@unit_metric(
    "unit_iou",
    paper_names=("IoU",),
    title="Overlap of unit and formula (IoU)",
    version=2,
    uses_if={"denominator": {"category": ("annotated", "chance_annotated")}},
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
        >>> from theodolite.metrics import unit_iou
        >>> unit_iou([[2], [2]], [[1], [4]], [[1], [2]]).round(6)
        array([0.5])
    """

    @staticmethod
    def each(
        evidence: UnitEvidence, *, denominator: Denominator = "all", over: AverageOver = "units"
    ) -> PerSample:
        del over
        unit = evidence.unit_pixels
        if denominator == "category":
            unit = np.where(np.asarray(evidence.annotated), unit, evidence.shared_pixels)
        shared = evidence.shared_pixels.astype(float)
        return PerSample.from_values(shared, unit + evidence.formula_pixels - shared)


@unit_metric(
    "pixel_recall",
    title="Pixel recall",
    version=2,
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
        >>> from theodolite.metrics import pixel_recall
        >>> pixel_recall([[2], [2]], [[1], [4]], [[0], [2]])
        array([0.4])
    """

    @staticmethod
    def each(evidence: UnitEvidence, *, over: AverageOver = "units") -> PerSample:
        del over
        return PerSample.from_values(evidence.shared_pixels, evidence.formula_pixels)


@unit_metric(
    "detection_accuracy",
    paper_names=("DetAcc",),
    title="Detection accuracy",
    version=2,
    threshold=0.8,
    cite="makinwa2022detection",
    card=Card(
        question="Where the formula is in the image, does the unit notice it?",
        interpretation="0.8 means that the unit marks some of it in four of five images that show "
        "it. From 0.8 on we would rely on the name; that line is a convention.",
        limitations="One shared place (pixel, token) is enough, so that a unit that fires "
        "everywhere detects everything: compare with chance, and read it beside the overlap. False "
        "alarms do not count: a unit that marks every animal detects every horn. Not seen: how few "
        "images show the formula (two can be enough for a yes), and units that were chosen on the "
        "same images.",
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
        >>> from theodolite.metrics import detection_accuracy
        >>> detection_accuracy([[2], [2]], [[1], [4]], [[0], [2]])
        array([0.5])
    """

    @staticmethod
    def each(evidence: UnitEvidence, *, over: AverageOver = "units") -> PerSample:
        del over
        return PerSample.from_values(evidence.shared_pixels > 0, evidence.formula_pixels > 0)


@metric(
    "detection_and_accuracy",
    title="Correlation of detection with accuracy",
    question="detects",
    better="higher",
    bounds=(-1.0, 1.0),
    uses=("unit_pixels", "formula_pixels", "shared_pixels", "right"),
    may_use=("fires",),
    sweeps=("which", "by"),
    nulls=(PERMUTED_UNITS,),
    decides=False,
    headline={"which": "intersection", "by": "detection_accuracy"},
    cite="makinwa2022detection",
    card=Card(
        question="Is the model right more often where a well-explained unit is at work?",
        interpretation="Above 0, units with a better score work where the model is right. It says "
        "something about the score, not about any one unit.",
        limitations="Frequent concepts have large sets of images, whose accuracies all lie near "
        "the model's own: little is left to correlate with.",
        cost="counts of images per unit",
    ),
)
@dataclass(frozen=True)
class DetectionAndAccuracy(Additive):
    r"""Correlation over units of a unit's score with the model's accuracy on the unit's images.

    .. math:: r = \frac{\sum_u (s_u - \bar s)(a_u - \bar a)}
        {\sqrt{\sum_u (s_u - \bar s)^2 \, \sum_u (a_u - \bar a)^2}}

    :math:`s_u` is the score of unit :math:`u`, :math:`a_u` the accuracy on its images.

    The *union* are images in which the unit fires or its formula is there; the *intersection*
    those in which they share a pixel (``meeting="overlap"``, as the published code has it) or both
    are somewhere (``"present"``, as the paper says). Pearson's correlation; a unit without images
    or without a score is left out, where the published code puts 0.5 and 0. Introduced in
    :cite:t:`makinwa2022detection`, section 4.2.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import detection_and_accuracy
        >>> unit, formula = np.eye(4, 3, dtype=int), np.ones((4, 3), int)
        >>> shared = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]])
        >>> right = np.array([True, True, False, True])
        >>> detection_and_accuracy(unit, formula, shared, right, which=["intersection"])
        array([[nan, nan]])
    """

    pixels: Float[np.ndarray, "*resamples 3 units"]
    images: Float[np.ndarray, "*resamples 2 units"]
    asked: Float[np.ndarray, "*resamples 2 units"]
    right: Float[np.ndarray, "*resamples 2 units"]

    counts_of: ClassVar[str] = "units"

    @classmethod
    def of(
        cls,
        evidence: UnitEvidence,
        weights: Weights = None,
        *,
        meeting: IntersectionRule = "overlap",
    ) -> "DetectionAndAccuracy":
        fires = evidence.unit_pixels > 0 if evidence.fires is None else evidence.fires
        there, shared = evidence.formula_pixels > 0, evidence.shared_pixels > 0
        both = shared if meeting == "overlap" else fires & there
        sets = np.stack([fires | there, both], axis=1).astype(float)
        pixels = [evidence.unit_pixels, evidence.formula_pixels, evidence.shared_pixels]
        right = np.asarray(evidence.right)[:, None, None]
        return cls(
            pixels=total(np.stack(pixels, axis=1).astype(float), weights),
            images=total(np.stack([there, shared], axis=1).astype(float), weights),
            asked=total(sets, weights),
            right=total(sets * right, weights),
        )

    def value(
        self,
        *,
        which: SetOperations = ("union", "intersection"),
        by: CorrelatedScores = ("detection_accuracy", "iou"),
    ) -> Float[np.ndarray, "*resamples which by"]:
        scores, accuracy = self._scores(), ratio(self.right, self.asked)
        row = {"union": 0, "intersection": 1}
        return np.stack(
            [
                np.stack([_pearson(scores[b], accuracy[..., row[w], :]) for b in by], axis=-1)
                for w in which
            ],
            axis=-2,
        )

    def _scores(self) -> dict[str, np.ndarray]:
        unit, formula, shared = (self.pixels[..., i, :] for i in range(3))
        there, met = (self.images[..., i, :] for i in range(2))
        return {
            "iou": ratio(shared, np.where(there > 0, unit + formula - shared, 0.0)),
            "detection_accuracy": ratio(met, there),
        }

    def counted(self) -> tuple[np.ndarray, np.ndarray]:
        """Units that enter, and units that cannot."""
        usable = (self.asked > 0) & (self.images[..., :1, :] > 0)
        n = np.repeat(usable.sum(axis=-1)[..., None], 2, axis=-1)
        return n, self.asked.shape[-1] - n


def _pearson(
    x: Float[np.ndarray, "*resamples units"], y: Float[np.ndarray, "*resamples units"]
) -> Float[np.ndarray, "*resamples"]:
    """Correlation over what is defined in both; NaN for fewer than three or without spread."""
    there = ~(np.isnan(x) | np.isnan(y))
    n = there.sum(axis=-1)
    count = np.maximum(n, 1)[..., None]
    dx, dy = (np.where(there, side, 0.0) for side in (x, y))
    dx, dy = (
        np.where(there, side - side.sum(axis=-1, keepdims=True) / count, 0.0) for side in (dx, dy)
    )
    spread = np.sqrt((dx**2).sum(axis=-1) * (dy**2).sum(axis=-1))
    enough = (n >= 3) & (spread > 1e-12)
    product = np.asarray((dx * dy).sum(axis=-1))
    return np.asarray(np.clip(ratio(product, np.where(enough, spread, 0.0)), -1.0, 1.0))
