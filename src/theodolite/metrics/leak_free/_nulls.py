"""Null baselines of the leakage scores."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.evidence.kinds.intervention import InterventionEvidence
from theodolite.evidence.sampling import POOLED, another, pool_of
from theodolite.metrics.base import NullModel
from theodolite.stats.shuffles import deal_rows


def _other_rows(rows: np.ndarray, samples: Samples, random: np.random.Generator) -> np.ndarray:
    """The same rows dealt out anew; by whole clusters, where there are any."""
    if samples.clusters is None:
        return np.asarray(random.permutation(rows))
    return np.asarray(rows[deal_rows(np.asarray(samples.clusters)[rows], random)])


def _dealt(
    values: np.ndarray, explained: ConceptEvidence, random: np.random.Generator
) -> np.ndarray:
    """Each concept's values dealt out anew among the samples that agree on the concept."""
    dealt, truth, known = values.copy(), np.asarray(explained.truth), explained.known
    for j in range(truth.shape[1]):
        sure = np.ones(len(truth), bool) if known is None else known[:, j]
        for there in (False, True):
            rows = np.flatnonzero(sure & (truth[:, j] == there))
            dealt[rows, j] = values[_other_rows(rows, explained.samples, random), j]
    return np.asarray(dealt)


def _nothing_but_the_concept(evidence: ConceptEvidence, seed: int) -> ConceptEvidence:
    random = np.random.default_rng(seed)
    return replace(evidence, values=_dealt(np.asarray(evidence.values), evidence, random))


CLEAN = NullModel(
    "nothing but the concept",
    "each concept's values dealt out among samples that agree on it: it then tells nothing else",
    _nothing_but_the_concept,
    clean=True,
)


def _vectors_of_the_concept(evidence: EmbeddingEvidence, seed: int) -> EmbeddingEvidence:
    random = np.random.default_rng(seed)
    vectors = _dealt(np.asarray(evidence.vectors), evidence.explained, random)
    return replace(evidence, vectors=vectors)


CLEAN_VECTORS = NullModel(
    "nothing but the concept",
    "each concept's vectors dealt out among samples that agree on it: they then tell nothing else",
    _vectors_of_the_concept,
    clean=True,
)


def _other_samples_vectors(evidence: EmbeddingEvidence, seed: int) -> EmbeddingEvidence:
    random = np.random.default_rng(seed)
    order = _other_rows(np.arange(len(evidence)), evidence.samples, random)
    return replace(evidence, vectors=np.asarray(evidence.vectors)[order])


SHUFFLED_VECTORS = NullModel(
    "shuffled samples", "each sample with the vectors of another", _other_samples_vectors
)


def _aligned_at_random(evidence: EmbeddingEvidence, seed: int) -> EmbeddingEvidence:
    """Whose vector is the aligned one is dealt out: both kinds then tell equally much."""
    random = np.random.default_rng(seed)
    explained = evidence.explained
    truth = np.array(explained.truth)
    for j in range(truth.shape[1]):
        rows = (
            np.arange(len(truth))
            if explained.known is None
            else np.flatnonzero(explained.known[:, j])
        )
        truth[rows, j] = truth[_other_rows(rows, explained.samples, random), j]
    return replace(evidence, explained=replace(explained, truth=truth))


ALIGNED_AT_RANDOM = NullModel(
    "concepts dealt out",
    "which samples have the concept is drawn anew, so that aligned vectors are like the others",
    _aligned_at_random,
    clean=True,
)


def _other_samples_truth(evidence: ConceptEvidence, seed: int) -> ConceptEvidence:
    random = np.random.default_rng(seed)
    order = _other_rows(np.arange(len(evidence)), evidence.samples, random)
    known = None if evidence.known is None else evidence.known[order]
    return replace(evidence, truth=np.asarray(evidence.truth)[order], known=known)


SHUFFLED_TRUTH = NullModel(
    "shuffled samples", "each sample with the concepts of another", _other_samples_truth
)


def _some_predictions(evidence: ConceptEvidence) -> dict[str, np.ndarray]:
    predicted = {"predicted": np.asarray(evidence.predicted)}
    return pool_of(np.asarray(evidence.samples.index), predicted, evidence.samples.clusters)


def _other_samples_predictions(
    evidence: ConceptEvidence, seed: int, pool: Mapping[str, np.ndarray]
) -> ConceptEvidence:
    samples = evidence.samples
    other = another(pool, np.asarray(samples.index), (), seed, samples.clusters)
    return replace(evidence, predicted=pool[f"{POOLED}predicted"][other])


SHUFFLED_PREDICTIONS = NullModel(
    "shuffled samples",
    "each sample with the prediction for another",
    _other_samples_predictions,
    sums=_some_predictions,
)


def _head_of_the_truth(evidence: InterventionEvidence, seed: int) -> InterventionEvidence:
    del seed
    right = np.array(evidence.right_after)
    honest = (
        np.ones(len(right), bool) if evidence.right_reference is None else evidence.right_reference
    )
    right[:, :, -1] = honest[:, None]
    return replace(evidence, right_after=right)


HONEST_HEAD = NullModel(
    "a head of the true concepts",
    "the same kind of head, trained on the true concepts",
    _head_of_the_truth,
    random=False,
    clean=True,
)


def _never_corrected(evidence: InterventionEvidence, seed: int) -> InterventionEvidence:
    del seed
    first = np.asarray(evidence.right_after)[:, :, :1]
    return replace(evidence, right_after=np.repeat(first, evidence.right_after.shape[2], axis=2))


NOTHING_CORRECTED = NullModel(
    "nothing corrected", "the model's own concepts throughout", _never_corrected, random=False
)
