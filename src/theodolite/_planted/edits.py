"""Edits that move their concept, and outputs that follow, with a known probability."""

from dataclasses import replace

import numpy as np

from theodolite._planted.draws import Draw
from theodolite._planted.generators import Arrays, generator
from theodolite.evidence.axes import Concepts
from theodolite.evidence.kinds.edit import EditEvidence

SMALL, LARGE = 0.2, 0.6
"""How far a concept that does not move most goes at the farthest, and how far one that does."""


def planted_edits(
    n: int = 400, concepts: int = 4, classes: int = 3, carried: float = 0.0, seed: int = 0
) -> EditEvidence:
    """Each edit moves its own concept to the side that was meant, and others by a share of that.

    >>> planted_edits(2)
    <EditEvidence: 2 samples, 4 concepts, 3 classes; edited, direction, before, after, \
output_before, output_after, surrogate_before, surrogate_after>
    """
    random = np.random.default_rng(seed)
    edited, direction = random.integers(0, concepts, n), random.choice([-1.0, 1.0], n)
    before = random.normal(size=(n, concepts))
    moved = carried * direction[:, None] * random.random((n, concepts))
    moved[np.arange(n), edited] = direction
    head = random.normal(size=(concepts, classes))

    def answers(values: np.ndarray) -> np.ndarray:
        powers = np.exp(values @ head)
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    first, last = answers(before), answers(before + moved)
    return EditEvidence(
        edited=edited, direction=direction, before=before, after=before + moved,
        output_before=first, output_after=last, surrogate_before=first, surrogate_after=last,
        concepts=Concepts.numbered(concepts),
    )  # fmt: skip


def _share_as_meant(draw: Draw) -> float:
    chance = 0.5 if draw.metric == "edit_direction" else 1 / draw.condition.concepts
    return draw.dial + (1 - draw.dial) * chance


@generator(
    "edits", EditEvidence, serves=("edit_direction", "edit_specificity"),
    says="an edit moves its own concept as it was meant to with the probability of the dial, else "
    "by chance",
    exact=_share_as_meant, varies=("concepts",),
)  # fmt: skip
def edits(draw: Draw) -> Arrays:
    facts, k, n, classes = draw.facts, draw.condition.concepts, len(draw), draw.condition.labels
    edited, row = facts.integers(0, k, n), np.arange(n)
    direction = facts.choice([-1.0, 1.0], n)
    meant = draw.happens(draw.dial)
    side = np.where(draw.happens(0.5, k), 1.0, -1.0)
    far = SMALL * draw.uniform(k)
    any_concept = (draw.uniform() * k).astype(int)
    specific = draw.metric == "edit_specificity"
    far[row, np.where(meant, edited, any_concept) if specific else any_concept] = LARGE
    if draw.metric == "edit_direction":
        side[row, edited] = np.where(meant, direction, side[row, edited])
    before = draw.uniform(k)
    even = np.full((n, classes), 1 / classes)
    change = _directions(draw)
    predicted = np.where(meant[:, None], change, _directions(draw))
    return {
        "edited": edited, "direction": direction, "before": before, "after": before + side * far,
        "output_before": even, "output_after": even + change / (2 * classes),
        "surrogate_before": even, "surrogate_after": even + predicted / (2 * classes),
        "concepts": Concepts.numbered(k),
    }  # fmt: skip


def _directions(draw: Draw) -> np.ndarray:
    """Changes of probabilities, all as long and to every side alike."""
    change = draw.normal(draw.condition.labels)
    change -= change.mean(axis=1, keepdims=True)
    return np.asarray(change / np.linalg.norm(change, axis=1, keepdims=True))


explained_edits = replace(
    edits, name="explained edits",
    says="the concepts predict the change of the output with the probability of the dial, else "
    "one to any side",
    serves=("edit_effect_error",), exact=lambda draw: 1 - draw.dial, varies=("labels",),
)  # fmt: skip
