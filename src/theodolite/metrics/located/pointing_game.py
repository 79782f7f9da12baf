"""Metrics of whether a concept's map peaks at the location of the concept."""

from typing import Annotated, Literal

import numpy as np
from jaxtyping import Bool, Float
from pydantic import Field

from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.metrics.base import Card, NullModel, PerSample, SampleMean, metric
from theodolite.metrics.shared import nulls
from theodolite.metrics.shared.places import Average, averaged, find_peaks

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
Tolerance = Annotated[
    float | None,
    Field(
        ge=0, description="Share of the sides by which a place may be missed; None: 0.2, boxes 0."
    ),
]
NEAR_DISTANCE = 0.2
"""Default distance within which a peak counts as near a point."""
NODES = 32
"""Lines through a disc: the area of one is then right to ten digits."""


def find_hits(
    evidence: LocationEvidence,
    peak: Float[np.ndarray, "samples concepts 2"],
    target: Target,
    tolerance: float | None,
) -> tuple[Bool[np.ndarray, "samples concepts"], Bool[np.ndarray, "samples concepts"]]:
    """Return whether each peak is at its concept, and whether the concept has a location."""
    target = _target(evidence, target)
    if target == "masks":
        masks = np.asarray(evidence.masks)
        cell = (peak * masks.shape[2:]).astype(int)
        image = np.arange(len(evidence))[:, None]
        hit = masks[image, evidence.part_of[None, :], cell[..., 0], cell[..., 1]]
    elif target == "boxes":
        boxes, place = _boxes(evidence, tolerance), peak[:, :, None]
        inside = (boxes[..., :2] <= place) & (place <= boxes[..., 2:])
        hit = np.asarray(inside.all(axis=-1).any(axis=-1))
    else:
        away = np.sqrt(((_points(evidence) - peak[:, :, None]) ** 2).sum(axis=-1))
        hit = np.asarray((away <= (NEAR_DISTANCE if tolerance is None else tolerance)).any(axis=-1))
    return hit, _is_in_image(evidence, target)


def average_pairs(
    evidence: LocationEvidence,
    credit: np.ndarray,
    there: np.ndarray,
    pairs: Pairs,
    average: Average,
) -> PerSample:
    """Return each image's credit and the pairs that it is counted among."""
    counted = there & (evidence.part_of >= 0)
    if pairs == "present":
        counted &= np.asarray(evidence.explained.truth)
        if evidence.explained.known is not None:
            counted &= evidence.explained.known
    n_hit = np.where(counted, credit, 0.0).sum(axis=1)
    n_counted = counted.sum(axis=1).astype(float)
    return averaged(n_hit, n_counted, average, np.ones(len(evidence), bool))


def _compute_hit_area(
    evidence: LocationEvidence,
    *,
    target: Target,
    tolerance: float | None,
    pairs: Pairs,
    average: Average,
) -> PerSample:
    """Return each image's hits by random peaks: the area that counts as a hit."""
    target = _target(evidence, target)
    if target == "masks":
        areas = np.asarray(evidence.masks).mean(axis=(2, 3))[:, evidence.part_of]
    elif target == "boxes":
        areas = box_area(_boxes(evidence, tolerance))
    else:
        areas = disc_area(_points(evidence), NEAR_DISTANCE if tolerance is None else tolerance)
    return average_pairs(evidence, areas, _is_in_image(evidence, target), pairs, average)


RANDOM_PEAK = NullModel(
    "random_point",
    "a random point of the image instead of the map's peak",
    expected=_compute_hit_area,
    random=False,
)


def _target(evidence: LocationEvidence, target: Target) -> Target:
    if target == "auto":
        kinds: tuple[Target, ...] = ("masks", "boxes", "points")
        return next(kind for kind in kinds if evidence.has(kind))
    if not evidence.has(target):
        raise EvidenceError(f"target={target!r}", f"no `{target}`", "them in the evidence")
    return target


