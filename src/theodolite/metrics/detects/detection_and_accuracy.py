"""Is the model right more often where a well-explained unit is at work?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field

from theodolite.evidence.kinds.unit import UnitEvidence
from theodolite.metrics.base import Additive, Card, Weights, metric, ratio, total
from theodolite.metrics.detects.units import SHUFFLED_UNITS

Which = Literal["union", "intersection"]
By = Literal["detection_accuracy", "iou"]
Sets = Annotated[
    Sequence[Which],
    Field(min_length=1, description="Images where unit or formula is, or where both are."),
]
Scores = Annotated[
    Sequence[By], Field(min_length=1, description="The score of a unit that is correlated.")
]
Meeting = Annotated[
    Literal["overlap", "present"],
    Field(description="When an image is in the intersection: a shared pixel, or both somewhere."),
]


@metric(
    "detection_and_accuracy",
    title="Correlation of detection with accuracy",
    question="detects",
    better="higher",
    bounds=(-1.0, 1.0),
    uses=("unit_pixels", "formula_pixels", "shared_pixels", "right"),
    may_use=("fires",),
    sweeps=("which", "by"),
    nulls=(SHUFFLED_UNITS,),
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
        cls, evidence: UnitEvidence, weights: Weights = None, *, meeting: Meeting = "overlap"
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
        which: Sets = ("union", "intersection"),
        by: Scores = ("detection_accuracy", "iou"),
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
    dx = np.where(there, x, 0.0)
    dx = np.where(there, dx - dx.sum(axis=-1, keepdims=True) / count, 0.0)
    dy = np.where(there, y, 0.0)
    dy = np.where(there, dy - dy.sum(axis=-1, keepdims=True) / count, 0.0)
    spread = np.sqrt((dx**2).sum(axis=-1) * (dy**2).sum(axis=-1))
    enough = (n >= 3) & (spread > 1e-12)
    product = np.asarray((dx * dy).sum(axis=-1))
    return np.asarray(np.clip(ratio(product, np.where(enough, spread, 0.0)), -1.0, 1.0))
