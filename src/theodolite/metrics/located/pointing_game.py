"""Does a concept's map peak where the concept is?"""

from typing import Annotated

from pydantic import Field

from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.located._targets import (
    RANDOM_PEAK,
    Pairs,
    Target,
    hits,
    over_pairs,
)
from theodolite.metrics.shared import nulls
from theodolite.metrics.shared.places import Average, peaks

Tolerance = Annotated[
    float | None,
    Field(
        ge=0, description="Share of the sides by which a place may be missed; None: 0.2, boxes 0."
    ),
]


@metric(
    "pointing_game",
    title="Pointing game",
    version=2,
    question="located",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("maps", "sizes", "part_of"),
    may_use=("points", "boxes", "masks", "explained.known"),
    uses_if={"pairs": {"present": ("explained.truth",)}},
    nulls=(nulls.SHUFFLED_MAPS, RANDOM_PEAK, nulls.IMAGE_CENTRE),
    reliable_from=0.8,
    cite="zhang2018top",
    card=Card(
        asks="Does the map of each present concept peak where that concept is?",
        read="0.6 means that six of ten maps peak at their concept. Pointing at the middle of each "
        "picture is the baseline to beat. From 0.8 on we would rely on it; a convention.",
        misleads="Coarse maps peak in the middle of a cell, up to half a cell from the true one; a "
        "tolerance near half the picture is passed by the centre alone.",
        cost="one maximum per map",
        says="For {value} of the {noun} that are there, the map peaks where they are "
        "({low}–{high}{best}). {null}{enough}.",
    ),
)
class PointingGame(SampleMean):
    r"""Share of pairs of picture and concept whose map peaks at the concept.

    .. math:: \frac{\#\{(i, j) : \text{the peak of } F_{ij} \text{ hits } j\}}{\#\{(i, j)\}}

    over the concepts :math:`j` that are present in picture :math:`i` and have a place there. The
    peak hits a mask or a box when it lies inside, with ``tolerance`` around boxes; it hits a point
    when it is within ``tolerance`` of it, with height and width of the picture counted as 1 each.
    Where masks are given they are used, else boxes, else points. No pair: NaN. After
    :cite:t:`zhang2018top`, whose tolerance is 15 pixels around a mask.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import pointing_game
        >>> maps = np.zeros((1, 2, 4, 4))
        >>> maps[0, 0, 0, 0] = maps[0, 1, 3, 3] = 1.0
        >>> points = np.array([[[[5.0, 6.0]], [[5.0, 6.0]]]])
        >>> pointing_game(maps, [[40, 40]], [0, 1], truth=[[1, 1]], points=points)
        0.5
    """

    @staticmethod
    def each(
        evidence: LocationEvidence,
        *,
        target: Target = "auto",
        tolerance: Tolerance = None,
        pairs: Pairs = "present",
        average: Average = "pairs",
    ) -> PerSample:
        """Each picture's hits and the pairs they are counted among."""
        hit, there = hits(evidence, peaks(evidence.maps), target, tolerance)
        return over_pairs(evidence, hit, there, pairs, average)
