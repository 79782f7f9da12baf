"""Concepts that are directions among the embeddings."""

import numpy as np

from theodolite.explainers.discovery._checks import require_fitted, to_encode
from theodolite.explainers.discovery.protocol import Codes, Directions, Embeddings


class DirectionConcepts:
    """Directions found by a fit: codes are projections on them, embeddings their sums."""

    vectors: Directions | None

    def encode(self, embeddings: Embeddings) -> Codes:
        """Projections on the directions."""
        return np.asarray(to_encode(embeddings, self.dictionary()) @ self.dictionary().T)

    def decode(self, codes: Codes) -> Embeddings:
        """Sums of the directions."""
        return np.asarray(codes @ self.dictionary())

    def dictionary(self) -> Directions:
        """The directions, of length 1."""
        return require_fitted(self.vectors, self)


class SpanConcepts(DirectionConcepts):
    """Directions that are far from orthogonal: codes are their coordinates by least squares."""

    def encode(self, embeddings: Embeddings) -> Codes:
        """Coordinates in the span of the directions, by least squares."""
        values = to_encode(embeddings, self.dictionary())
        return np.asarray(values @ np.linalg.pinv(self.dictionary()))
