"""Concept location: the kernel against a plain upsampling, the score against its definition."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from support.of_evidence import of_evidence
from theodolite._planted.concepts import planted_locations
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.metrics.catalogue import catalogue
from theodolite.metrics.located.concept_location import ConceptLocation
from theodolite.metrics.shared.nulls import IMAGE_CENTER, UNIFORM_MAP
from theodolite.testing.strategies import location_evidence

concept_location = of_evidence("concept_location")


def upsampled(grid: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Bilinear, half-pixel centers, edges repeated; downwards first, then across."""

    def sources(n: int, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        place = (np.arange(n) + 0.5) * (m / n) - 0.5
        low = np.clip(np.floor(place).astype(int), 0, m - 1)
        high = np.clip(low + 1, 0, m - 1)
        fraction = np.where((place <= 0) | (low >= m - 1), 0.0, place - low)
        return low, high, fraction

    grid = grid.astype(float)
    low, high, f = sources(rows, grid.shape[0])
    tall = grid[low] + f[:, None] * (grid[high] - grid[low])
    low, high, f = sources(columns, grid.shape[1])
    return np.asarray(tall[:, low] + f * (tall[:, high] - tall[:, low]))


def naive(evidence: LocationEvidence, top: int, alpha: float, **options: str) -> float:
    said, shares, pairs = evidence.explained, [], []
    assert said.predicted is not None and said.weights is not None and evidence.points is not None
    for i in range(len(evidence)):
        if options["population"] == "correct" and said.labels[i] != said.predicted[i]:
            continue
        theta, u = said.weights[:, said.predicted[i]], said.values[i]
        scores = {"contribution": theta * u, "weight": theta, "value": u}[options["rank_by"]]
        scores = abs(scores) if options["order"] == "absolute" else scores
        able = [j for j in range(len(scores)) if evidence.part_of[j] >= 0]
        order = able if options["among"] == "localisable" else list(range(len(scores)))
        named = sorted(order, key=lambda j: (-scores[j], j))[:top]
        rows, columns = evidence.sizes[i]
        n = math.floor(alpha * rows * columns / 12 + 0.5)
        marks = []
        for j in named:
            if evidence.part_of[j] < 0:
                continue
            image = upsampled(evidence.maps[i, j], rows, columns).ravel()
            ranking = sorted(range(image.size), key=lambda p: (-image[p], p))
            at_places = []
            for point in evidence.points[i, evidence.part_of[j]]:
                if np.isnan(point).any():
                    continue
                r, c = (min(int(x), m - 1) for x, m in zip(point, (rows, columns), strict=True))
                pixel = r * columns + c
                if options["ties"] == "stable":
                    at_places.append(float(pixel in ranking[:n]))
                else:
                    larger = sum(image > image[pixel])
                    at_places.append(min(max((n - larger) / sum(image == image[pixel]), 0), 1))
            combine = {"either": max, "every": min, "share": np.mean}[options["sides"]]
            if at_places:
                marks.append(float(combine(at_places)))
            elif options["invisible"] == "miss":
                marks.append(0.0)
        pairs += marks
        if marks:
            shares.append(np.mean(marks))
    chosen = shares if options["average"] == "images" else pairs
    return float(np.mean(chosen)) if chosen else math.nan


@given(
    evidence=location_evidence(ties=True, max_samples=3),
    options=st.fixed_dictionaries(
        {
            "rank_by": st.sampled_from(["contribution", "weight", "value"]),
            "order": st.sampled_from(["signed", "absolute"]),
            "population": st.sampled_from(["all", "correct"]),
            "among": st.sampled_from(["localisable", "all"]),
            "invisible": st.sampled_from(["skip", "miss"]),
            "sides": st.sampled_from(["either", "every", "share"]),
            "ties": st.sampled_from(["stable", "share"]),
            "average": st.sampled_from(["images", "pairs"]),
        }
    ),
    without=st.integers(0, 1),
)
def test_equals_the_definition(
    evidence: LocationEvidence, options: dict[str, Any], without: int
) -> None:
    part_of = evidence.part_of.copy()
    part_of[:without] = -1
    evidence = LocationEvidence(
        explained=evidence.explained,
        maps=evidence.maps,
        sizes=evidence.sizes,
        part_of=part_of,
        points=evidence.points,
    )
    result = ConceptLocation.of(evidence, top=(1, 4), alpha=(1, 3, 6), **options).value()
    expected = [[naive(evidence, top, alpha, **options) for top in (1, 4)] for alpha in (1, 3, 6)]
    assert_allclose(result, expected, rtol=1e-12)


def worked_example() -> LocationEvidence:
    features = np.array([[[1, 2], [3, 4]], [[0, 1], [0, -1]]], float)
    vectors = np.array([[1, 2], [0.5, -1], [0, 1]])
    maps = np.einsum("jk,khw->jhw", vectors, features) / 2
    points = np.array([[5, 3], [0, 0], [1, 3]], float)
    return LocationEvidence(
        explained=ConceptEvidence(values=np.array([[3.0, 2.0, 1.0]])),
        maps=maps[None],
        sizes=np.array([[6, 4]]),
        part_of=np.arange(3),
        points=points[None, :, None],
    )


def test_worked_example() -> None:
    evidence = worked_example()
    assert_allclose(
        evidence.maps[0], [[[0.5, 2], [1.5, 1]], [[0.25, 0], [0.75, 1.5]], [[0, 0.5], [0, -0.5]]]
    )
    result = concept_location(evidence, top=(1, 2, 3), rank_by="value")
    assert_allclose(result, [[0, 0, 1 / 3]] * 3, atol=5e-7)


@given(
    shape=st.tuples(st.integers(1, 7), st.integers(1, 7)),
    size=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    seed=st.integers(0, 2**32 - 1),
)
def test_plain_upsampling_is_that_of_pillow(
    shape: tuple[int, int], size: tuple[int, int], seed: int
) -> None:
    if size[0] < shape[0] or size[1] < shape[1]:
        return  # making smaller is another operation
    grid = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    pillow = Image.fromarray(grid).resize(size[::-1], Image.Resampling.BILINEAR)
    assert_allclose(upsampled(grid, *size), np.asarray(pillow), atol=2e-6)


def test_plain_upsampling_is_that_of_torch() -> None:
    torch = pytest.importorskip("torch")
    grid = np.random.default_rng(0).normal(size=(7, 7))
    expected = torch.nn.functional.interpolate(
        torch.from_numpy(grid)[None, None], size=(224, 180), mode="bilinear", align_corners=False
    )
    assert_allclose(upsampled(grid, 224, 180), expected[0, 0], atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_kernel_counts_what_a_plain_upsampling_shows(dtype: Any) -> None:
    from theodolite.metrics.shared.places import pixel_counts  # noqa: PLC0415

    random = np.random.default_rng(1)
    evidence = planted_locations(4, 6, size=(31, 17))
    maps = random.normal(size=(4, 6, 7, 5)).astype(dtype)
    evidence = LocationEvidence(
        explained=evidence.explained, maps=maps, sizes=evidence.sizes, part_of=evidence.part_of,
        points=evidence.points,
    )  # fmt: skip
    which = np.stack([random.integers(0, 4, 50), random.integers(0, 6, 50)], axis=1)
    points = random.random((50, 2)) * (31, 17)
    result = pixel_counts(evidence, which, points)
    for (i, j), point, (above, equal, before) in zip(which, points, result, strict=True):
        image = upsampled(maps[i, j].astype(np.float64), 31, 17).ravel()
        pixel = int(point[0]) * 17 + int(point[1])
        assert_array_equal(
            (above, equal, before),
            (
                (image > image[pixel]).sum(),
                (image == image[pixel]).sum(),
                (image[:pixel] == image[pixel]).sum(),
            ),
        )


@pytest.mark.parametrize(("alignment", "expected"), [(1.0, 1.0), (0.0, 0.0)])
def test_planted_perfect_and_worst(alignment: float, expected: float) -> None:
    assert_allclose(concept_location(planted_locations(alignment=alignment)), expected)


def test_a_flat_map_scores_its_share_of_the_image() -> None:
    evidence = UNIFORM_MAP.make(planted_locations(size=(24, 24)), 0)
    result = concept_location(evidence, alpha=(1, 3, 6), top=(1,), ties="share")
    assert_allclose(result[:, 0], [1 / 12, 3 / 12, 6 / 12])


def test_a_random_point_scores_chance() -> None:
    entry = catalogue()["concept_location"]
    (null,) = (null for null in entry.nulls if null.name == "random_point")
    result = entry.null_state(null, planted_locations(3, size=(24, 24)), top=(5,)).value()
    assert_allclose(result[:, 0], [1 / 12, 3 / 12, 6 / 12])


def test_the_image_center_covers_the_middle() -> None:
    evidence = planted_locations(1, 6, size=(60, 60))
    points = np.full((1, 6, 1, 2), 30.0)
    middle = IMAGE_CENTER.make(
        LocationEvidence(
            explained=evidence.explained, maps=evidence.maps, sizes=evidence.sizes,
            part_of=evidence.part_of, points=points,
        ), 0,
    )  # fmt: skip
    assert concept_location(middle, alpha=(0.1,), top=(1,)) == [[1.0]]


@pytest.mark.parametrize("alpha", [(), (0,), (13,)])
def test_impossible_regions_are_refused(alpha: tuple[float, ...]) -> None:
    with pytest.raises(EvidenceError, match="alpha"):
        concept_location(planted_locations(2), alpha=alpha)


def test_more_concepts_than_can_be_located_are_refused() -> None:
    with pytest.raises(EvidenceError, match="1 to 12"):
        concept_location(planted_locations(2), top=(13,))
