"""Metrics of whether the map of a named concept covers the location of the concept."""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from pydantic import Field

from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.metrics.base import Card, NullModel, PerSample, SampleMean, metric
from theodolite.metrics.option_types import Top
from theodolite.metrics.shared import nulls, places, ranking
from theodolite.metrics.shared.places import Average, Sides, Ties
from theodolite.metrics.shared.ranking import Order, Population, RankBy

Among = Annotated[
    Literal["localisable", "all"],
    Field(description="Concepts that can be named: those tied to a part, or all of them."),
]
Invisible = Annotated[
    Literal["skip", "miss"],
    Field(description="A named concept whose part is not visible: left out, or missed."),
]
Alpha = Annotated[
    Sequence[Annotated[float, Field(gt=0)]],
    Field(min_length=1, description="Sizes of the region, in parts of the image."),
]
Regions = Annotated[int, Field(ge=1, description="Parts that the image is divided into.")]


def select_named_concepts(
    scores: Float[np.ndarray, "samples concepts"],
    part_of: Int[np.ndarray, " concepts"],
    among: Among,
    top: Sequence[int],
) -> Int[np.ndarray, "samples named"]:
    """Return the concepts that an explanation names, among locatable ones or among all."""
    localisable = part_of >= 0
    if among == "localisable":
        scores = np.where(localisable, scores, -np.inf)
    limit = int(localisable.sum()) if among == "localisable" else len(localisable)
    return ranking.select_top_concepts(scores, max(ranking.validate_top_k(top, limit)))


def inside_regions(
    evidence: LocationEvidence,
    named: Int[np.ndarray, "samples named"],
    shares: Float[np.ndarray, " alpha"],
    ties: Ties,
) -> tuple[
    Float[np.ndarray, "samples named alpha places"], Bool[np.ndarray, "samples named places"]
]:
    """Credit of each named concept at each place of its part, and which of these are visible."""
    points, visible = _find_places(evidence, named)
    sample, rank, place = np.nonzero(visible)
    which = np.stack([sample, named[sample, rank]], axis=1)
    counts = places.pixel_counts(evidence, which, points[sample, rank, place])
    region = _count_pixels(evidence, shares)[sample]
    credit = np.zeros((*visible.shape[:2], len(shares), visible.shape[2]))
    credit[sample, rank, :, place] = places.is_inside_region(counts, region, ties)
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


