"""Nulls whose expectation is known: the mean of many draws comes to it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from theodolite._planted.concepts import planted_locations
from theodolite._planted.ratings import planted_ratings
from theodolite._planted.saliency import planted_saliency
from theodolite.evidence.axes import Samples
from theodolite.evidence.base import Evidence
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.metrics.catalogue import catalogue
from theodolite.metrics.located.pointing_game import average_pairs, box_area, disc_area, find_hits

DRAWS = 300
RANDOM = np.random.default_rng(0)


def expected(name: str, null: str, evidence: Evidence, **options: Any) -> np.ndarray:
    entry = catalogue()[name]
    (baseline,) = (b for b in entry.nulls if b.name == null)
    return np.asarray(entry.null_state(baseline, evidence, **options).value())


def drawn_mean_is(values: Any, expectation: np.ndarray) -> None:
    """Within four standard errors of the mean of the draws."""
    draws = np.stack(list(values))
    error = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - expectation) <= 4 * error + 1e-12).all()


def scored(name: str, evidence: Evidence, **options: Any) -> np.ndarray:
    return np.asarray(catalogue()[name].state.of(evidence, **options).value())


def test_votes_at_random() -> None:
    scale = np.array([1.0, 2.0, 4.0, 9.0])
    ratings = np.where(RANDOM.random((20, 4)) < 0.3, np.nan, RANDOM.choice(scale, (20, 4)))
    whole = RatingEvidence(ratings=ratings, scale=scale)
    null = expected("acceptance", "random_ratings", whole)
    assert_allclose(null, (0 + 1 / 8 + 3 / 8 + 1) / 4)

    def drawn() -> Any:
        for _ in range(DRAWS):
            votes = np.where(np.isnan(ratings), np.nan, RANDOM.choice(scale, ratings.shape))
            yield scored("acceptance", replace(whole, ratings=votes))

    drawn_mean_is(drawn(), null)
    assert_allclose(expected("acceptance", "random_ratings", planted_ratings(9)), 0.5)


def concepts(known: float = 1.0, clusters: bool = False) -> ConceptEvidence:
    """Concepts that are there more or less often, some of them together in a cluster."""
    n, k = 24, 7
    cluster = np.repeat(np.arange(6), 4)
    base = RANDOM.random((6, k))[cluster] if clusters else np.linspace(0.1, 0.9, k)
    return ConceptEvidence(
        values=RANDOM.normal(size=(n, k)),
        truth=RANDOM.random((n, k)) < base,
        known=RANDOM.random((n, k)) < known if known < 1 else None,
        samples=Samples(index=np.arange(n), clusters=cluster if clusters else None),
    )


OPTIONS = {"top": (1, 3, 6), "rank_by": "value"}


@pytest.mark.parametrize("named", ["any", "positive"])
@pytest.mark.parametrize("known", [1.0, 0.6])
def test_concepts_dealt_out_over_names(known: float, named: str) -> None:
    whole, options = concepts(known), OPTIONS | {"named": named}

    def drawn() -> Any:
        for _ in range(DRAWS):
            order = RANDOM.random(whole.values.shape).argsort(axis=1)
            truth = np.take_along_axis(np.asarray(whole.truth), order, axis=1)
            facts = None if known == 1 else np.take_along_axis(np.asarray(whole.known), order, 1)
            yield scored("concept_existence", replace(whole, truth=truth, known=facts), **options)

    drawn_mean_is(drawn(), expected("concept_existence", "permuted_concepts", whole, **options))


def others(clusters: np.ndarray | None, n: int) -> np.ndarray:
    """For each row a random row of a random other cluster, or a random other row."""
    if clusters is None:
        step = RANDOM.integers(1, n, n)
        return (np.arange(n) + step) % n
    rows = []
    for own in clusters:
        cluster = RANDOM.choice(np.setdiff1d(np.unique(clusters), own))
        rows.append(RANDOM.choice(np.flatnonzero(clusters == cluster)))
    return np.array(rows)


@pytest.mark.parametrize(
    ("clusters", "named"), [(False, "any"), (True, "any"), (False, "positive")]
)
def test_concepts_of_another_sample(clusters: bool, named: str) -> None:
    whole, options = concepts(clusters=clusters), OPTIONS | {"named": named}

    def drawn() -> Any:
        for _ in range(DRAWS):
            truth = np.asarray(whole.truth)[others(whole.samples.clusters, len(whole))]
            yield scored("concept_existence", replace(whole, truth=truth), **options)

    null = expected("concept_existence", "another_sample", whole, **options)
    drawn_mean_is(drawn(), null)


def test_a_concept_that_is_known_nowhere_else_is_left_out() -> None:
    whole = ConceptEvidence(
        values=np.array([[2.0, 1.0], [2.0, 1.0]]),
        truth=np.array([[True, True], [True, False]]),
        known=np.array([[True, True], [False, True]]),
    )
    null = expected("concept_existence", "another_sample", whole, top=(1, 2), rank_by="value")
    # the first names what is not known of the second, then finds nothing; the second finds both
    assert_allclose(null, [1.0, (0 + 1) / 2])


def located(places: int = 2) -> LocationEvidence:
    planted = planted_locations(12, 6, size=(30, 40))
    n, parts = len(planted), int(planted.part_of.max()) + 1
    points = RANDOM.random((n, parts, places, 2)) * [30, 40]
    points[RANDOM.random((n, parts, places)) < 0.3] = np.nan
    corners = np.sort(RANDOM.random((n, parts, places, 2, 2)), axis=3) * [30, 40]
    boxes = corners.reshape(n, parts, places, 4)
    boxes[np.isnan(points[..., 0])] = np.nan
    masks = RANDOM.random((n, parts, 3, 5)) < 0.3
    return replace(planted, points=points, boxes=boxes, masks=masks)


@pytest.mark.parametrize("sides", ["either", "every", "share"])
def test_points_anywhere(sides: str) -> None:
    whole = located()
    options = {"top": (1, 5), "alpha": (1, 6), "sides": sides, "rank_by": "value"}

    def drawn() -> Any:
        for _ in range(DRAWS // 3):
            points = RANDOM.random(np.shape(whole.points)) * [30, 40]
            points[np.isnan(np.asarray(whole.points))] = np.nan
            yield scored("concept_location", replace(whole, points=points), **options)

    drawn_mean_is(drawn(), expected("concept_location", "random_point", whole, **options))


@pytest.mark.parametrize("target", ["masks", "boxes", "points"])
@pytest.mark.parametrize("tolerance", [None, 0.1])
def test_peaks_anywhere(target: str, tolerance: float | None) -> None:
    whole = located()

    def drawn() -> Any:
        for _ in range(DRAWS):
            peak = RANDOM.random((*whole.maps.shape[:2], 2))
            hit, there = find_hits(whole, peak, target, tolerance)
            each = average_pairs(whole, hit, there, "all", "pairs")
            yield each.part.sum() / each.whole.sum()

    null = expected(
        "pointing_game", "random_point", whole, target=target, tolerance=tolerance, pairs="all"
    )
    drawn_mean_is(drawn(), null)


@pytest.mark.parametrize(
    ("name", "null"),
    [
        ("relevance_mass", "uniform_map"),
        ("relevance_rank", "uniform_map"),
        ("relevance_peak", "random_location"),
    ],
)
def test_maps_that_say_nothing(name: str, null: str) -> None:
    whole = planted_saliency(12)

    def drawn() -> Any:
        for _ in range(DRAWS):
            yield scored(name, replace(whole, maps=RANDOM.random(whole.maps.shape)))

    area = expected(name, null, whole)
    assert_allclose(area, np.asarray(whole.objects).mean())
    drawn_mean_is(drawn(), area)
    if name != "relevance_peak":
        flat = SaliencyEvidence(maps=np.ones(whole.maps.shape), objects=whole.objects)
        assert_allclose(scored(name, flat), area)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_areas_against_a_fine_grid(seed: int) -> None:
    random = np.random.default_rng(seed)
    side = (np.arange(400) + 0.5) / 400
    down, across = np.meshgrid(side, side, indexing="ij")
    points, radius = random.random((3, 2)) * 1.4 - 0.2, random.uniform(0.05, 0.4)
    points[2] = np.nan
    inside = [(down - p[0]) ** 2 + (across - p[1]) ** 2 <= radius**2 for p in points]
    assert abs(np.any(inside, axis=0).mean() - disc_area(points, radius)) < 0.004
    corners = np.sort(random.random((3, 2, 2)) * 1.4 - 0.2, axis=1)
    boxes = corners.reshape(3, 4)
    boxes[2, 1] = np.nan
    inside = [(t <= down) & (down <= b) & (x <= across) & (across <= r) for t, x, b, r in boxes]
    assert abs(np.any(inside, axis=0).mean() - box_area(boxes)) < 0.02


def test_the_difference_to_an_expected_null_has_the_scores_own_error() -> None:
    """Resampled with the same weights: where the null is the same for all, nothing is added."""
    from theodolite._scoring.evaluate import MetricRequest, Resampling, evaluate  # noqa: PLC0415

    (score,) = evaluate(
        MetricRequest(catalogue()["acceptance"], {}), [planted_ratings(60)], Resampling(100)
    )
    (null,) = score.nulls
    assert null.value == 0.5
    assert null.difference is not None and score.intervals
    assert null.difference.error == pytest.approx(score.intervals[0].error)
