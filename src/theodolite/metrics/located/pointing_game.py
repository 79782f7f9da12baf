"""Does a concept's map peak where the concept is?"""

from typing import Any, Literal

import numpy as np
from jaxtyping import Bool

from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.shared import nulls
from theodolite.metrics.shared.places import Average, averaged, peaks

Target = Literal["auto", "points", "boxes", "masks"]
Pairs = Literal["present", "all"]


def pointing_game(evidence: LocationEvidence, **options: Any) -> float:
    r"""Share of pairs of picture and concept whose map peaks at the concept.

    .. math:: \frac{\#\{(i, j) : \text{the peak of } F_{ij} \text{ hits } j\}}{\#\{(i, j)\}}

    over the concepts :math:`j` that are present in picture :math:`i` and have a place there. The
    peak hits a mask or a box when it lies inside, with ``tolerance`` around boxes; it hits a point
    when it is within ``tolerance`` of it, with height and width of the picture counted as 1 each.
    Where masks are given they are used, else boxes, else points. No pair: NaN. After
    :cite:t:`zhang2018top`, whose tolerance is 15 pixels around a mask.

    Example:
        >>> from theodolite.evidence.kinds.concept import ConceptEvidence
        >>> concepts = ConceptEvidence(values=np.ones((1, 2)), truth=np.ones((1, 2)))
        >>> maps = np.zeros((1, 2, 4, 4))
        >>> maps[0, 0, 0, 0] = maps[0, 1, 3, 3] = 1.0
        >>> where = LocationEvidence(
        ...     explained=concepts, maps=maps, sizes=np.array([[40, 40]]), part_of=np.array([0, 1]),
        ...     points=np.array([[[[5.0, 6.0]], [[5.0, 6.0]]]]),
        ... )
        >>> pointing_game(where)
        0.5
    """
    state: PointingGame = PointingGame.of(evidence, **options)
    return float(state.value())


@metric(
    "pointing_game",
    title="Pointing game",
    version=1,
    question="located",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("maps",),
    uses_if={"pairs": {"present": ("explained.truth",)}},
    baselines=(nulls.SHUFFLED_MAPS, nulls.RANDOM_PEAK, nulls.IMAGE_CENTRE),
    enough=0.8,
    cite="zhang2018top",
    card=Card(
        asks="Does the map of each present concept peak where that concept is?",
        read="0.6 means that six of ten maps peak at their concept. Pointing at the middle of each "
        "picture is the baseline to beat. From 0.8 on we would rely on it; a convention.",
        misleads="Coarse maps peak in the middle of a cell, up to half a cell from the true one; a "
        "tolerance near half the picture is passed by the centre alone.",
        cost="one maximum per map",
    ),
)
class PointingGame(SampleMean):
    """Counts of maps that peak at their concept."""

    @staticmethod
    def each(
        evidence: LocationEvidence,
        *,
        target: Target = "auto",
        tolerance: float | None = None,
        pairs: Pairs = "present",
        average: Average = "pairs",
    ) -> PerSample:
        """Each picture's hits and the pairs they are counted among."""
        hit, there = _hits(evidence, _target(evidence, target), tolerance)
        counted = there & (evidence.part_of >= 0)
        if pairs == "present":
            counted &= np.asarray(evidence.explained.truth)
            if evidence.explained.known is not None:
                counted &= evidence.explained.known
        n_hit = (hit & counted).sum(axis=1).astype(float)
        n_counted = counted.sum(axis=1).astype(float)
        return averaged(n_hit, n_counted, average, np.ones(len(evidence), bool))


def _target(evidence: LocationEvidence, target: Target) -> str:
    if target == "auto":
        return next(name for name in ("masks", "boxes", "points") if evidence.has(name))
    if not evidence.has(target):
        raise EvidenceError(f"target={target!r}", f"no `{target}`", "them in the evidence")
    return target


def _hits(
    evidence: LocationEvidence, target: str, tolerance: float | None
) -> tuple[Bool[np.ndarray, "samples concepts"], Bool[np.ndarray, "samples concepts"]]:
    """Whether each map peaks at its concept, and whether the concept has a place at all."""
    peak = peaks(evidence.maps)[:, :, None]
    part = evidence.part_of
    if target == "masks":
        masks = np.asarray(evidence.masks)
        cell = (peak[:, :, 0] * masks.shape[2:]).astype(int)
        picture = np.arange(len(evidence))[:, None]
        hit = masks[picture, part[None, :], cell[..., 0], cell[..., 1]]
        return hit, np.asarray(masks.any(axis=(2, 3)))[:, part]
    if target == "boxes":
        scale = np.tile(evidence.sizes, 2)[:, None, None, :]
        boxes = (np.asarray(evidence.boxes) / scale)[:, part]
        margin = 0.0 if tolerance is None else tolerance
        inside = (boxes[..., :2] - margin <= peak) & (peak <= boxes[..., 2:] + margin)
        return inside.all(axis=-1).any(axis=-1), ~np.isnan(boxes).any(axis=-1).all(axis=-1)
    points = (np.asarray(evidence.points) / evidence.sizes[:, None, None, :])[:, part]
    away = np.sqrt(((points - peak) ** 2).sum(axis=-1))
    limit = 0.2 if tolerance is None else tolerance
    return (away <= limit).any(axis=-1), ~np.isnan(away).all(axis=-1)
