"""Edits that move their concept, and outputs that follow, with a known probability."""

import numpy as np

from theodolite._planted.conditions import Condition
from theodolite._planted.draws import PlantedRows
from theodolite._planted.generators import Generator
from theodolite.evidence.axes import Concepts
from theodolite.evidence.kinds.edit import EditEvidence

SMALL, LARGE = 0.2, 0.6
"""How far a concept that does not move most goes at the farthest, and how far one that does."""


def _directions(layout: PlantedRows, classes: int) -> np.ndarray:
    """Changes of probabilities, all as long and to every side alike."""
    change = layout.normal(classes)
    change -= change.mean(axis=1, keepdims=True)
    return np.asarray(change / np.linalg.norm(change, axis=1, keepdims=True))


def edits(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> EditEvidence:
    """As meant with the probability of the dial, else by chance."""
    del models
    facts, k, n, classes = layout.facts, condition.concepts, len(layout), condition.labels
    edited, row = facts.integers(0, k, n), np.arange(n)
    direction = facts.choice([-1.0, 1.0], n)
    meant = layout.happens(condition.dial)
    side = np.where(layout.happens(0.5, k), 1.0, -1.0)
    far = SMALL * layout.uniform(k)
    any_concept = (layout.uniform() * k).astype(int)
    most = np.where(meant, edited, any_concept) if metric == "edit_specificity" else any_concept
    far[row, most] = LARGE
    if metric == "edit_direction":
        side[row, edited] = np.where(meant, direction, side[row, edited])
    before = layout.uniform(k)
    even = np.full((n, classes), 1 / classes)
    change = _directions(layout, classes)
    predicted = np.where(meant[:, None], change, _directions(layout, classes))
    return EditEvidence(
        edited=edited, direction=direction, before=before, after=before + side * far,
        output_before=even, output_after=even + change / (2 * classes),
        surrogate_before=even, surrogate_after=even + predicted / (2 * classes),
        samples=layout.samples(condition),
        concepts=Concepts.numbered(k),
    )  # fmt: skip


def _share(metric: str, condition: Condition, models: np.random.Generator) -> float:
    del models
    chance = 0.5 if metric == "edit_direction" else 1 / condition.concepts
    return condition.dial + (1 - condition.dial) * chance


def _error(metric: str, condition: Condition, models: np.random.Generator) -> float:
    del metric, models
    return 1 - condition.dial


EDITS = Generator(
    name="edits",
    says="an edit moves its own concept as it was meant to with the probability of the dial, else "
    "by chance",
    serves=("edit_direction", "edit_specificity"),
    make=edits,
    exact=_share,
    varies=("concepts",),
    reference=0.5,
)
EXPLAINED_EDITS = Generator(
    name="explained edits",
    says="the concepts predict the change of the output with the probability of the dial, else "
    "one to any side",
    serves=("edit_effect_error",),
    make=edits,
    exact=_error,
    varies=("labels",),
    reference=0.5,
)
