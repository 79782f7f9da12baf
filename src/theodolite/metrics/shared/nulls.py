"""Null baselines of the alignment scores: explanations that know nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from theodolite._stats.sampling import ADDED, draw_cluster_pool, find_pool_rows, hash_to_uniforms
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.metrics.base import NullModel, PerSample, ratio
from theodolite.metrics.shared import ranking


def _orders(evidence: LocationEvidence, n: int, seed: int) -> np.ndarray:
    """A random order of n things for each sample."""
    return hash_to_uniforms(np.asarray(evidence.samples.index), (n,), seed).argsort(
        axis=1, kind="stable"
    )


def _any_concept(
    evidence: ConceptEvidence,
    *,
    top: Sequence[int],
    population: ranking.Population,
    named: ranking.Named,
    **options: Any,
) -> PerSample:
    """Any concept is as likely to be named: a sample's share of concepts that are there.

    Of those whose presence is known; the whole is the chance that of the named ones any is.
    """
    del options
    lengths = np.asarray(ranking.checked_top(top, len(evidence.concepts)))
    known = _known(evidence)
    n, n_known = known.shape[1], known.sum(axis=1)
    share = (np.asarray(evidence.truth) & known).sum(axis=1) / np.maximum(n_known, 1)
    steps = np.arange(int(lengths.max()))
    unknown = np.maximum((n - n_known)[:, None] - steps, 0) / (n - steps)
    whole = 1.0 - unknown.cumprod(axis=1)[:, lengths - 1]
    can = ranking.nameable(evidence, named)
    if can is not None:  # as many as the explanation names, which may be none
        n_named = np.minimum(can.sum(axis=1)[:, None], lengths)
        every = 1.0 - np.concatenate([np.ones((len(known), 1)), unknown.cumprod(axis=1)], axis=1)
        whole = np.take_along_axis(every, n_named, axis=1)
    return PerSample(share[:, None] * whole, whole, ranking.population_mask(evidence, population))


def _known(evidence: ConceptEvidence) -> np.ndarray:
    return np.ones(evidence.values.shape, bool) if evidence.known is None else evidence.known


def _annotation(evidence: ConceptEvidence) -> dict[str, np.ndarray]:
    """How often concepts are there and known: in all samples, or in each of some clusters."""
    known = _known(evidence).astype(float)
    rows = {"there": np.asarray(evidence.truth) * known, "known": known, "n": np.ones(len(known))}
    if evidence.samples.clusters is not None:
        return draw_cluster_pool(evidence.samples.clusters, rows)
    return {name: np.asarray(part.sum(axis=0)) for name, part in rows.items()}


def _of_others(
    evidence: ConceptEvidence, sums: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """How often each concept is there, and known, in the other samples, or other clusters."""
    if evidence.samples.clusters is None:
        known = _known(evidence)
        return sums["there"] - (np.asarray(evidence.truth) & known), sums["known"] - known
    size = sums[f"{ADDED}n"][:, None]
    own = find_pool_rows(sums, evidence.samples.clusters)
    means = [sums[ADDED + name] / size for name in ("there", "known")]
    own_means = [np.where(own[:, None] >= 0, mean[own], 0.0) for mean in means]
    there, known = (mean.sum(axis=0) - o for mean, o in zip(means, own_means, strict=True))
    return there, np.where(known > 1e-9, known, 0.0)


def _any_sample(  # noqa: PLR0913  options are keywords
    evidence: ConceptEvidence,
    sums: Mapping[str, np.ndarray],
    *,
    top: Sequence[int],
    rank_by: ranking.RankBy,
    order: ranking.Order,
    population: ranking.Population,
    named: ranking.Named,
) -> PerSample:
    """How often the named concepts are there in other samples, of those where that is known."""
    lengths = np.asarray(ranking.checked_top(top, len(evidence.concepts)))
    scores = ranking.importance(evidence, rank_by, order)
    first, can = ranking.ranked_among(scores, ranking.nameable(evidence, named), int(lengths.max()))
    there, known = (
        (np.take_along_axis(part, first, axis=1) * can).cumsum(axis=1)[:, lengths - 1]
        for part in _of_others(evidence, sums)
    )
    return PerSample.from_values(
        np.clip(ratio(there, known), 0.0, 1.0),
        eligible=ranking.population_mask(evidence, population),
    )


def _how_common(evidence: ConceptEvidence) -> dict[str, np.ndarray]:
    known = _known(evidence)
    return {"there": (np.asarray(evidence.truth) & known).sum(axis=0), "known": known.sum(axis=0)}


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
    "permuted_concepts",
    "the same ranking with the concepts' names dealt out at random",
    expected=_any_concept,
    random=False,
)
SHUFFLED_SAMPLES = NullModel(
    "another_sample",
    "the same ranking, checked against the concepts of a random other sample",
    expected=_any_sample,
    sums=_annotation,
    random=False,
    label="another_sample",
)
MOST_COMMON = NullModel(
    "most_frequent",
    "always naming the concepts that are most often there, without looking",
    _most_common,
    sums=_how_common,
    random=False,
    label="most frequent concepts",
)


def _permuted_truth(axis: int) -> Any:
    def make(state: Any, seed: int) -> Any:
        shuffled = np.random.default_rng(seed).permuted(state.class_truth, axis=axis)
        return replace(state, class_truth=shuffled)

    return make


SHUFFLED_ANNOTATION = (
    NullModel(
        "permuted_classes",
        "each concept's annotation dealt out over the classes at random",
        _permuted_truth(1),
        on="state",
    ),
    NullModel(
        "permuted_concepts",
        "each class's annotation dealt out over the concepts at random",
        _permuted_truth(0),
        on="state",
    ),
)


def center_map(side: int = 63) -> np.ndarray:
    """A map that is highest in the middle of the image and falls with the distance from it."""
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


IMAGE_CENTER = NullModel(
    "center",
    "every map replaced by one that points at the middle of the image",
    _with_one_map(center_map),
    random=False,
    label="center baseline",
)
UNIFORM_MAP = NullModel(
    "uniform_map",
    "every map replaced by a flat one, of which any region is as good as any other (a part at "
    "several places counts once)",
    _with_one_map(lambda: np.zeros((1, 1))),
    random=False,
    options={"ties": "share"},
)
SHUFFLED_MAPS = NullModel(
    "permuted_concepts", "the maps of one image dealt out over its concepts", _shuffled_maps
)
