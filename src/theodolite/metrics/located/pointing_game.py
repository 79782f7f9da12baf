"""Does a concept's map peak where the concept is?"""

from typing import Annotated, Literal

import numpy as np
from jaxtyping import Bool, Float
from pydantic import Field

from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.metrics.base import Card, NullModel, PerSample, SampleMean, metric
from theodolite.metrics.shared import nulls
from theodolite.metrics.shared.areas import box_area, disc_area
from theodolite.metrics.shared.places import Average, averaged, peaks

Target = Annotated[
    Literal["auto", "points", "boxes", "masks"],
    Field(
        description="What must be hit; auto: what the evidence has, masks before boxes and points."
    ),
]
Pairs = Annotated[
    Literal["present", "all"],
    Field(description="Pairs of image and concept that count: where the concept is there, or all."),
]
NEAR = 0.2
"""How near a peak must be to a point, unless it is said otherwise."""


def hits(
    evidence: LocationEvidence,
    peak: Float[np.ndarray, "samples concepts 2"],
    target: Target,
    tolerance: float | None,
) -> tuple[Bool[np.ndarray, "samples concepts"], Bool[np.ndarray, "samples concepts"]]:
    """Whether each peak is at its concept, and whether the concept has a place at all."""
    target = _target(evidence, target)
    if target == "masks":
        masks = np.asarray(evidence.masks)
        cell = (peak * masks.shape[2:]).astype(int)
        image = np.arange(len(evidence))[:, None]
        hit = masks[image, evidence.part_of[None, :], cell[..., 0], cell[..., 1]]
        return hit, _in_image(evidence, target)
    if target == "boxes":
        boxes, place = _boxes(evidence, tolerance), peak[:, :, None]
        inside = (boxes[..., :2] <= place) & (place <= boxes[..., 2:])
        return np.asarray(inside.all(axis=-1).any(axis=-1)), _in_image(evidence, target)
    away = np.sqrt(((_points(evidence) - peak[:, :, None]) ** 2).sum(axis=-1))
    limit = NEAR if tolerance is None else tolerance
    return np.asarray((away <= limit).any(axis=-1)), _in_image(evidence, target)


def over_pairs(
    evidence: LocationEvidence,
    credit: np.ndarray,
    there: np.ndarray,
    pairs: Pairs,
    average: Average,
) -> PerSample:
    """Each image's credit and the pairs it is counted among."""
    counted = there & (evidence.part_of >= 0)
    if pairs == "present":
        counted &= np.asarray(evidence.explained.truth)
        if evidence.explained.known is not None:
            counted &= evidence.explained.known
    n_hit = np.where(counted, credit, 0.0).sum(axis=1)
    n_counted = counted.sum(axis=1).astype(float)
    return averaged(n_hit, n_counted, average, np.ones(len(evidence), bool))


def _anywhere(
    evidence: LocationEvidence,
    *,
    target: Target,
    tolerance: float | None,
    pairs: Pairs,
    average: Average,
) -> PerSample:
    """Each image's hits by peaks anywhere: the area of what is a hit."""
    target = _target(evidence, target)
    if target == "masks":
        areas = np.asarray(evidence.masks).mean(axis=(2, 3))[:, evidence.part_of]
    elif target == "boxes":
        areas = box_area(_boxes(evidence, tolerance))
    else:
        areas = disc_area(_points(evidence), NEAR if tolerance is None else tolerance)
    return over_pairs(evidence, areas, _in_image(evidence, target), pairs, average)


RANDOM_PEAK = NullModel(
    "random_point",
    "a random point of the image instead of the map's peak",
    expected=_anywhere,
    random=False,
)


def _target(evidence: LocationEvidence, target: Target) -> Target:
    if target == "auto":
        kinds: tuple[Target, ...] = ("masks", "boxes", "points")
        return next(kind for kind in kinds if evidence.has(kind))
    if not evidence.has(target):
        raise EvidenceError(f"target={target!r}", f"no `{target}`", "them in the evidence")
    return target


def _in_image(evidence: LocationEvidence, target: Target) -> Bool[np.ndarray, "samples concepts"]:
    """Whether each concept has a place in each image."""
    places = np.asarray(getattr(evidence, target))
    if target == "masks":
        return np.asarray(places.any(axis=(2, 3)))[:, evidence.part_of]
    return np.asarray(~np.isnan(places).any(axis=-1).all(axis=-1))[:, evidence.part_of]


def _boxes(
    evidence: LocationEvidence, tolerance: float | None
) -> Float[np.ndarray, "samples concepts places 4"]:
    """Boxes with a margin, as shares of height and width."""
    scale = np.tile(evidence.sizes, 2)[:, None, None, :]
    boxes = (np.asarray(evidence.boxes) / scale)[:, evidence.part_of]
    margin = 0.0 if tolerance is None else tolerance
    return np.asarray(boxes + margin * np.array([-1.0, -1.0, 1.0, 1.0]))


def _points(evidence: LocationEvidence) -> Float[np.ndarray, "samples concepts places 2"]:
    """Points as shares of height and width."""
    scale = evidence.sizes[:, None, None, :]
    return np.asarray(evidence.points / scale)[:, evidence.part_of]


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
    nulls=(nulls.SHUFFLED_MAPS, RANDOM_PEAK, nulls.IMAGE_CENTER),
    threshold=0.8,
    cite="zhang2018top",
    card=Card(
        question="Does the map of each present concept peak where that concept is?",
        interpretation="0.6 means that six of ten maps peak at their concept. Pointing at the "
        "middle of each image is the baseline to beat. From 0.8 on we would rely on it; a "
        "convention.",
        limitations="Coarse maps peak in the middle of a cell, up to half a cell from the true "
        "one; a tolerance near half the image is passed by the center alone.",
        cost="one maximum per map",
        template="For {value} of the {noun} that are there, the map peaks where they are "
        "({low}–{high}{best}). {null}{enough}.",
    ),
)
class PointingGame(SampleMean):
    r"""Share of pairs of image and concept whose map peaks at the concept.

    .. math:: \frac{\#\{(i, j) : \text{the peak of } F_{ij} \text{ hits } j\}}{\#\{(i, j)\}}

    over the concepts :math:`j` that are present in image :math:`i` and have a place there. The
    peak hits a mask or a box when it lies inside, with ``tolerance`` around boxes; it hits a point
    when it is within ``tolerance`` of it, with height and width of the image counted as 1 each.
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
        """Each image's hits and the pairs they are counted among."""
        hit, there = hits(evidence, peaks(evidence.maps), target, tolerance)
        return over_pairs(evidence, hit, there, pairs, average)
