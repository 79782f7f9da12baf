"""Concepts that are there, are predicted and have a location, with a known probability."""

import numpy as np

from theodolite._planted.conditions import Condition
from theodolite._planted.draws import Draw
from theodolite._planted.generators import Arrays, generator
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.location import LocationEvidence

NAMED = 5
"""How many concepts explanations name at most."""
CLASSES = 10
BACKGROUND = 0.1
CELLS, PIXELS = 9, 5
"""A map of concepts has so many cells a side, of so many pixels."""


def planted_concepts(
    n_samples: int = 200,
    n_concepts: int = 12,
    n_classes: int = 4,
    *,
    alignment: float = 1.0,
    seed: int = 0,
) -> ConceptEvidence:
    """A concept model that is right about a share ``alignment`` of the samples.

    Each class has its own half of the concepts, and its samples show exactly these; of three
    classes or more, no concept is in all. On an aligned sample the
    values point at the concepts that are there, on the others at those that are not. So with the
    default options concept existence is ``alignment`` up to chance, exactly at 0 and 1.

    >>> planted_concepts(alignment=1.0).truth.mean(axis=1).tolist()[:2]
    [0.5, 0.5]
    """
    random = np.random.default_rng(seed)
    half = n_concepts // 2
    order = random.permutation(n_concepts)
    class_truth = np.zeros((n_concepts, n_classes))
    for k in range(n_classes):
        class_truth[np.roll(order, -(k * n_concepts // n_classes))[:half], k] = 1.0
    labels = np.arange(n_samples) % n_classes
    truth = class_truth.T[labels] > 0
    aligned = random.random(n_samples) < alignment
    sign = np.where(truth == aligned[:, None], 1.0, -1.0)
    values = sign * random.uniform(0.5, 1.5, size=truth.shape)
    return ConceptEvidence(
        values=values,
        truth=truth,
        labels=labels,
        predicted=labels,
        weights=np.ones((n_concepts, n_classes)),
        class_truth=class_truth,
    )


def planted_locations(
    n_samples: int = 100,
    n_concepts: int = 12,
    *,
    alignment: float = 1.0,
    size: tuple[int, int] = (48, 36),
    seed: int = 0,
) -> LocationEvidence:
    """Maps that peak at their concept in a share ``alignment`` of the images.

    Every concept has a place of its own in every image. In the other images its map peaks as
    far away from there as it can, and is lowest at the place itself.
    """
    random = np.random.default_rng(seed)
    side = 9
    cells = random.integers(0, side, size=(n_samples, n_concepts, 2))
    points = (cells + 0.5) / side * np.asarray(size)
    grid = np.indices((side, side)).transpose(1, 2, 0)
    away = np.sqrt(((grid - cells[:, :, None, None, :]) ** 2).sum(axis=-1))
    aligned = random.random(n_samples) < alignment
    maps = np.where(aligned[:, None, None, None], -away, away)
    return LocationEvidence(
        explained=planted_concepts(n_samples, n_concepts, seed=seed),
        maps=maps,
        sizes=np.tile(np.asarray(size), (n_samples, 1)),
        part_of=np.arange(n_concepts),
        points=points[:, :, None, :],
    )


@generator(
    "ranked concepts", ConceptEvidence, serves=("concept_existence",),
    says="the five concepts that are named first are there with a probability that the dial takes "
    "from the prevalence to 1, the others by prevalence",
    usual=Condition(concepts=12, prevalence=0.3),
    exact=lambda draw: draw.condition.prevalence + draw.dial * (1 - draw.condition.prevalence),
    varies=("concepts", "values", "prevalence", "unknown"),
)  # fmt: skip
def ranked_concepts(draw: Draw) -> Arrays:
    k, p = draw.condition.concepts, draw.condition.prevalence
    rank = np.argsort(np.argsort(draw.uniform(k), axis=1), axis=1)
    truth = draw.happens(np.where(rank < NAMED, p + draw.dial * (1 - p), p), k)
    nobody = np.zeros(len(draw), int)
    return {
        "values": draw.stored((k - rank) / k), "truth": truth, "known": draw.known(),
        "labels": nobody, "predicted": nobody, "weights": np.ones((k, 2)),
    }  # fmt: skip


def _weights(
    dial: float, concepts: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    annotation = random.random((concepts, CLASSES))
    noise = random.normal(size=annotation.shape) / np.sqrt(3)  # as large as the annotation
    return annotation, dial * annotation + np.sqrt(1 - dial**2) * noise


def _mean_cosine(draw: Draw) -> float:
    """Over a population of concepts."""
    annotation, weights = _weights(draw.dial, 100_000, np.random.default_rng(0))
    products = (weights * annotation).sum(axis=1)
    lengths = np.linalg.norm(weights, axis=1) * np.linalg.norm(annotation, axis=1)
    return float((products / lengths).mean())


@generator(
    "class weights", ConceptEvidence, serves=("concept_global_importance",),
    says="weights are λ V + √(1 − λ²) noise, V how much concepts belong to classes and λ the dial",
    usual=Condition(concepts=12, clusters=100), exact=_mean_cosine, varies=("concepts",),
    reference=0.75,
)  # fmt: skip
def class_weights(draw: Draw) -> Arrays:
    annotation, weights = _weights(draw.dial, draw.condition.concepts, draw.models)
    labels = (draw.uniform() * CLASSES).astype(int)
    values = annotation.T[labels] + 0.5 * draw.normal(draw.condition.concepts)
    return {
        "values": values, "class_truth": annotation, "weights": weights, "labels": labels,
        "predicted": labels,
    }  # fmt: skip


def _accuracy(draw: Draw) -> float:
    p, labels = draw.condition.prevalence, draw.condition.labels
    guessed = 1 / labels if draw.metric == "task_accuracy" else p**2 + (1 - p) ** 2
    return draw.dial + (1 - draw.dial) * guessed


@generator(
    "predictions", ConceptEvidence, serves=("concept_prediction", "task_accuracy"),
    says="a concept, or the label, is known with the probability of the dial, else guessed",
    exact=_accuracy, varies=("concepts", "labels", "prevalence", "unknown"),
)  # fmt: skip
def predictions(draw: Draw) -> Arrays:
    condition, k = draw.condition, draw.condition.concepts
    truth, labels, known = draw.truth(), draw.labels(), draw.known()
    guess = draw.happens(condition.prevalence, k)
    says = np.where(draw.happens(draw.dial, k), truth, guess)
    values = 0.25 + 0.5 * says + 0.2 * draw.uniform(k)
    other = (draw.uniform() * condition.labels).astype(int)
    predicted = np.where(draw.happens(draw.dial), labels, other)
    return {
        "values": draw.stored(values), "truth": truth, "labels": labels, "predicted": predicted,
        "known": known,
    }  # fmt: skip


@generator(
    "places of concepts", LocationEvidence, serves=("pointing_game", "concept_location"),
    says="a concept's map peaks where the concept is with the probability of the dial, else "
    "anywhere",
    usual=Condition(concepts=6), chunks=2, varies=("values",),
)  # fmt: skip
def concept_places(draw: Draw) -> Arrays:
    n, k = len(draw), draw.condition.concepts
    own, other = ((draw.uniform(k) * CELLS**2).astype(int) for _ in range(2))
    peak = np.where(draw.happens(draw.dial, k), own, other)
    maps = BACKGROUND * draw.uniform(k, CELLS**2)
    np.put_along_axis(maps, peak[..., None], 1.0, axis=2)
    cell = np.stack(np.divmod(own, CELLS), axis=-1)
    masks = own[..., None] == np.arange(CELLS**2)
    nobody = np.zeros(n, int)
    return {
        "explained": ConceptEvidence(
            values=draw.uniform(k), truth=np.ones((n, k), bool), labels=nobody, predicted=nobody,
            weights=np.ones((k, 2)), samples=draw.samples,
        ),
        "maps": draw.stored(maps.reshape(n, k, CELLS, CELLS) / 2),
        "sizes": np.full((n, 2), CELLS * PIXELS), "part_of": np.arange(k),
        "points": (cell[:, :, None, :] + 0.5) * PIXELS,
        "masks": masks.reshape(n, k, CELLS, CELLS),
    }  # fmt: skip
