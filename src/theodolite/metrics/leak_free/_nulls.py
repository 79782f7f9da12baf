"""Null baselines of the leakage scores."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from theodolite._stats.shuffles import permute_rows
from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.evidence.kinds.intervention import InterventionEvidence
from theodolite.evidence.plain_arrays import replace_arrays
from theodolite.metrics.blocks import Truths
from theodolite.metrics.null_model import NullModel, from_another_sample


def _other_rows(rows: np.ndarray, samples: Samples, random: np.random.Generator) -> np.ndarray:
    """The same rows dealt out anew; by whole clusters, where there are any."""
    if samples.clusters is None:
        return np.asarray(random.permutation(rows))
    return np.asarray(rows[permute_rows(np.asarray(samples.clusters)[rows], random)])


def _by_concept(
    name: str, description: str, make: Callable[[Any, int, Truths, int], Any], **more: Any
) -> NullModel:
    """A null of concepts in a row: ``make`` gets the truths of all and the number of the first."""

    def of_all(evidence: Any, seed: int) -> Any:
        return make(evidence, seed, Truths.of(evidence), 0)

    return NullModel(name, description, of_all, of_columns=make, **more)


def _dealt(
    values: np.ndarray, samples: Samples, seed: int, truths: Truths, first: int
) -> np.ndarray:
    """Each concept's values dealt out anew among the samples that agree on the concept.

    Of the concepts from ``first`` on; what is drawn for those before is drawn and left.
    """
    random, dealt = np.random.default_rng(seed), values.copy()
    for j in range(first + values.shape[1]):
        truth, sure = truths.flags(j)
        for there in (False, True):
            rows = np.flatnonzero(sure & (truth == there))
            others = _other_rows(rows, samples, random)
            if j >= first:
                dealt[rows, j - first] = values[others, j - first]
    return np.asarray(dealt)


def _nothing_but_the_concept(array: str) -> NullModel:
    def make(evidence: Any, seed: int, truths: Truths, first: int) -> Any:
        samples = getattr(evidence, "explained", evidence).samples
        values = np.asarray(getattr(evidence, array))
        return replace_arrays(evidence, **{array: _dealt(values, samples, seed, truths, first)})

    return _by_concept(
        "leak_free_reference",
        f"each concept's {array} shuffled among the samples with the same true concept: what "
        "remains is estimation error",
        make,
        is_reference=True,
        label="leak-free reference",
    )


CLEAN, CLEAN_VECTORS = (_nothing_but_the_concept(array) for array in ("values", "vectors"))


def _shuffled_samples(says: str, *arrays: str) -> NullModel:
    """The same for every concept: each sample with some arrays of another."""

    def make(evidence: Any, seed: int, truths: Truths, first: int) -> Any:
        del truths, first
        random = np.random.default_rng(seed)
        order = _other_rows(np.arange(len(evidence)), evidence.samples, random)
        present = [array for array in arrays if getattr(evidence, array) is not None]
        changed = {array: np.asarray(getattr(evidence, array))[order] for array in present}
        return replace_arrays(evidence, **changed)

    return _by_concept("permuted_samples", says, make)


SHUFFLED_VECTORS = _shuffled_samples("each sample with the vectors of another", "vectors")
SHUFFLED_TRUTH = _shuffled_samples("each sample with the concepts of another", "truth", "known")


def _aligned_at_random(
    evidence: EmbeddingEvidence, seed: int, truths: Truths, first: int
) -> EmbeddingEvidence:
    """Whose vector is the aligned one is dealt out: both kinds then tell equally much."""
    random, explained = np.random.default_rng(seed), evidence.explained
    truth = np.array(explained.truth)
    for j in range(first + truth.shape[1]):
        rows = np.flatnonzero(truths.flags(j)[1])
        others = _other_rows(rows, explained.samples, random)
        if j >= first:
            truth[rows, j - first] = truth[others, j - first]
    return replace_arrays(evidence, explained=replace_arrays(explained, truth=truth))


ALIGNED_AT_RANDOM = _by_concept(
    "permuted_concepts",
    "which samples have the concept is drawn anew, so that aligned vectors are like the others",
    _aligned_at_random,
    is_reference=True,
)
SHUFFLED_PREDICTIONS = from_another_sample(
    "permuted_samples", "each sample with the prediction for another", "predicted"
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
    "head_on_true_concepts",
    "the same kind of head, trained on the true concepts",
    _head_of_the_truth,
    random=False,
    is_reference=True,
    label="head trained on true concepts",
)


def _never_corrected(evidence: InterventionEvidence, seed: int) -> InterventionEvidence:
    del seed
    first = np.asarray(evidence.right_after)[:, :, :1]
    return replace(evidence, right_after=np.repeat(first, evidence.right_after.shape[2], axis=2))


NOTHING_CORRECTED = NullModel(
    "no_intervention", "the model's own concepts throughout", _never_corrected, random=False
)
