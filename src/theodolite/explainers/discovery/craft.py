"""Non-negative parts of patches (CRAFT)."""

from dataclasses import dataclass, field, replace

import numpy as np

from theodolite.explainers.discovery._checks import fitted
from theodolite.explainers.discovery._protocol import Codes, Directions, Embeddings
from theodolite.explainers.discovery.nmf import non_negative_codes, non_negative_parts


@dataclass(frozen=True, eq=False)
class CraftConcepts:
    """As `NmfConcepts`, found in embeddings of patches instead of whole pictures.

    Pass to `fit` one row per patch (cut and embedded by the caller) and to `encode` whatever is
    to be explained: patches or whole pictures. Codes are by non-negative least squares, exactly.
    Fel et al. 2023; its importances are `sobol_importance`.

    Example:
        >>> patches = np.array([[2.0, 0], [0, 3.0], [4.0, 0]])
        >>> found = CraftConcepts(n_concepts=2).fit(patches, seed=0)
        >>> found.decode(found.encode(np.array([[1.0, 1.0]]))).round(2)
        array([[1., 1.]])
    """

    n_concepts: int = 5
    iterations: int = 1000
    vectors: Directions | None = field(default=None, repr=False)

    def fit(self, embeddings: Embeddings, *, seed: int) -> "CraftConcepts":
        """Find the concepts of these patches."""
        return replace(
            self, vectors=non_negative_parts(embeddings, self.n_concepts, self.iterations, seed)
        )

    def encode(self, embeddings: Embeddings) -> Codes:
        """Non-negative least squares on the parts."""
        return non_negative_codes(embeddings, self.dictionary())

    def decode(self, codes: Codes) -> Embeddings:
        """Sums of the parts."""
        return np.asarray(codes @ self.dictionary())

    def dictionary(self) -> Directions:
        """The parts, of length 1."""
        return fitted(self.vectors, self)
