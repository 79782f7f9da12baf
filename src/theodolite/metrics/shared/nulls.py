"""Define null baselines of the existence and location metrics: uninformative explanations."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from theodolite._stats.sampling import ADDED, draw_cluster_pool, find_pool_rows, hash_to_uniforms
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.metrics.base import NullModel, PerSample, ratio
from theodolite.metrics.shared import ranking


def _draw_orders(evidence: LocationEvidence, n: int, seed: int) -> np.ndarray:
    """Return a random order of n things for each sample."""
    return hash_to_uniforms(np.asarray(evidence.samples.index), (n,), seed).argsort(
        axis=1, kind="stable"
    )


def _expect_any_concept(
    evidence: ConceptEvidence,
    *,
    top: Sequence[int],
    population: ranking.Population,
    named: ranking.Eligible,
    **options: Any,
) -> PerSample:
    """Return the fraction of concepts that are present in a sample.

    Of those whose presence is known; the whole is the chance that of the named ones any is.
    """
    del options
    lengths = np.asarray(ranking.validate_top_k(top, len(evidence.concepts)))
    known = _known(evidence)
    n, n_known = known.shape[1], known.sum(axis=1)
    share = (np.asarray(evidence.truth) & known).sum(axis=1) / np.maximum(n_known, 1)
    steps = np.arange(int(lengths.max()))
    unknown = np.maximum((n - n_known)[:, None] - steps, 0) / (n - steps)
    whole = 1.0 - unknown.cumprod(axis=1)[:, lengths - 1]
    can = ranking.find_eligible(evidence, named)
    if can is not None:  # as many as the explanation names, which may be none
        n_named = np.minimum(can.sum(axis=1)[:, None], lengths)
        every = 1.0 - np.concatenate([np.ones((len(known), 1)), unknown.cumprod(axis=1)], axis=1)
        whole = np.take_along_axis(every, n_named, axis=1)
    return PerSample(
        share[:, None] * whole, whole, ranking.get_population_mask(evidence, population)
    )


def _known(evidence: ConceptEvidence) -> np.ndarray:
    return np.ones(evidence.values.shape, bool) if evidence.known is None else evidence.known


def _count_annotations(evidence: ConceptEvidence) -> dict[str, np.ndarray]:
    """Return how often concepts are present and known, overall or in each cluster."""
    known = _known(evidence).astype(float)
    rows = {"there": np.asarray(evidence.truth) * known, "known": known, "n": np.ones(len(known))}
    if evidence.samples.clusters is not None:
        return draw_cluster_pool(evidence.samples.clusters, rows)
    return {name: np.asarray(part.sum(axis=0)) for name, part in rows.items()}


def _count_in_others(
    evidence: ConceptEvidence, sums: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return how often each concept is present and known in the other samples or clusters."""
    if evidence.samples.clusters is None:
        known = _known(evidence)
        return sums["there"] - (np.asarray(evidence.truth) & known), sums["known"] - known
    size = sums[f"{ADDED}n"][:, None]
    own = find_pool_rows(sums, evidence.samples.clusters)
    means = [sums[ADDED + name] / size for name in ("there", "known")]
    own_means = [np.where(own[:, None] >= 0, mean[own], 0.0) for mean in means]
    there, known = (mean.sum(axis=0) - o for mean, o in zip(means, own_means, strict=True))
    return there, np.where(known > 1e-9, known, 0.0)


def _expect_any_sample(  # noqa: PLR0913  options are keywords
    evidence: ConceptEvidence,
    sums: Mapping[str, np.ndarray],
    *,
    top: Sequence[int],
    rank_by: ranking.RankBy,
    order: ranking.Order,
    population: ranking.Population,
    named: ranking.Eligible,
) -> PerSample:
    """Return how often the named concepts are present in other samples where that is known."""
    lengths = np.asarray(ranking.validate_top_k(top, len(evidence.concepts)))
    scores = ranking.compute_importance(evidence, rank_by, order)
    first, can = ranking.select_top_eligible(
        scores, ranking.find_eligible(evidence, named), int(lengths.max())
    )
    there, known = (
        (np.take_along_axis(part, first, axis=1) * can).cumsum(axis=1)[:, lengths - 1]
        for part in _count_in_others(evidence, sums)
    )
    return PerSample.from_values(
        np.clip(ratio(there, known), 0.0, 1.0),
        eligible=ranking.get_population_mask(evidence, population),
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


def name_present_concepts(evidence: ConceptEvidence) -> ConceptEvidence:
    """Return the explanation that names present concepts first, then unknown ones."""
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
    expected=_expect_any_concept,
    random=False,
)
SHUFFLED_SAMPLES = NullModel(
    "another_sample",
    "the same ranking, checked against the concepts of a random other sample",
    expected=_expect_any_sample,
    sums=_count_annotations,
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


def make_center_map(side: int = 63) -> np.ndarray:
    """Return a map that is highest in the center and falls with the distance from it."""
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
    return replace(
        evidence, maps=evidence.maps[np.arange(n)[:, None], _draw_orders(evidence, k, seed)]
    )


IMAGE_CENTER = NullModel(
    "center",
    "every map replaced by one that points at the middle of the image",
    _with_one_map(make_center_map),
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