def _is_in_image(
    evidence: LocationEvidence, target: Target
) -> Bool[np.ndarray, "samples concepts"]:
    """Return whether each concept has a location in each image."""
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
        >>> from theodolite.metrics import pointing_game
        >>> maps = [[[[1.0, 0], [0, 0]], [[0, 0], [0, 1.0]]]]
        >>> where = {"sizes": [[40, 40]], "points": [[[[9.0, 8.0]], [[9.0, 8.0]]]]}
        >>> pointing_game(maps, part_of=[0, 1], truth=[[1, 1]], **where)
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
        hit, there = find_hits(evidence, find_peaks(evidence.maps), target, tolerance)
        return average_pairs(evidence, hit, there, pairs, average)


def box_area(boxes: Float[np.ndarray, "*n places 4"]) -> Float[np.ndarray, "*n"]:
    """Area of the union of boxes (top, left, bottom, right), of which some may be undefined.

    >>> box_area(np.array([[0.0, 0.0, 0.5, 0.5], [0.25, 0.25, 0.75, 2.0]]))
    array(0.5625)
    """
    top, left, bottom, right = (boxes[..., i] for i in range(4))
    edges = _find_edges(top, bottom)
    lines = (edges[..., 1:] + edges[..., :-1]) / 2
    widths = np.where(_between(top, lines, bottom), right[..., None, :], np.nan)
    lengths = covered(np.broadcast_to(left[..., None, :], widths.shape), widths)
    return np.asarray((lengths * np.diff(edges, axis=-1)).sum(axis=-1))


def disc_area(points: Float[np.ndarray, "*n places 2"], radius: float) -> Float[np.ndarray, "*n"]:
    """Area of the union of discs around points (down, across), of which some may be undefined.

    >>> round(float(disc_area(np.array([[0.5, 0.5]]), 0.2)), 6)  # 0.04 pi
    0.125664
    """
    down, across = points[..., 0], points[..., 1]
    edges = _find_edges(down - radius, down + radius)
    nodes, shares = np.polynomial.legendre.leggauss(NODES)
    angles, shares = (nodes + 1) * np.pi / 2, shares * np.pi / 2  # smooth where a disc begins
    half = np.diff(edges, axis=-1)[..., None] / 2
    flat = (*edges.shape[:-1], (edges.shape[-1] - 1) * NODES)
    lines = (edges[..., :-1, None] + half * (1 - np.cos(angles))).reshape(flat)
    weights = (half * np.sin(angles) * shares).reshape(lines.shape)
    squares = radius**2 - (lines[..., None] - down[..., None, :]) ** 2
    reach = np.sqrt(np.where(squares > 0, squares, np.nan))
    lengths = covered(across[..., None, :] - reach, across[..., None, :] + reach)
    return np.asarray((lengths * weights).sum(axis=-1))


def covered(
    starts: Float[np.ndarray, "*n places"], ends: Float[np.ndarray, "*n places"]
) -> Float[np.ndarray, "*n"]:
    """Length of the union of intervals, of what lies between 0 and 1."""
    starts, ends = np.clip(starts, 0.0, 1.0), np.clip(ends, 0.0, 1.0)
    empty = ~(ends > starts)
    starts, ends = np.where(empty, 1.0, starts), np.where(empty, 1.0, ends)
    order = np.argsort(starts, axis=-1, kind="stable")
    starts, ends = (np.take_along_axis(side, order, axis=-1) for side in (starts, ends))
    reach = np.maximum.accumulate(ends, axis=-1)
    before = np.concatenate([np.zeros_like(reach[..., :1]), reach[..., :-1]], axis=-1)
    return np.asarray(np.maximum(ends - np.maximum(starts, before), 0.0).sum(axis=-1))


def _find_edges(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the coordinates where regions begin or end."""
    both = np.concatenate([low, high], axis=-1)
    return np.sort(np.clip(np.where(np.isnan(both), 0.0, both), 0.0, 1.0), axis=-1)


def _between(low: np.ndarray, lines: np.ndarray, high: np.ndarray) -> np.ndarray:
    inside = (low[..., None, :] <= lines[..., None]) & (lines[..., None] <= high[..., None, :])
    return np.asarray(inside)
