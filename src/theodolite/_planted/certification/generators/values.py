"""Concepts whose values tell a known share of what the true concepts leave open about the label."""

from functools import cache

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from theodolite._planted.conditions import LEVELS, Condition, encoded
from theodolite._planted.draws import PlantedRows
from theodolite._planted.generators import Generator
from theodolite._planted.information import (
    FARTHEST,
    FINEST,
    distance_for,
    information,
    places,
    shifted,
)
from theodolite.evidence.kinds.concept import ConceptEvidence

SATURATED = 0.95
"""The share of values that lie on a bound where values are saturated."""
STEP = 0.05
"""How far a standard deviation of the deviation moves a value."""


def leaking_values(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> ConceptEvidence:
    """A value is the concept, and a deviation that is moved by the label."""
    del metric, models
    facts, k = layout.facts, condition.concepts
    truth = layout.shared(facts.random((layout.n_clusters, k)) < condition.prevalence)
    labels = layout.shared(facts.integers(0, condition.labels, layout.n_clusters))
    if condition.mixed:
        labels = facts.integers(0, condition.labels, len(layout))
    known = facts.random(truth.shape) >= condition.unknown if condition.unknown else None
    deviation = shifted(layout.normal(k), labels, condition.dial, condition.labels)
    plain = 0.25 + 0.5 * truth + STEP * _stored_deviation(deviation, condition)
    return ConceptEvidence(
        values=encoded(plain, condition), truth=truth, labels=labels, known=known,
        samples=layout.samples(condition),
    )  # fmt: skip


def _stored_deviation(deviation: np.ndarray, condition: Condition) -> np.ndarray:
    if condition.values == "constant":
        return np.zeros(deviation.shape)
    if condition.values == "binary":
        return np.where(deviation > 0, 1.0, -1.0)
    if condition.values == "saturated":
        reach = _reach(condition.dial, condition.labels)
        return np.asarray(np.clip(deviation, -reach, reach))
    return deviation


def true_share(metric: str, condition: Condition, models: np.random.Generator) -> float:
    """What the values tell as they are stored, of what the true concept leaves open.

    >>> random = np.random.default_rng(0)
    >>> round(true_share("", Condition(dial=0.2), random), 4)
    0.2
    >>> round(true_share("", Condition(dial=0.2, values="binary"), random), 3)
    0.137
    """
    del metric, models
    if condition.values == "constant" or condition.dial in (0.0, 1.0):
        return condition.dial if condition.values != "constant" else 0.0
    distance = distance_for(condition.dial, condition.labels)
    there = [
        information(_edges(condition, float(truth)), distance, condition.labels)
        for truth in (False, True)
    ]
    mean = (1 - condition.prevalence) * there[0] + condition.prevalence * there[1]
    return float(mean / np.log(condition.labels))


def _edges(condition: Condition, truth: float) -> Float[np.ndarray, " edges"]:
    """Between which deviations all values are stored as one."""
    kind = condition.values
    if kind == "binary":
        return np.zeros(1)
    widest = 9 + 3 * distance_for(condition.dial, condition.labels)
    if kind == "saturated":
        reach = _reach(condition.dial, condition.labels)
        return np.linspace(-reach, reach, FINEST)
    if kind in LEVELS:
        middle = LEVELS[kind] * (0.25 + 0.5 * truth)
        wide = LEVELS[kind] * STEP * widest
        if wide < FINEST:
            numbers = np.arange(np.floor(middle - wide), np.ceil(middle + wide)) + 0.5
            return np.asarray((numbers - middle) / (LEVELS[kind] * STEP))
    return np.linspace(-widest, widest, FINEST)


@cache
def _reach(share: float, labels: int) -> float:
    """Between which deviations the values lie that are not saturated."""
    moved = distance_for(share, labels) * places(labels) if share < 1 else places(labels)
    low, high = 0.0, FARTHEST
    for _ in range(40):
        middle = (low + high) / 2
        inside = (ndtr(middle - moved) - ndtr(-middle - moved)).mean()
        low, high = (middle, high) if inside < 1 - SATURATED else (low, middle)
    return (low + high) / 2


LEAKING_VALUES = Generator(
    name="leaking values",
    says="a value is ¼ + ½ c + 0.05 (z + d t), c the concept, z noise and t the label, moved by d "
    "so that the value tells a share (the dial) of what the concept leaves open about it",
    serves=("predictive_task_leakage", "task_leakage_given_concept", "concept_task_leakage"),
    make=leaking_values,
    exact=true_share,
    varies=("concepts", "labels", "values", "prevalence", "unknown", "seeds", "mixed"),
    dials=(0.0, 0.05, 0.2, 0.5, 1.0),
    reference=0.2,
)
