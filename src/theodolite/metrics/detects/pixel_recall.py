"""How much of its formula's area does a unit mark?"""

import numpy as np

from theodolite.evidence.kinds.unit import UnitEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.detects._nulls import BY_CHANCE, CHANCE_ARRAYS
from theodolite.metrics.detects.unit_iou import Over


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
    reliable_from=0.5,
    share_from="null",
    cite="larosa2023towards",
    card=Card(
        asks="How much of the formula's places (pixels or tokens) does the unit mark?",
        read="A unit marks half a per cent of all pixels, so that only small concepts can be "
        "covered; compare units of one layer with each other. From half of the way from chance to "
        "1 on we would rely on the name, which is a convention.",
        misleads="A large concept has a low recall however well it is found.",
        cost="two sums of pixel counts",
        says="Units mark {value} of the places of what they are named after "
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
        """Each picture's shared pixels and its pixels of the formula."""
        del over
        return PerSample(
            part=evidence.shared_pixels.astype(float),
            whole=evidence.formula_pixels.astype(float),
            asked=np.ones(len(evidence), bool),
        )
