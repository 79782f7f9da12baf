"""Regions of the concepts that an explanation names; and how often a random point is inside."""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from pydantic import Field

from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.metrics.base import NullModel, PerSample
from theodolite.metrics.shared.places import (
    Average,
    Sides,
    Ties,
    averaged,
    inside_region,
    pixel_counts,
)
from theodolite.metrics.shared.ranking import (
    Order,
    Population,
    RankBy,
    checked_top,
    importance,
    population_mask,
    ranked,
)

Among = Annotated[
    Literal["localisable", "all"],
    Field(description="Concepts that can be named: those tied to a part, or all of them."),
]
Invisible = Annotated[
    Literal["skip", "miss"],
    Field(description="A named concept whose part is not visible: left out, or missed."),
]


def named_concepts(
    scores: Float[np.ndarray, "samples concepts"],
    part_of: Int[np.ndarray, " concepts"],
    among: Among,
    top: Sequence[int],
) -> Int[np.ndarray, "samples named"]:
    """The concepts that an explanation names, among those that can be located or among all."""
    localisable = part_of >= 0
    if among == "localisable":
        scores = np.where(localisable, scores, -np.inf)
    limit = int(localisable.sum()) if among == "localisable" else len(localisable)
    return ranked(scores, max(checked_top(top, limit)))


def inside_regions(
    evidence: LocationEvidence,
    named: Int[np.ndarray, "samples named"],
    shares: Float[np.ndarray, " alpha"],
    ties: Ties,
) -> tuple[
    Float[np.ndarray, "samples named alpha places"], Bool[np.ndarray, "samples named places"]
]:
    """Credit of each named concept at each place of its part, and which of these are visible."""
    points, visible = _places(evidence, named)
    sample, rank, place = np.nonzero(visible)
    which = np.stack([sample, named[sample, rank]], axis=1)
    counts = pixel_counts(evidence, which, points[sample, rank, place])
    region = _pixels(evidence, shares)[sample]
    credit = np.zeros((*visible.shape[:2], len(shares), visible.shape[2]))
    credit[sample, rank, :, place] = inside_region(counts, region, ties)
    return credit, visible


def over_named(
    evidence: LocationEvidence,
    named: Int[np.ndarray, "samples named"],
    credit: Float[np.ndarray, "samples named alpha"],
    visible: Bool[np.ndarray, "samples named places"],
    top: Sequence[int],
    invisible: Invisible,
) -> tuple[Float[np.ndarray, "samples alpha top"], Float[np.ndarray, "samples alpha top"]]:
    """Credit of the first so many named concepts, and how many of them are counted."""
    seen = np.asarray(visible.any(axis=-1))
    counted = seen if invisible == "skip" else evidence.part_of[named] >= 0
    lengths = np.asarray(top)
    seen_credit = np.where(seen[:, :, None], credit, 0.0)
    n_inside = seen_credit.cumsum(axis=1)[:, lengths - 1].swapaxes(1, 2)
    n_counted = counted.cumsum(axis=1)[:, None, lengths - 1].astype(float)
    return n_inside, np.broadcast_to(n_counted, n_inside.shape)


def _anywhere(
    evidence: LocationEvidence,
    *,
    top: Sequence[int],
    alpha: Sequence[float],
    rank_by: RankBy,
    order: Order,
    population: Population,
    among: Among,
    invisible: Invisible,
    sides: Sides,
    average: Average,
    regions: int,
    ties: Ties,
) -> PerSample:
    """Each picture's share of points anywhere that are inside: the area of the region.

    Of a part at several places each is drawn by itself. Pixels that share the last places of a
    region count as if these were drawn among them.
    """
    del ties
    scores = importance(evidence.explained, rank_by, order)
    named = named_concepts(scores, evidence.part_of, among, top)
    _, visible = _places(evidence, named)
    n_pixels = evidence.sizes.prod(axis=1)
    areas = _pixels(evidence, np.asarray(alpha, float) / regions) / n_pixels[:, None]
    credit = _at_any_place(areas[:, None, :], visible.sum(axis=-1)[:, :, None], sides)
    per_length = over_named(evidence, named, credit, visible, top, invisible)
    return averaged(*per_length, average, population_mask(evidence.explained, population))


def _at_any_place(area: np.ndarray, n: np.ndarray, sides: Sides) -> np.ndarray:
    """What a part at n places gets, each of them inside with this chance."""
    if sides == "either":
        return np.asarray(1.0 - (1.0 - area) ** n)
    return np.asarray(area**n if sides == "every" else area + 0.0 * n)


RANDOM_POINT = NullModel(
    "random point",
    "a random point of the picture instead of the annotated one",
    expected=_anywhere,
    random=False,
)


def _places(
    evidence: LocationEvidence, named: Int[np.ndarray, "samples named"]
) -> tuple[Float[np.ndarray, "samples named places 2"], Bool[np.ndarray, "samples named places"]]:
    """Where the parts of the named concepts are, and which of these places are visible."""
    part = evidence.part_of[named]
    points = np.asarray(evidence.points)[np.arange(len(named))[:, None], part]
    return points, ~np.isnan(points).any(axis=-1) & (part >= 0)[..., None]


def _pixels(
    evidence: LocationEvidence, shares: Float[np.ndarray, " alpha"]
) -> Int[np.ndarray, "samples alpha"]:
    """How many pixels a region has."""
    n_pixels = evidence.sizes.prod(axis=1)
    return np.asarray(np.floor(shares * n_pixels[:, None] + 0.5), np.int64)
