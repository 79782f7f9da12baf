"""Planted leakage: evidence of bottlenecks with a dial from honest to fully leaking."""

from typing import Literal

import numpy as np

from theodolite.evidence.axes import Policies
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.evidence.kinds.intervention import InterventionEvidence

Smuggled = Literal["label", "concepts", "both"]


def planted_leakage(  # noqa: PLR0913  each is a dial of its own
    n_samples: int = 1000,
    n_concepts: int = 3,
    *,
    leakage: float = 0.0,
    smuggled: Smuggled = "both",
    related: float = 0.0,
    mistaken: float = 0.0,
    seed: int = 0,
) -> ConceptEvidence:
    """A soft bottleneck whose values also carry the label, each other, or both.

    Concepts are signs of normals with correlation ``related``; the label says whether most are
    there. A value is 0.25 or 0.75, as the concept is (the other in a share ``mistaken``), plus a
    small deviation: private noise at ``leakage`` 0, and nothing but a smuggled signal at 1. The
    signal is the label, or a number that all concepts of a sample share, or the sum of both.

    >>> clean, leaky = planted_leakage(), planted_leakage(leakage=1.0, smuggled="label")
    >>> bool((np.unique(leaky.values.round(3)) == [0.2, 0.3, 0.7, 0.8]).all())
    True
    """
    random = np.random.default_rng(seed)
    common = random.normal(size=(n_samples, 1))
    own = random.normal(size=(n_samples, n_concepts))
    truth = np.sqrt(related) * common + np.sqrt(1 - related) * own > 0
    labels = (truth.sum(axis=1) > n_concepts / 2).astype(int)
    concept_predictions = truth ^ (random.random(truth.shape) < mistaken)
    signals = {
        "label": 2.0 * labels[:, None] - 1,
        "concepts": random.normal(size=(n_samples, 1)),
    }
    signals["both"] = (signals["label"] + signals["concepts"]) / np.sqrt(2)
    private = random.normal(size=truth.shape)
    deviation = np.sqrt(1 - leakage**2) * private + leakage * signals[smuggled]
    right = random.random(n_samples) < 0.9
    return ConceptEvidence(
        values=0.25 + 0.5 * concept_predictions + 0.05 * deviation,
        truth=truth,
        labels=labels,
        predicted=np.where(right, labels, 1 - labels),
    )


def planted_embeddings(
    n_samples: int = 400, n_concepts: int = 3, size: int = 4, *, leakage: float = 0.0, seed: int = 0
) -> EmbeddingEvidence:
    """Concept vectors that say their concept, and with ``leakage`` also label and other concepts.

    With leakage, vectors that agree with the concept know the label better than the others.
    """
    random = np.random.default_rng(seed)
    concept_evidence = planted_leakage(n_samples, n_concepts, seed=seed)
    truth, labels = np.asarray(concept_evidence.truth), np.asarray(concept_evidence.labels)

    def vectors(*, stands_for: bool) -> np.ndarray:
        noise = 0.1 * random.normal(size=(n_samples, n_concepts, size))
        aligned = np.where(truth == stands_for, 1.0, 0.02)
        noise[:, :, 0] += 1.0 if stands_for else -1.0
        noise[:, :, 1] += leakage * aligned * (2.0 * labels[:, None] - 1)
        noise[:, :, 2] += leakage * (truth.sum(axis=1, keepdims=True) - truth)
        return noise

    positive, negative = vectors(stands_for=True), vectors(stands_for=False)
    return EmbeddingEvidence(
        explained=concept_evidence,
        vectors=np.where(truth[:, :, None], positive, negative),
        positive=positive,
        negative=negative,
    )


def planted_interventions(
    n_samples: int = 500, n_concepts: int = 4, *, leakage: float = 0.0, seed: int = 0
) -> InterventionEvidence:
    """A model whose head gains by corrections if honest, and loses by them if it leaks."""
    random = np.random.default_rng(seed)
    honest = np.linspace(0.7, 0.95, n_concepts + 1)
    leaking = np.linspace(0.95, 0.55, n_concepts + 1)
    chance = (1 - leakage) * honest + leakage * leaking
    luck = random.random((n_samples, 1, 1))
    return InterventionEvidence(
        right_after=np.repeat(luck < chance, 2, axis=1),
        right_reference=luck[:, 0, 0] < honest[-1],
        policies=Policies(("random", "uncertainty")),
    )
