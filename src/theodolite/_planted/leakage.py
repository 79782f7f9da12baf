"""Planted leakage: evidence of bottlenecks with a dial from honest to fully leaking."""

from typing import Literal

import numpy as np

from theodolite._planted.conditions import Condition
from theodolite._planted.draws import Draw
from theodolite._planted.generators import FAULT_DIALS, Arrays, generator
from theodolite._planted.information import shift_by_label
from theodolite.evidence.axes import Policies
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.evidence.kinds.intervention import InterventionEvidence

Smuggled = Literal["label", "concepts", "both"]
DIMENSIONS = 4
APART = 4.0
"""In standard deviations: how far vectors are moved by their own concept."""
HONEST = 0.95
BEFORE = 0.6
STEPS = 5


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


def _explained(draw: Draw) -> tuple[ConceptEvidence, np.ndarray, np.ndarray]:
    """Concepts without vectors, their truth and the labels."""
    truth, labels, known = draw.truth(), draw.labels(), draw.known()
    explained = ConceptEvidence(
        values=truth.astype(float), truth=truth, labels=labels, known=known, samples=draw.samples
    )
    return explained, truth, labels


def _noise_vectors(draw: Draw) -> np.ndarray:
    return draw.normal(draw.condition.concepts, DIMENSIONS)


@generator(
    "leaking vectors", EmbeddingEvidence,
    serves=(
        "embedding_task_leakage_given_concept", "embedding_task_information",
        "predictive_embedding_leakage",
    ),
    says="of four coordinates the first says the concept and the second is moved by the label so "
    "that it tells a share (the dial) of it",
    exact=lambda draw: draw.dial, varies=("concepts", "labels", "values", "prevalence", "unknown"),
    dials=FAULT_DIALS,
)  # fmt: skip
def leaking_vectors(draw: Draw) -> Arrays:
    explained, truth, labels = _explained(draw)
    vectors = _noise_vectors(draw)
    vectors[..., 0] += APART * (2.0 * truth - 1)
    vectors[..., 1] = shift_by_label(vectors[..., 1], labels, draw.dial, draw.condition.labels)
    return {"explained": explained, "vectors": draw.stored(vectors)}


@generator(
    "vectors of concepts", EmbeddingEvidence,
    serves=("embedding_self_information", "embedding_interconcept_information"),
    says="a coordinate is moved by the concept, or by the other of two, so that it tells a share "
    "(the dial) of it",
    usual=Condition(concepts=2), exact=lambda draw: draw.dial, dials=FAULT_DIALS,
    no_ends=("embedding_self_information",),
)  # fmt: skip
def concept_vectors(draw: Draw) -> Arrays:
    explained, truth, _ = _explained(draw)
    vectors, moving = _noise_vectors(draw), truth.astype(int)
    if draw.metric == "embedding_interconcept_information":
        vectors[..., 1] += APART * (2.0 * moving - 1)
        moving = np.roll(moving, -1, axis=1)
    for j in range(draw.condition.concepts):
        vectors[:, j, 0] = shift_by_label(vectors[:, j, 0], moving[:, j], draw.dial, 2)
    return {"explained": explained, "vectors": vectors}


@generator(
    "aligned vectors", EmbeddingEvidence, serves=("embedding_alignment",),
    says="vectors tell a share (the dial) of the label where they agree with the concept",
    usual=Condition(concepts=2), exact=lambda draw: 2 * draw.dial, dials=FAULT_DIALS,
    dial_at=lambda metric, fault: fault / 2,
)  # fmt: skip
def aligned_vectors(draw: Draw) -> Arrays:
    explained, truth, labels = _explained(draw)

    def side(*, stands_for: bool) -> np.ndarray:
        vectors = _noise_vectors(draw)
        knows = shift_by_label(vectors[..., 1], labels, draw.dial, draw.condition.labels)
        vectors[..., 1] = np.where(truth == stands_for, knows, vectors[..., 1])
        return vectors

    positive, negative = side(stands_for=True), side(stands_for=False)
    vectors = np.where(truth[:, :, None], positive, negative)
    return {
        "explained": explained, "vectors": vectors, "positive": positive, "negative": negative,
    }  # fmt: skip


def _right_after(draw: Draw) -> float:
    loses = draw.metric == "intervention_score"
    return HONEST * draw.dial if loses else BEFORE + (1 - BEFORE) * draw.dial


@generator(
    "interventions", InterventionEvidence, serves=("intervention_score", "intervention_accuracy"),
    says="with all concepts corrected the head is right less often (score) or more often "
    "(accuracy) by a share, the dial, of what there is to lose or gain",
    exact=_right_after, dials=FAULT_DIALS, reference=0.2,
    dial_at=lambda metric, fault: fault / HONEST,
)  # fmt: skip
def interventions(draw: Draw) -> Arrays:
    loses = draw.metric == "intervention_score"
    shared, own = draw.uniform(1, 1), draw.uniform(1, 1)
    corrected = np.linspace(0.0, 1.0, STEPS)
    chance = BEFORE + (1 - BEFORE) * draw.dial * corrected
    if loses:
        chance = HONEST * (1 - draw.dial * corrected)
    # in half of the samples both heads are right for the same reason
    after = np.where(draw.happens(0.5, 1, 1), shared, own) < chance
    if not loses:
        after[:, :, :1] = shared < BEFORE
    return {"right_after": after, "right_reference": shared[:, 0, 0] < HONEST}
