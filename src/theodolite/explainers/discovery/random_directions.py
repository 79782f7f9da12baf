"""Random directions: the baseline that every discovery method must beat."""

from dataclasses import dataclass, field, replace

import numpy as np

from theodolite.explainers.discovery._checks import check_fit_input, normalize_rows
from theodolite.explainers.discovery.directions import DirectionConcepts
from theodolite.explainers.discovery.protocol import Directions, Embeddings


@dataclass(frozen=True, eq=False)
class RandomConcepts(DirectionConcepts):
    """Directions drawn uniformly; of the embeddings only the number of dimensions is used.

    Codes are projections. `decode` adds the directions up, which is no inverse: in many
    dimensions random directions are nearly, not exactly, orthogonal.

    Example:
        >>> concepts = RandomConcepts(n_concepts=2).fit(np.zeros((1, 3)), seed=0)
        >>> concepts.dictionary().round(2)
        array([[ 0.19, -0.2 ,  0.96],
               [ 0.16, -0.82,  0.55]])
    """

    n_concepts: int = 5
    vectors: Directions | None = field(default=None, repr=False)

    def fit(self, embeddings: Embeddings, *, seed: int) -> "RandomConcepts":
        """Draw random directions with this seed."""
        values = check_fit_input(embeddings, self.n_concepts, fewest=1)
        directions = np.random.default_rng(seed).normal(size=(self.n_concepts, values.shape[1]))
        return replace(self, vectors=normalize_rows(directions)[0])
