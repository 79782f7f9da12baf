"""Build explanations of a linear layer with known faithfulness: perfect, random or damaged ones.
Used as null baselines of the faithfulness metrics and to check those metrics."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite._stats.sampling import POOLED, draw_other_rows, draw_pool
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Concepts
from theodolite.evidence.kinds.surrogate import SurrogateEvidence

STORED = ("rebuilt", "learned", "linearized")
"""Arrays with precomputed surrogate outputs, which do not follow changed concepts."""
NOTHING_STORED: dict[str, Any] = dict.fromkeys(STORED)


def compute_outputs(evidence: SurrogateEvidence) -> Float[np.ndarray, "samples classes"]:
    """Return the outputs of the explained model."""
    if evidence.outputs is not None:
        return np.asarray(evidence.outputs, float)
    outputs = to_working_precision(evidence.embeddings) @ to_working_precision(evidence.head).T
    return np.asarray(outputs + get_bias(evidence), float)


def get_bias(evidence: SurrogateEvidence) -> Float[np.ndarray, " classes"]:
    """Return the last layer's bias, or zeros."""
    if evidence.bias is None:
        return np.zeros(len(evidence.classes))
    return np.asarray(evidence.bias, float)


def to_working_precision(values: Any) -> np.ndarray:
    """Return values in at least single precision; half precision would overflow."""
    numbers = np.asarray(values)
    return numbers.astype(np.float32) if numbers.dtype == np.float16 else numbers


def make_perfect(evidence: SurrogateEvidence) -> SurrogateEvidence:
    """Explain each class by one concept, its own weight vector: nothing is missing."""
    if evidence.head is None or evidence.embeddings is None:
        raise EvidenceError("head", "no last layer", "`embeddings` and `head`")
    head = np.asarray(evidence.head, float)
    lengths = np.linalg.norm(head, axis=1)
    table = np.full((len(head), len(head)), np.nan)
    np.fill_diagonal(table, lengths)
    return replace(
        evidence,
        importances=table,
        vectors=head / np.where(lengths > 0, lengths, 1.0)[:, None],
        projections=None,
        constant=None,
        concepts=Concepts(evidence.classes.names),
        **NOTHING_STORED,
    )


def make_ideal(evidence: SurrogateEvidence) -> SurrogateEvidence:
    """Return an explanation with exactly the model's outputs, for any surrogate."""
    outputs = compute_outputs(evidence)
    table = np.full((outputs.shape[1],) * 2, np.nan)
    np.fill_diagonal(table, 1.0)
    stored: dict[str, Any] = dict.fromkeys(STORED, outputs)
    return replace(
        evidence,
        importances=table,
        projections=outputs - get_bias(evidence),
        vectors=None,
        concepts=Concepts(evidence.classes.names),
        **stored,
    )


def draw_random_importances(evidence: SurrogateEvidence, seed: int) -> SurrogateEvidence:
    """Keep the concepts and draw each importance from 0 to 1."""
    importances = np.asarray(evidence.importances)
    draws = np.random.default_rng(seed).random(importances.shape)
    return replace(evidence, importances=np.where(np.isnan(importances), np.nan, draws))


def pool_samples(evidence: SurrogateEvidence) -> dict[str, np.ndarray]:
    """Return the arrays of other samples that random concepts are made from."""
    names = STORED if evidence.embeddings is not None else (*STORED, "projections")
    arrays = {name: np.asarray(getattr(evidence, name)) for name in names if evidence.has(name)}
    return draw_pool(np.asarray(evidence.samples.index), arrays, evidence.samples.clusters)


def draw_random_concepts(
    evidence: SurrogateEvidence, seed: int, pool: Mapping[str, np.ndarray] | None = None
) -> SurrogateEvidence:
    """Replace the concepts with random directions and random importances.

    Where there are no embeddings to project, each concept is taken from a random other sample
    instead; so is the output of a surrogate that was made before. ``pool`` is that of all samples,
    where these are only some.
    """
    known = pool_samples(evidence) if pool is None else pool
    n = 0 if evidence.embeddings is not None else len(evidence.concepts)
    samples = evidence.samples
    other = draw_other_rows(known, np.asarray(samples.index), (1 + n,), seed, samples.clusters)
    arrays: dict[str, Any] = {
        name: known[POOLED + name][other[:, 0]] for name in STORED if evidence.has(name)
    }
    changed = draw_random_importances(evidence, seed)
    if evidence.embeddings is None:
        projections = np.take_along_axis(known[f"{POOLED}projections"], other[:, 1:], axis=0)
        return replace(changed, projections=projections, **arrays)
    # the same for all samples, so drawn from the seed alone: every shard of them must draw the same
    size = (len(evidence.concepts), evidence.embeddings.shape[1])
    directions = np.random.default_rng(seed).normal(size=size)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return replace(changed, vectors=directions, projections=None, constant=None, **arrays)


