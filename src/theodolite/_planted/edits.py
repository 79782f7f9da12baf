"""Edits of one concept each, which the concepts and the output follow."""

import numpy as np

from theodolite.evidence.axes import Concepts
from theodolite.evidence.kinds.edit import EditEvidence


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
