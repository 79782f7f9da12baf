"""Concepts as leading singular vectors of a class's embeddings (CDISCO)."""

from dataclasses import dataclass, field, replace

import numpy as np

from theodolite.explainers.discovery._checks import (
    check_fit_input,
    check_independent,
    normalize_rows,
    orient_towards_mean,
)
from theodolite.explainers.discovery.directions import DirectionConcepts
from theodolite.explainers.discovery.protocol import Directions, Embeddings


@dataclass(frozen=True, eq=False)
class SvdConcepts(DirectionConcepts):
    r"""The orthogonal directions that hold most of the embeddings' squared length.

    They are the leading right singular vectors :math:`v_k` of the matrix of embeddings, which is
    not centered: the first is close to the mean. A code is the projection :math:`h \cdot v_k`.
    A singular vector has no sign of its own; ours is the one with a mean code of at least 0.
    Nothing is random, so the seed does not matter. Graziani et al. 2023.

    Example:
        >>> embeddings = np.array([[3.0, 0, 0], [0, 1, 0], [3, 0, 0]])
        >>> concepts = SvdConcepts(n_concepts=1).fit(embeddings, seed=0)
        >>> concepts.dictionary().round(3) + 0.0, concepts.encode(embeddings).round(3).ravel() + 0.0
        (array([[1., 0., 0.]]), array([3., 0., 3.]))
    """

    n_concepts: int = 5
    vectors: Directions | None = field(default=None, repr=False)

    def fit(self, embeddings: Embeddings, *, seed: int) -> "SvdConcepts":
        """Find the concepts of these embeddings."""
        values = check_fit_input(embeddings, self.n_concepts, fewest=self.n_concepts)
        _, strengths, directions = np.linalg.svd(values, full_matrices=False)
        check_independent(strengths, self.n_concepts, max(values.shape))
        leading = orient_towards_mean(directions[: self.n_concepts], values)
        return replace(self, vectors=normalize_rows(leading)[0])
