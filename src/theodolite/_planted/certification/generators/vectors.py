"""Concept vectors that tell a known share of the label, of their concept or of another."""

import numpy as np

from theodolite._planted.conditions import CODES, Condition
from theodolite._planted.draws import PlantedRows
from theodolite._planted.generators import Generator
from theodolite._planted.information import shifted
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.embedding import EmbeddingEvidence

DIMENSIONS = 4
APART = 4.0
"""In standard deviations: how far vectors are moved by their own concept."""


def _explained(condition: Condition, layout: PlantedRows) -> ConceptEvidence:
    facts, k = layout.facts, condition.concepts
    truth = layout.shared(facts.random((layout.n_clusters, k)) < condition.prevalence)
    labels = layout.shared(facts.integers(0, condition.labels, layout.n_clusters))
    known = facts.random(truth.shape) >= condition.unknown if condition.unknown else None
    return ConceptEvidence(
        values=truth.astype(float), truth=truth, labels=labels, known=known,
        samples=layout.samples(condition),
    )  # fmt: skip


def _vectors(condition: Condition, layout: PlantedRows) -> np.ndarray:
    return layout.normal(condition.concepts, DIMENSIONS)


def vectors_with_label(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> EmbeddingEvidence:
    """The first coordinate says the concept, the second is moved by the label."""
    del metric, models
    explained = _explained(condition, layout)
    vectors = _vectors(condition, layout)
    vectors[..., 0] += APART * (2.0 * np.asarray(explained.truth) - 1)
    vectors[..., 1] = shifted(
        vectors[..., 1], np.asarray(explained.labels), condition.dial, condition.labels
    )
    stored = CODES.get(condition.values, CODES["float64"])(vectors)
    return EmbeddingEvidence(explained=explained, vectors=stored, samples=explained.samples)


def vectors_of_concept(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> EmbeddingEvidence:
    """The first coordinate is moved by the own concept, or by the next one."""
    explained = _explained(condition, layout)
    vectors = _vectors(condition, layout)
    truth = np.asarray(explained.truth).astype(int)
    if metric == "embedding_interconcept_information":
        vectors[..., 1] += APART * (2.0 * truth - 1)
        truth = np.roll(truth, -1, axis=1)
    for j in range(condition.concepts):
        vectors[:, j, 0] = shifted(vectors[:, j, 0], truth[:, j], condition.dial, 2)
    return EmbeddingEvidence(explained=explained, vectors=vectors, samples=explained.samples)


def vectors_aligned(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> EmbeddingEvidence:
    """Vectors know the label where they agree with the concept, and nowhere else."""
    del metric, models
    explained = _explained(condition, layout)
    truth, labels = np.asarray(explained.truth), np.asarray(explained.labels)

    def side(*, stands_for: bool) -> np.ndarray:
        vectors = _vectors(condition, layout)
        knows = shifted(vectors[..., 1], labels, condition.dial, condition.labels)
        vectors[..., 1] = np.where(truth == stands_for, knows, vectors[..., 1])
        return vectors

    positive, negative = side(stands_for=True), side(stands_for=False)
    return EmbeddingEvidence(
        explained=explained, vectors=np.where(truth[:, :, None], positive, negative),
        positive=positive, negative=negative, samples=explained.samples,
    )  # fmt: skip


def _share(metric: str, condition: Condition, models: np.random.Generator) -> float:
    del models
    return 2 * condition.dial if metric == "embedding_alignment" else condition.dial


SHARES = (0.0, 0.05, 0.2, 0.5, 1.0)
LEAKING_VECTORS = Generator(
    name="leaking vectors",
    says="of four coordinates the first says the concept and the second is moved by the label so "
    "that it tells a share (the dial) of it",
    serves=(
        "embedding_task_leakage_given_concept", "embedding_task_information",
        "predictive_embedding_leakage",
    ),
    make=vectors_with_label,
    exact=_share,
    varies=("concepts", "labels", "values", "prevalence", "unknown"),
    dials=SHARES,
    reference=0.5,
)  # fmt: skip
CONCEPT_VECTORS = Generator(
    name="vectors of concepts",
    says="a coordinate is moved by the concept, or by the other of two, so that it tells a share "
    "(the dial) of it",
    serves=("embedding_self_information", "embedding_interconcept_information"),
    make=vectors_of_concept,
    usual=Condition(concepts=2),
    exact=_share,
    dials=SHARES,
    reference=0.5,
    no_ends=("embedding_self_information",),
)
ALIGNED_VECTORS = Generator(
    name="aligned vectors",
    says="vectors tell a share (the dial) of the label where they agree with the concept",
    serves=("embedding_alignment",),
    make=vectors_aligned,
    usual=Condition(concepts=2),
    exact=_share,
    dials=SHARES,
    reference=0.5,
    dial_at=lambda metric, fault: fault / 2,
)
