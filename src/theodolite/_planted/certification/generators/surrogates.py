"""A linear layer, explained by concepts that are turned and importances that are noisy."""

import numpy as np

from theodolite._planted.certification.conditions import Condition
from theodolite._planted.certification.generators.base import Generator
from theodolite._planted.certification.layout import PlantedRows
from theodolite.evidence.kinds.surrogate import SurrogateEvidence

WEIGHTS = np.array([8.0, 4.0, 2.0, 1.0])
CLASSES = 4
BIAS = -7.0
SPARE = 2
"""Directions that no concept needs."""


def explained_layer(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> SurrogateEvidence:
    """Four concepts a class; at the dial's 0 directions and importances are random."""
    del metric
    k = len(WEIGHTS)
    basis = np.linalg.qr(models.normal(size=(CLASSES * k + SPARE, CLASSES * k)))[0].T
    vectors = basis.reshape(CLASSES, k, -1)
    noise = models.normal(size=vectors.shape)
    noise /= np.linalg.norm(noise, axis=2, keepdims=True)
    angle = (1 - condition.dial) * np.pi / 2
    turned = np.cos(angle) * vectors + np.sin(angle) * noise
    dial = condition.dial
    importances = dial * WEIGHTS + (1 - dial) * models.random((CLASSES, k))
    head = np.einsum("k,ckd->cd", WEIGHTS, vectors)
    labels = (layout.uniform() * CLASSES).astype(int)
    embeddings, outputs = _network(layout, labels, vectors, head)
    _, others = _network(layout, (layout.uniform() * CLASSES).astype(int), vectors, head)
    by_concepts = dial * outputs + (1 - dial) * others
    return SurrogateEvidence.per_class(
        embeddings=embeddings,
        head=head,
        bias=np.full(CLASSES, BIAS),
        vectors=turned / np.linalg.norm(turned, axis=2, keepdims=True),
        importances=importances,
        labels=labels,
        learned=by_concepts,
        linearized=by_concepts,
        rebuilt=outputs,
        samples=layout.samples(condition),
    )


def _network(
    layout: PlantedRows, labels: np.ndarray, vectors: np.ndarray, head: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Embeddings with more of the concepts of their class, and what the layer makes of them."""
    own = labels[:, None] == np.arange(CLASSES)
    more = np.where(own, 0.5 + 0.5 * layout.uniform(CLASSES), 0.0)
    codes = 0.5 * layout.uniform(CLASSES, len(WEIGHTS)) + more[..., None]
    embeddings = np.einsum("nck,ckd->nd", codes, vectors)
    return embeddings, embeddings @ head.T + BIAS


EXPLAINED_LAYER = Generator(
    name="explained layer",
    says="a linear layer of four concepts a class; concepts are turned by an angle from 90° to 0 "
    "and importances mixed with random ones, less the higher the dial",
    serves=(
        "surrogate_distance", "surrogate_error", "surrogate_agreement", "surrogate_accuracy",
        "surrogate_rank_correlation", "surrogate_relative_error",
        "surrogate_relative_error_by_class", "attribute_agreement", "completeness",
        "concept_deletion", "concept_insertion", "linearization_error",
    ),
    make=explained_layer,
    per_model=True,
    chunks=2,
    reference=0.9,
    dials=(0.0, 0.4, 0.7, 0.9, 1.0),
    no_ends=("concept_deletion", "concept_insertion"),
)  # fmt: skip