def permute_importances(evidence: SurrogateEvidence, seed: int) -> SurrogateEvidence:
    """Permute the importances over all concepts and classes."""
    importances = np.asarray(evidence.importances)
    table, there = importances.copy(), ~np.isnan(importances)
    table[there] = np.random.default_rng(seed).permutation(importances[there])
    return replace(evidence, importances=table)


def sum_outputs(evidence: SurrogateEvidence) -> dict[str, np.ndarray]:
    """Return sums and counts from which mean outputs are computed."""
    outputs = compute_outputs(evidence)
    return {"outputs": outputs.sum(axis=0), "samples": np.array(len(outputs))}


def predict_constant_mean(
    evidence: SurrogateEvidence, sums: Mapping[str, np.ndarray] | None = None
) -> SurrogateEvidence:
    """Use no concept: predict the mean output for every sample.

    ``sums`` are those of all samples, where these are only some.
    """
    outputs = compute_outputs(evidence)
    known = sum_outputs(evidence) if sums is None else sums
    average = np.asarray(known["outputs"] / max(int(known["samples"]), 1))
    importances = np.asarray(evidence.importances)
    same = np.broadcast_to(average, outputs.shape)
    stored: dict[str, Any] = {
        name: same for name in ("learned", "linearized") if evidence.has(name)
    }
    return replace(
        evidence,
        outputs=outputs,
        bias=average,
        importances=np.where(np.isnan(importances), np.nan, 0.0),
        rebuilt=same,
        **stored,
    )


def rescale_concepts(evidence: SurrogateEvidence, seed: int) -> SurrogateEvidence:
    """Rescale vectors and compensate in the importances: an equivalent explanation."""
    if evidence.vectors is None or evidence.projections is not None:
        raise EvidenceError("projections", "projections", "`vectors` alone, to be rescaled")
    n = len(evidence.concepts)
    scale = np.random.default_rng(seed).uniform(0.5, 2.0, size=(n, 1))
    return replace(
        evidence,
        vectors=np.asarray(evidence.vectors) * scale,
        importances=np.asarray(evidence.importances) / scale,
    )


def duplicate_concepts(evidence: SurrogateEvidence) -> SurrogateEvidence:
    """Duplicate each concept with half its importance: an equivalent explanation."""
    names = evidence.concepts.names
    arrays: dict[str, Any] = {
        name: np.concatenate([np.asarray(values)] * 2, axis=axis)
        for name, axis in (("vectors", 0), ("projections", 1))
        if (values := getattr(evidence, name)) is not None
    }
    return replace(
        evidence,
        importances=np.concatenate([np.asarray(evidence.importances) / 2] * 2),
        concepts=Concepts((*names, *(f"{name} again" for name in names))),
        **arrays,
    )


def drop_class(evidence: SurrogateEvidence, seed: int) -> SurrogateEvidence:
    """Remove the explanation of one class drawn at random."""
    table = np.asarray(evidence.importances).copy()
    table[:, np.random.default_rng(seed).integers(len(evidence.classes))] = np.nan
    return replace(evidence, importances=table)


Setting = Callable[[SurrogateEvidence, int], SurrogateEvidence]
SETTINGS: dict[str, Setting] = {
    "perfect": lambda evidence, seed: make_perfect(evidence),
    "random_importances": lambda evidence, seed: draw_random_importances(
        make_perfect(evidence), seed
    ),
    "random_concepts": lambda evidence, seed: draw_random_concepts(make_perfect(evidence), seed),
    "shuffled importances": lambda evidence, seed: permute_importances(
        make_perfect(evidence), seed
    ),
    "a class without concepts": lambda evidence, seed: drop_class(make_perfect(evidence), seed),
    "longer and shorter vectors": lambda evidence, seed: rescale_concepts(
        make_perfect(evidence), seed
    ),
    "each concept twice": lambda evidence, seed: duplicate_concepts(make_perfect(evidence)),
}
"""Explanations of one layer by name: the perfect one and variants made from it by a seed."""
