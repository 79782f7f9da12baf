"""Information that concept vectors have about labels and concepts."""

from typing import Literal

import numpy as np
from jaxtyping import Float

from theodolite._stats.grouped_weights import RowWeights
from theodolite._stats.information import noisy, plug_in_terms, ross_terms
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.metrics.leak_free._terms import WIDER, share, weighted_means

Which = Literal["vectors", "positive", "negative"]
MOST = 2.0
"""Normalised information is cut off here: it is at most 1, but estimates of it exceed that."""


def task_information(
    vectors: Float[np.ndarray, "samples concepts dimensions"],
    labels: np.ndarray,
    weights: RowWeights,
    *,
    k: int,
) -> Float[np.ndarray, "rows concepts"]:
    """I(w_i; y) / H(y) of each concept's vectors."""
    learnt = np.stack([ross_terms(vectors[:, j], labels, k=k) for j in range(vectors.shape[1])])
    entropy = plug_in_terms(labels, labels)
    return share(
        weighted_means(learnt, weights, wider=WIDER), weighted_means(entropy[None], weights), MOST
    )


def told_apart(evidence: EmbeddingEvidence, which: Which = "vectors") -> np.ndarray:
    """The vectors, with noise of 1e-10 of their size for concepts in which some vector repeats.

    Equal vectors are at distance 0, and would all count as one another's neighbours.
    """
    vectors = np.asarray(getattr(evidence, which), np.float64)
    keys, size = np.asarray(evidence.samples.index), vectors.shape[2]
    out = vectors
    for j, name in enumerate(evidence.concepts.names):
        if len(np.unique(vectors[:, j], axis=0)) < len(vectors):
            out = vectors.copy() if out is vectors else out
            names = [f"{name} {which} {d}" for d in range(size)]
            out[:, j] = noisy(vectors[:, j], keys, names, seed=0)
    return np.asarray(out)


def truth_of(evidence: EmbeddingEvidence) -> tuple[np.ndarray, np.ndarray]:
    """True concepts, and where they are known."""
    explained = evidence.explained
    truth = np.asarray(explained.truth)
    return truth, np.ones(truth.shape, bool) if explained.known is None else np.asarray(
        explained.known
    )
