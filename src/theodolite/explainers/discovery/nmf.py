"""Concepts by non-negative matrix factorization (ICE, CRAFT)."""

import warnings
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float

from theodolite.explainers.discovery._checks import (
    check_encode_input,
    check_fit_input,
    normalize_rows,
)
from theodolite.explainers.discovery.directions import DirectionConcepts
from theodolite.explainers.discovery.protocol import Codes, Directions, Embeddings


@dataclass(frozen=True, eq=False)
class NmfConcepts(DirectionConcepts):
    r"""Parts :math:`v_k \ge 0` with embeddings that are sums :math:`h \approx \sum_k p_k v_k`.

    scikit-learn's NMF, started from singular vectors. Codes :math:`p \ge 0` are those with the
    smallest :math:`\lVert h - \sum_k p_k v_k \rVert`: what scikit-learn's ``transform`` iterates
    towards, here solved exactly. They are not linear in :math:`h`. Embeddings must not be
    negative. Zhang et al. 2021. Fitted on embeddings of patches, a row each, these are the concepts
    of CRAFT (Fel et al. 2023), whose importances are `sobol_importance`.

    Example:
        >>> embeddings = np.array([[2.0, 0], [0, 3.0], [1.0, 1.0]])
        >>> concepts = NmfConcepts(n_concepts=2).fit(embeddings, seed=0)
        >>> concepts.decode(concepts.encode(embeddings)).round(2)
        array([[2., 0.],
               [0., 3.],
               [1., 1.]])
    """

    n_concepts: int = 5
    iterations: int = 1000
    vectors: Directions | None = field(default=None, repr=False)

    def fit(self, embeddings: Embeddings, *, seed: int) -> "NmfConcepts":
        """Find the concepts of these embeddings."""
        return replace(
            self, vectors=non_negative_parts(embeddings, self.n_concepts, self.iterations, seed)
        )

    def encode(self, embeddings: Embeddings) -> Codes:
        """Return the non-negative least-squares codes."""
        return non_negative_codes(embeddings, self.dictionary())


def non_negative_parts(
    embeddings: Embeddings, n_concepts: int, iterations: int, seed: int
) -> Directions:
    """Return the parts of a non-negative factorization, normalized to length 1."""
    from sklearn.decomposition import NMF  # noqa: PLC0415
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415

    values = check_fit_input(embeddings, n_concepts, fewest=n_concepts, non_negative=True)
    start = "nndsvda" if n_concepts <= values.shape[1] else "random"
    factors = NMF(n_concepts, init=start, random_state=seed, max_iter=iterations)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # stopped by `iterations`: as asked
        factors.fit(values)
    return normalize_rows(factors.components_)[0]


def non_negative_codes(
    embeddings: Embeddings, parts: Float[np.ndarray, "concepts _dimensions"]
) -> Codes:
    """Return non-negative codes with the smallest squared error, solved exactly.

    The parts span few dimensions: what lies outside them is an error that no code can correct. So
    each embedding is first written in an orthonormal basis of the span, where Lawson and Hanson's
    method takes microseconds.

    >>> non_negative_codes(np.array([[1.0, 2.0], [3.0, -1.0]]).clip(0), np.eye(2))
    array([[1., 2.],
           [3., 0.]])
    """
    from scipy.optimize import nnls  # noqa: PLC0415

    values = check_encode_input(embeddings, parts, non_negative=True)
    basis, triangle = np.linalg.qr(parts.T)
    codes = np.zeros((len(values), len(parts)))
    for i, inside in enumerate(values @ basis):
        codes[i], _ = nnls(triangle, inside, maxiter=30 * len(parts))
    return codes
