"""Explanations of a linear layer whose faithfulness is known: perfect ones, and how to spoil them.

Nulls are made from them, and the check that a measure of faithfulness must pass.
"""

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
"""Arrays with what a surrogate puts out, made before: they do not follow changed concepts."""
NOTHING_STORED: dict[str, Any] = dict.fromkeys(STORED)


def outputs_of(evidence: SurrogateEvidence) -> Float[np.ndarray, "samples classes"]:
    """What the network puts out."""
    if evidence.outputs is not None:
        return np.asarray(evidence.outputs, float)
    outputs = working(evidence.embeddings) @ working(evidence.head).T
    return np.asarray(outputs + bias_of(evidence), float)


def bias_of(evidence: SurrogateEvidence) -> Float[np.ndarray, " classes"]:
    """The last layer's bias; 0 where there is none."""
    if evidence.bias is None:
        return np.zeros(len(evidence.classes))
    return np.asarray(evidence.bias, float)


def working(values: Any) -> np.ndarray:
    """Numbers of at least single precision: half precision would overflow in sums."""
    numbers = np.asarray(values)
    return numbers.astype(np.float32) if numbers.dtype == np.float16 else numbers


def perfect(evidence: SurrogateEvidence) -> SurrogateEvidence:
    """Each class explained by one concept, its own row of the last layer: nothing is missing."""
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


def ideal(evidence: SurrogateEvidence) -> SurrogateEvidence:
    """An explanation that puts out what the network does, whatever the surrogate."""
    outputs = outputs_of(evidence)
    table = np.full((outputs.shape[1],) * 2, np.nan)
    np.fill_diagonal(table, 1.0)
    stored: dict[str, Any] = dict.fromkeys(STORED, outputs)
    return replace(
        evidence,
        importances=table,
        projections=outputs - bias_of(evidence),
        vectors=None,
        concepts=Concepts(evidence.classes.names),
        **stored,
    )


def random_importances(evidence: SurrogateEvidence, seed: int) -> SurrogateEvidence:
    """The concepts as they are, each with an importance drawn from 0 to 1."""
    importances = np.asarray(evidence.importances)
    draws = np.random.default_rng(seed).random(importances.shape)
    return replace(evidence, importances=np.where(np.isnan(importances), np.nan, draws))


def pool_of_samples(evidence: SurrogateEvidence) -> dict[str, np.ndarray]:
    """What random concepts take from other samples."""
    names = STORED if evidence.embeddings is not None else (*STORED, "projections")
    arrays = {name: np.asarray(getattr(evidence, name)) for name in names if evidence.has(name)}
    return draw_pool(np.asarray(evidence.samples.index), arrays, evidence.samples.clusters)


def random_concepts(
    evidence: SurrogateEvidence, seed: int, pool: Mapping[str, np.ndarray] | None = None
) -> SurrogateEvidence:
    """Random directions with random importances.

    Where there are no embeddings to project, each concept is taken from a random other sample
    instead; so is what a surrogate puts out that was made before. ``pool`` is that of all samples,
    where these are only some.
    """
    known = pool_of_samples(evidence) if pool is None else pool
    n = 0 if evidence.embeddings is not None else len(evidence.concepts)
    samples = evidence.samples
    other = draw_other_rows(known, np.asarray(samples.index), (1 + n,), seed, samples.clusters)
    arrays: dict[str, Any] = {
        name: known[POOLED + name][other[:, 0]] for name in STORED if evidence.has(name)
    }
    changed = random_importances(evidence, seed)
    if evidence.embeddings is None:
        projections = np.take_along_axis(known[f"{POOLED}projections"], other[:, 1:], axis=0)
        return replace(changed, projections=projections, **arrays)
    # the same for all samples, so drawn from the seed alone: every shard of them must draw the same
    size = (len(evidence.concepts), evidence.embeddings.shape[1])
    directions = np.random.default_rng(seed).normal(size=size)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return replace(changed, vectors=directions, projections=None, constant=None, **arrays)


def shuffled_importances(evidence: SurrogateEvidence, seed: int) -> SurrogateEvidence:
    """The importances dealt out anew over all concepts and classes."""
    importances = np.asarray(evidence.importances)
    table, there = importances.copy(), ~np.isnan(importances)
    table[there] = np.random.default_rng(seed).permutation(importances[there])
    return replace(evidence, importances=table)


def sum_of_outputs(evidence: SurrogateEvidence) -> dict[str, np.ndarray]:
    """What the average is made of."""
    outputs = outputs_of(evidence)
    return {"outputs": outputs.sum(axis=0), "samples": np.array(len(outputs))}


def always_the_average(
    evidence: SurrogateEvidence, sums: Mapping[str, np.ndarray] | None = None
) -> SurrogateEvidence:
    """No concept at all: whatever the sample, the average of what the network puts out.

    ``sums`` are those of all samples, where these are only some.
    """
    outputs = outputs_of(evidence)
    known = sum_of_outputs(evidence) if sums is None else sums
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


def rescaled(evidence: SurrogateEvidence, seed: int) -> SurrogateEvidence:
    """Longer or shorter vectors with importances that make up for it: the same explanation."""
    if evidence.vectors is None or evidence.projections is not None:
        raise EvidenceError("projections", "projections", "`vectors` alone, to be rescaled")
    n = len(evidence.concepts)
    scale = np.random.default_rng(seed).uniform(0.5, 2.0, size=(n, 1))
    return replace(
        evidence,
        vectors=np.asarray(evidence.vectors) * scale,
        importances=np.asarray(evidence.importances) / scale,
    )


def duplicated(evidence: SurrogateEvidence) -> SurrogateEvidence:
    """Each concept twice with half its importance: the same explanation."""
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


def without_a_class(evidence: SurrogateEvidence, seed: int) -> SurrogateEvidence:
    """One class, drawn at random, is left without an explanation."""
    table = np.asarray(evidence.importances).copy()
    table[:, np.random.default_rng(seed).integers(len(evidence.classes))] = np.nan
    return replace(evidence, importances=table)


Setting = Callable[[SurrogateEvidence, int], SurrogateEvidence]
SETTINGS: dict[str, Setting] = {
    "perfect": lambda evidence, seed: perfect(evidence),
    "random_importances": lambda evidence, seed: random_importances(perfect(evidence), seed),
    "random_concepts": lambda evidence, seed: random_concepts(perfect(evidence), seed),
    "shuffled importances": lambda evidence, seed: shuffled_importances(perfect(evidence), seed),
    "a class without concepts": lambda evidence, seed: without_a_class(perfect(evidence), seed),
    "longer and shorter vectors": lambda evidence, seed: rescaled(perfect(evidence), seed),
    "each concept twice": lambda evidence, seed: duplicated(perfect(evidence)),
}
"""Explanations of one layer, by name: the perfect one, and what is made of it with a seed."""
