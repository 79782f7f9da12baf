"""Null baselines of the alignment scores: explanations that know nothing."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.evidence.sampling import POOLED, another, pool_of, uniform
from theodolite.metrics.base import NullModel

_ANNOTATION = ("truth", "known")


def _orders(evidence: ConceptEvidence | LocationEvidence, n: int, seed: int) -> np.ndarray:
    """A random order of n things for each sample."""
    return uniform(np.asarray(evidence.samples.index), (n,), seed).argsort(axis=1, kind="stable")


def _shuffled_concepts(evidence: ConceptEvidence, seed: int) -> ConceptEvidence:
    order = _orders(evidence, len(evidence.concepts), seed)
    changed: dict[str, Any] = {
        name: np.take_along_axis(getattr(evidence, name), order, axis=1)
        for name in _ANNOTATION
        if evidence.has(name)
    }
    return replace(evidence, **changed)


def _some_annotation(evidence: ConceptEvidence) -> dict[str, np.ndarray]:
    annotation = {name: getattr(evidence, name) for name in _ANNOTATION if evidence.has(name)}
    return pool_of(np.asarray(evidence.samples.index), annotation)


def _shuffled_samples(
    evidence: ConceptEvidence, seed: int, pool: Mapping[str, np.ndarray]
) -> ConceptEvidence:
    other = another(pool, np.asarray(evidence.samples.index), (), seed)
    changed: dict[str, Any] = {n: pool[POOLED + n][other] for n in _ANNOTATION if evidence.has(n)}
    if (other < 0).any():  # there is no other
        known = changed.get("known", np.ones_like(changed["truth"]))
        changed["known"] = known & (other >= 0)[:, None]
    return replace(evidence, **changed)


def _how_common(evidence: ConceptEvidence) -> dict[str, np.ndarray]:
    assert evidence.truth is not None  # noqa: S101  the metric needs it, so it is there
    known = np.ones_like(evidence.truth) if evidence.known is None else evidence.known
    return {"there": (evidence.truth & known).sum(axis=0), "known": known.sum(axis=0)}


def _most_common(
    evidence: ConceptEvidence, seed: int, sums: Mapping[str, np.ndarray]
) -> ConceptEvidence:
    del seed
    share = sums["there"] / np.maximum(sums["known"], 1)
    values = np.broadcast_to(share, evidence.values.shape)
    if evidence.weights is None:
        return replace(evidence, values=values)
    weights = np.broadcast_to(share[:, None], evidence.weights.shape)
    return replace(evidence, values=values, weights=weights)


def told_the_truth(evidence: ConceptEvidence) -> ConceptEvidence:
    """The explanation that names what is there first, then what is not known."""
    there = np.asarray(evidence.truth, float)
    if evidence.known is not None:
        there = np.where(evidence.known, 2 * there, 1.0)
    changed: dict[str, Any] = {"values": there}
    if evidence.weights is not None:
        changed["weights"] = np.ones_like(evidence.weights)
    return replace(evidence, **changed)


SHUFFLED_CONCEPTS = NullModel(
    "shuffled concepts",
    "the same ranking with the concepts' names dealt out at random",
    _shuffled_concepts,
)
SHUFFLED_SAMPLES = NullModel(
    "another sample's concepts",
    "the same ranking, checked against the concepts of a random other sample",
    _shuffled_samples,
    sums=_some_annotation,
)
MOST_COMMON = NullModel(
    "the most common concepts",
    "always naming the concepts that are most often there, without looking",
    _most_common,
    sums=_how_common,
    random=False,
)


def _permuted_truth(axis: int) -> Any:
    def make(state: Any, seed: int) -> Any:
        shuffled = np.random.default_rng(seed).permuted(state.class_truth, axis=axis)
        return replace(state, class_truth=shuffled)

    return make


SHUFFLED_ANNOTATION = (
    NullModel(
        "shuffled classes",
        "each concept's annotation dealt out over the classes at random",
        _permuted_truth(1),
        on="state",
    ),
    NullModel(
        "shuffled concepts",
        "each class's annotation dealt out over the concepts at random",
        _permuted_truth(0),
        on="state",
    ),
)


def centre_map(side: int = 63) -> np.ndarray:
    """A map that is highest in the middle of the picture and falls with the distance from it."""
    away = (np.arange(side) + 0.5) / side - 0.5
    return -(away[:, None] ** 2 + away[None, :] ** 2)


def _with_one_map(make_map: Any) -> Any:
    def make(evidence: LocationEvidence, seed: int) -> LocationEvidence:
        del seed
        single = make_map()
        maps = np.broadcast_to(single, evidence.maps.shape[:2] + single.shape)
        return replace(evidence, maps=maps)

    return make


def _shuffled_maps(evidence: LocationEvidence, seed: int) -> LocationEvidence:
    n, k = evidence.maps.shape[:2]
    return replace(evidence, maps=evidence.maps[np.arange(n)[:, None], _orders(evidence, k, seed)])


def _random_points(evidence: LocationEvidence, seed: int) -> LocationEvidence:
    assert evidence.points is not None  # noqa: S101
    draws = uniform(np.asarray(evidence.samples.index), evidence.points.shape[1:], seed)
    points = draws * evidence.sizes[:, None, None, :]
    return replace(evidence, points=np.where(np.isnan(evidence.points), np.nan, points))


def _random_peaks(evidence: LocationEvidence, seed: int) -> LocationEvidence:
    n, k, *grid = evidence.maps.shape
    grid = [max(side, 7) for side in grid]  # a point anywhere, also where maps are a single cell
    draws = uniform(np.asarray(evidence.samples.index), (k, 1), seed)
    maps = np.zeros((n, k, grid[0] * grid[1]), np.float32)
    np.put_along_axis(maps, (draws * maps.shape[2]).astype(np.int64), 1.0, axis=2)
    return replace(evidence, maps=maps.reshape(n, k, *grid))


IMAGE_CENTRE = NullModel(
    "image centre",
    "every map replaced by one that points at the middle of the picture",
    _with_one_map(centre_map),
    random=False,
)
UNIFORM_MAP = NullModel(
    "uniform map",
    "every map replaced by a flat one, of which any region is as good as any other (a part at "
    "several places counts once)",
    _with_one_map(lambda: np.zeros((1, 1))),
    random=False,
    options={"ties": "share"},
)
SHUFFLED_MAPS = NullModel(
    "shuffled concepts", "the maps of one picture dealt out over its concepts", _shuffled_maps
)
RANDOM_POINT = NullModel(
    "random point", "a random point of the picture instead of the annotated one", _random_points
)
RANDOM_PEAK = NullModel(
    "random point", "a random point of the picture instead of the map's peak", _random_peaks
)
