"""Concepts as k-means cluster centers of embeddings."""

import warnings
from dataclasses import dataclass, field, replace

import numpy as np
from threadpoolctl import threadpool_limits

from theodolite.errors import EvidenceError
from theodolite.explainers.discovery._checks import check_fit_input, normalize_rows
from theodolite.explainers.discovery.directions import SpanConcepts
from theodolite.explainers.discovery.protocol import Directions, Embeddings


@dataclass(frozen=True, eq=False)
class KMeansConcepts(SpanConcepts):
    """The directions of the centers that scikit-learn's k-means finds.

    Centers are far from orthogonal, so that projections on each alone could not be added up
    again. Codes are therefore the coordinates by least squares, all centers together, and
    ``decode(encode(h))`` is the closest point to ``h`` in the span of the centers.

    Example:
        >>> embeddings = np.array([[4.0, 0.0], [4.0, 0.0], [3.0, 3.0], [3.0, 3.0]])
        >>> concepts = KMeansConcepts(n_concepts=2).fit(embeddings, seed=0)
        >>> concepts.decode(concepts.encode(embeddings)).round(2)[1:3]
        array([[4., 0.],
               [3., 3.]])
    """

    n_concepts: int = 5
    starts: int = 10
    vectors: Directions | None = field(default=None, repr=False)

    def fit(self, embeddings: Embeddings, *, seed: int) -> "KMeansConcepts":
        """Find the concepts of these embeddings."""
        from sklearn.cluster import KMeans  # noqa: PLC0415
        from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415

        values = check_fit_input(embeddings, self.n_concepts, fewest=self.n_concepts)
        clusters = KMeans(self.n_concepts, n_init=self.starts, random_state=seed)
        with threadpool_limits(1), warnings.catch_warnings():  # threads would add in any order
            warnings.simplefilter("ignore", ConvergenceWarning)  # too few clusters: said below
            clusters.fit(values)
        there = len(np.unique(clusters.labels_))
        if there < self.n_concepts:
            raise EvidenceError(
                "embeddings", f"{there} different samples", f"at least {self.n_concepts}",
                "Ask for fewer concepts: the other samples repeat these.",
            )  # fmt: skip
        return replace(self, vectors=normalize_rows(clusters.cluster_centers_)[0])
