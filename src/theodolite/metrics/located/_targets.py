"""What a peak must hit: masks, boxes or points; and how often a random one does."""

from typing import Annotated, Literal

import numpy as np
from jaxtyping import Bool, Float
from pydantic import Field

from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.metrics.base import NullModel, PerSample
from theodolite.metrics.shared.areas import box_area, disc_area
from theodolite.metrics.shared.places import Average, averaged

Target = Annotated[
    Literal["auto", "points", "boxes", "masks"],
    Field(
        description="What must be hit; auto: what the evidence has, masks before boxes and points."
    ),
]
Pairs = Annotated[
    Literal["present", "all"],
    Field(
        description="Pairs of picture and concept that count: where the concept is there, or all."
    ),
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
        picture = np.arange(len(evidence))[:, None]
        hit = masks[picture, evidence.part_of[None, :], cell[..., 0], cell[..., 1]]
        return hit, _in_picture(evidence, target)
    if target == "boxes":
        boxes, place = _boxes(evidence, tolerance), peak[:, :, None]
        inside = (boxes[..., :2] <= place) & (place <= boxes[..., 2:])
        return np.asarray(inside.all(axis=-1).any(axis=-1)), _in_picture(evidence, target)
    away = np.sqrt(((_points(evidence) - peak[:, :, None]) ** 2).sum(axis=-1))
    limit = NEAR if tolerance is None else tolerance
    return np.asarray((away <= limit).any(axis=-1)), _in_picture(evidence, target)


def over_pairs(
    evidence: LocationEvidence,
    credit: np.ndarray,
    there: np.ndarray,
    pairs: Pairs,
    average: Average,
) -> PerSample:
    """Each picture's credit and the pairs it is counted among."""
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
    """Each picture's hits by peaks anywhere: the area of what is a hit."""
    target = _target(evidence, target)
    if target == "masks":
        areas = np.asarray(evidence.masks).mean(axis=(2, 3))[:, evidence.part_of]
    elif target == "boxes":
        areas = box_area(_boxes(evidence, tolerance))
    else:
        areas = disc_area(_points(evidence), NEAR if tolerance is None else tolerance)
    return over_pairs(evidence, areas, _in_picture(evidence, target), pairs, average)


RANDOM_PEAK = NullModel(
    "random point",
    "a random point of the picture instead of the map's peak",
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


def _in_picture(evidence: LocationEvidence, target: Target) -> Bool[np.ndarray, "samples concepts"]:
    """Whether each concept has a place in each picture."""
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
