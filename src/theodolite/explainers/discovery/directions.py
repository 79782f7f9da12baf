"""Base classes for methods whose concepts are directions of the embeddings."""

import numpy as np

from theodolite.explainers.discovery._checks import check_encode_input, require_fitted
from theodolite.explainers.discovery.protocol import Codes, Directions, Embeddings


class DirectionConcepts:
    """Concepts as directions: codes are projections, reconstructions are sums."""

    vectors: Directions | None

    def encode(self, embeddings: Embeddings) -> Codes:
        """Return the projections on the directions."""
        return np.asarray(check_encode_input(embeddings, self.dictionary()) @ self.dictionary().T)

    def decode(self, codes: Codes) -> Embeddings:
        """Return the sums of the directions."""
        return np.asarray(codes @ self.dictionary())

    def dictionary(self) -> Directions:
        """Return the directions, normalized to length 1."""
        return require_fitted(self.vectors, self)


class SpanConcepts(DirectionConcepts):
    """Concepts as non-orthogonal directions: codes are least-squares coordinates."""

    def encode(self, embeddings: Embeddings) -> Codes:
        """Return coordinates in the span of the directions, by least squares."""
        values = check_encode_input(embeddings, self.dictionary())
        return np.asarray(values @ np.linalg.pinv(self.dictionary()))
