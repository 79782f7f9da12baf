"""How often does a unit notice its formula where that is in the picture?"""

import numpy as np

from theodolite.evidence.kinds.unit import UnitEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.detects._nulls import BY_CHANCE, CHANCE_ARRAYS
from theodolite.metrics.detects.unit_iou import Over


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
    reliable_from=0.8,
    cite="makinwa2022detection",
    card=Card(
        asks="Where the formula is in the picture, does the unit notice it?",
        read="0.8 means that the unit marks some of it in four of five pictures that show it. From "
        "0.8 on we would rely on the name; that line is a convention.",
        misleads="One shared place (pixel, token) is enough, so that a unit that fires everywhere "
        "detects everything: compare with chance, and read it beside the overlap.",
        cost="two counts of pictures",
        says="In {value} of the pictures that show what a unit is named after, the unit marks "
        "some of it ({low}–{high}{best}). {null}{enough}.",
    ),
)
class DetectionAccuracy(SampleMean):
    r"""Of the pictures that show the formula, the share in which the unit marks a pixel of it.

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
        """Whether each picture shows the formula, and whether the unit meets it there."""
        del over
        return PerSample(
            part=(evidence.shared_pixels > 0).astype(float),
            whole=(evidence.formula_pixels > 0).astype(float),
            asked=np.ones(len(evidence), bool),
        )
