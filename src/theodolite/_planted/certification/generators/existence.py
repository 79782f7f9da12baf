"""Concepts that are named first and are there with a known probability; weights of classes."""

import numpy as np

from theodolite._planted.conditions import Condition, encoded
from theodolite._planted.draws import PlantedRows
from theodolite._planted.generators import Generator
from theodolite.evidence.kinds.concept import ConceptEvidence

NAMED = 5
"""How many concepts explanations name at most."""
CLASSES = 10


def ranked_concepts(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> ConceptEvidence:
    """The first concepts of each sample are there with a probability, the others by prevalence."""
    del metric, models
    k, p = condition.concepts, condition.prevalence
    rank = np.argsort(np.argsort(layout.uniform(k), axis=1), axis=1)
    there = p + condition.dial * (1 - p)
    truth = layout.happens(np.where(rank < NAMED, there, p), k)
    known = layout.facts.random(truth.shape) >= condition.unknown if condition.unknown else None
    nobody = np.zeros(len(layout), int)
    return ConceptEvidence(
        values=encoded((k - rank) / k, condition), truth=truth, known=known, labels=nobody,
        predicted=nobody, weights=np.ones((k, 2)), samples=layout.samples(condition),
    )  # fmt: skip


def _there(metric: str, condition: Condition, models: np.random.Generator) -> float:
    del metric, models
    return condition.prevalence + condition.dial * (1 - condition.prevalence)


def class_weights(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> ConceptEvidence:
    """Weights that are the annotation with the dial's correlation, the rest noise."""
    del metric
    shape = (condition.concepts, CLASSES)
    annotation = models.random(shape)
    noise = models.normal(size=shape) / np.sqrt(3)  # as large as the annotation
    weights = condition.dial * annotation + np.sqrt(1 - condition.dial**2) * noise
    labels = (layout.uniform() * CLASSES).astype(int)
    values = annotation.T[labels] + 0.5 * layout.normal(condition.concepts)
    return ConceptEvidence(
        values=values, class_truth=annotation, weights=weights, labels=labels, predicted=labels,
        samples=layout.samples(condition),
    )  # fmt: skip


def _cosine(metric: str, condition: Condition, models: np.random.Generator) -> float:
    """Mean over a population of concepts."""
    del metric
    many = np.random.default_rng(0)
    annotation = many.random((100_000, CLASSES))
    noise = many.normal(size=annotation.shape) / np.sqrt(3)
    weights = condition.dial * annotation + np.sqrt(1 - condition.dial**2) * noise
    products = (weights * annotation).sum(axis=1)
    lengths = np.linalg.norm(weights, axis=1) * np.linalg.norm(annotation, axis=1)
    return float((products / lengths).mean())


RANKED_CONCEPTS = Generator(
    name="ranked concepts",
    says="the five concepts that are named first are there with a probability that the dial takes "
    "from the prevalence to 1, the others by prevalence",
    serves=("concept_existence",),
    make=ranked_concepts,
    usual=Condition(concepts=12, prevalence=0.3),
    exact=_there,
    varies=("concepts", "values", "prevalence", "unknown"),
    reference=0.5,
)
CLASS_WEIGHTS = Generator(
    name="class weights",
    says="weights are λ V + √(1 − λ²) noise, V how much concepts belong to classes and λ the dial",
    serves=("concept_global_importance",),
    make=class_weights,
    usual=Condition(concepts=12, clusters=100),
    exact=_cosine,
    varies=("concepts",),
    reference=0.75,
)