def _compute_region_area(
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
    """Return the area of the region: the fraction of random points that are inside.

    Of a part at several places each is drawn by itself. Pixels that share the last places of a
    region count as if these were drawn among them.
    """
    del ties
    scores = ranking.compute_importance(evidence.explained, rank_by, order)
    named = select_named_concepts(scores, evidence.part_of, among, top)
    _, visible = _find_places(evidence, named)
    n_pixels = evidence.sizes.prod(axis=1)
    areas = _count_pixels(evidence, np.asarray(alpha, float) / regions) / n_pixels[:, None]
    credit = _expect_at_any_place(areas[:, None, :], visible.sum(axis=-1)[:, :, None], sides)
    per_length = over_named(evidence, named, credit, visible, top, invisible)
    return places.averaged(
        *per_length, average, ranking.get_population_mask(evidence.explained, population)
    )


def _expect_at_any_place(area: np.ndarray, n: np.ndarray, sides: Sides) -> np.ndarray:
    """Return the expected credit of a part at n places, each inside with this probability."""
    if sides == "either":
        return np.asarray(1.0 - (1.0 - area) ** n)
    return np.asarray(area**n if sides == "every" else area + 0.0 * n)


RANDOM_POINT = NullModel(
    "random_point",
    "a random point of the image instead of the annotated one",
    expected=_compute_region_area,
    random=False,
)


def _find_places(
    evidence: LocationEvidence, named: Int[np.ndarray, "samples named"]
) -> tuple[Float[np.ndarray, "samples named places 2"], Bool[np.ndarray, "samples named places"]]:
    """Return the locations of the parts of named concepts, and which are visible."""
    part = evidence.part_of[named]
    points = np.asarray(evidence.points)[np.arange(len(named))[:, None], part]
    return points, ~np.isnan(points).any(axis=-1) & (part >= 0)[..., None]


def _count_pixels(
    evidence: LocationEvidence, shares: Float[np.ndarray, " alpha"]
) -> Int[np.ndarray, "samples alpha"]:
    """Return the number of pixels of a region."""
    n_pixels = evidence.sizes.prod(axis=1)
    return np.asarray(np.floor(shares * n_pixels[:, None] + 0.5), np.int64)


@metric(
    "concept_location",
    paper_names=("CLM",),
    title="Concept location (CLM)",
    version=2,
    question="located",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("explained.values", "maps", "sizes", "part_of", "points"),
    uses_if={
        option: {
            choice: tuple(f"explained.{name}" for name in arrays) for choice, arrays in c.items()
        }
        for option, c in ranking.USES_IF.items()
    },
    sweeps=("alpha", "top"),
    nulls=(nulls.SHUFFLED_MAPS, RANDOM_POINT, nulls.IMAGE_CENTER, nulls.UNIFORM_MAP),
    headline={"alpha": 1, "top": 5},
    threshold=0.8,
    cite="aysel2025concept",
    card=Card(
        question="Is the concept's point inside the region where the model sees that concept?",
        interpretation="With alpha = 1 the region is a twelfth of the image, with 6 a half: chance "
        "is alpha / 12. Compare with center baseline: photographers put things there. From 0.8 "
        "on we would rely on it; that line is a convention.",
        limitations="A map that covers the whole animal holds all its parts when alpha is large. "
        "The concept need not exist in the image: read it beside concept existence.",
        cost="one pass over the pixels of l maps per image; maps are never upsampled in memory",
        template="For {value} of the named {noun} the annotated place lies in the {alpha}/12 of "
        "the image that the map marks ({low}–{high}{best}). {null}{enough}.",
    ),
)
class ConceptLocation(SampleMean):
    r"""Share of the first :math:`l` named concepts whose region holds the annotated point (CLM).

    .. math:: \rho_l = \frac1N \sum_i \frac1l \sum_{s=1}^{l} 1[p_{iq_{is}} \in \Omega_{iq_{is}}]

    :math:`\Omega_{ij}` are the :math:`n = \alpha M_1 M_2 / 12` pixels (rounded half up) with the
    highest values of concept :math:`j`'s map, upsampled bilinearly with half-pixel centers to the
    image of :math:`M_1 \times M_2`; :math:`p_{ij}` is where the concept is. Introduced in
    :cite:t:`aysel2025concept`, eq. 11, whose sum over "j = 1..l" must run over the ranked
    concepts. The choices that the paper leaves open, with our defaults:

    - ``among="localisable"``: rank only concepts tied to a part, so that :math:`l` are named
      ("all": rank all, then leave out those without a part);
    - ``invisible="skip"``: leave out a concept whose part is not visible ("miss": count it as
      missed); an image with nothing left is undefined;
    - ``sides="either"``: of two wings one inside is enough ("every", "share");
    - ``ties="stable"``: of equal pixels the first in reading order comes first ("share": they have
      equal claims);
    - ``average="images"``: mean over images ("pairs": over all evaluated concepts);
    - ``regions=12``: the number of parts that the image is divided by.

    Example:
        >>> from theodolite.metrics import concept_location
        >>> maps = [[[[9.0, 0], [0, 0]], [[0, 0], [0, 9.0]]]]
        >>> where = {"maps": maps, "sizes": [[6, 4]], "points": [[[[0.0, 0.0]], [[0.0, 0.0]]]]}
        >>> options = {"top": (1, 2), "alpha": (3,), "rank_by": "value"}
        >>> concept_location([[1.0, 0.5]], part_of=[0, 1], **where, **options)
        array([[1. , 0.5]])
    """

    @staticmethod
    def each(
        evidence: LocationEvidence,
        *,
        top: Top = (1, 3, 5),
        alpha: Alpha = (1, 3, 6),
        rank_by: RankBy = "contribution",
        order: Order = "signed",
        population: Population = "all",
        among: Among = "localisable",
        invisible: Invisible = "skip",
        sides: Sides = "either",
        ties: Ties = "stable",
        average: Average = "images",
        regions: Regions = 12,
    ) -> PerSample:
        if not alpha or min(alpha) <= 0 or max(alpha) > regions:
            raise EvidenceError("alpha", f"{list(alpha)}", f"numbers above 0, up to {regions}")
        scores = ranking.compute_importance(evidence.explained, rank_by, order)
        named = select_named_concepts(scores, evidence.part_of, among, top)
        inside, visible = inside_regions(evidence, named, np.asarray(alpha, float) / regions, ties)
        credit = places.combine_places(inside, visible[:, :, None, :], sides)
        per_length = over_named(evidence, named, credit, visible, top, invisible)
        return places.averaged(
            *per_length, average, ranking.get_population_mask(evidence.explained, population)
        )
