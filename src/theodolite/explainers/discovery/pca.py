"""Concepts as principal components of embeddings."""

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float

from theodolite.explainers.discovery._checks import (
    check_fit_input,
    check_independent,
    normalize_rows,
    orient_towards_mean,
    require_fitted,
)
from theodolite.explainers.discovery.directions import DirectionConcepts
from theodolite.explainers.discovery.protocol import Codes, Directions, Embeddings


@dataclass(frozen=True, eq=False)
class PcaConcepts(DirectionConcepts):
    r"""The orthogonal directions along which embeddings vary most about their mean :math:`\mu`.

    A code is the projection :math:`h \cdot v_k` of the embedding as it is, without subtracting the
    mean, so that it is linear in :math:`h`. `decode` makes up for it: it adds
    :math:`\mu - \sum_k (\mu \cdot v_k) v_k`, and ``decode(encode(h))`` is what PCA reconstructs.
    Each direction has the mean on its positive side. The seed does not matter.

    Example:
        >>> embeddings = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
        >>> concepts = PcaConcepts(n_concepts=1).fit(embeddings, seed=0)
        >>> concepts.encode(embeddings).round(3).ravel()
        array([1., 2., 3.])
        >>> concepts.decode(np.zeros((1, 1))).round(3)
        array([[0., 5.]])
    """

    n_concepts: int = 5
    vectors: Directions | None = field(default=None, repr=False)
    beside: Float[np.ndarray, " dimensions"] | None = field(default=None, repr=False)
    """Part of the mean that no concept represents."""

    def fit(self, embeddings: Embeddings, *, seed: int) -> "PcaConcepts":
        """Find the concepts of these embeddings."""
        from sklearn.decomposition import PCA  # noqa: PLC0415

        values = check_fit_input(embeddings, self.n_concepts, fewest=self.n_concepts + 1)
        with np.errstate(invalid="ignore"):  # shares of no variance at all: refused below
            components = PCA(min(values.shape), svd_solver="full").fit(values)
        check_independent(components.singular_values_, self.n_concepts, max(values.shape))
        leading = orient_towards_mean(components.components_[: self.n_concepts], values)
        vectors, _ = normalize_rows(leading)
        mean = values.mean(axis=0)
        return replace(self, vectors=vectors, beside=mean - (vectors @ mean) @ vectors)

    def decode(self, codes: Codes) -> Embeddings:
        """Return the sums of the directions, plus the remaining part of the mean."""
        return np.asarray(codes @ self.dictionary() + require_fitted(self.beside, self))
