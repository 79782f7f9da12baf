"""Multi-dimensional concept discovery (MCD): concepts as subspaces (Vielhaben et al., 2023)."""

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from theodolite.errors import EvidenceError
from theodolite.explainers.discovery._checks import check_fit_input, normalize_rows
from theodolite.explainers.discovery._self_representation import (
    lasso_representation,
    self_representation,
)
from theodolite.explainers.discovery._spectral import spectral_groups
from theodolite.explainers.discovery.directions import SpanConcepts
from theodolite.explainers.discovery.protocol import Directions, Embeddings

DEPENDENT = 1e-6
"""Smallest residual length of a new direction, of length 1, that is not dependent."""


@dataclass(frozen=True, eq=False)
class SubspaceConcepts(SpanConcepts):
    r"""Each concept is a subspace; the dictionary is the union of their bases.

    Sparse subspace clustering: every embedding is written as a sum of few others
    (`self_representation`), :math:`|C| + |C|^\top` says which belong together, spectral clustering
    makes ``n_concepts`` groups, and the principal components of each are the basis of its
    subspace. What lies beside all of them, the orthogonal complement, gets no code. Codes are
    the one decomposition on the union of the bases, by least squares. Vielhaben et al. 2023.

    Our choices: orthogonal matching pursuit, begun again where only noise is left, where the
    published code has a lasso (``solver="lasso"``); no outliers are removed; the dimension of a
    subspace is ``dimensions``, or as many as hold the share ``explained`` of its variance, at most
    ``most``.
    The published principal components are of centered embeddings, so that a group's mean direction
    need not be in its subspace; ``centered=False`` keeps it. Subspaces come in the order of their
    size. A group that spans nothing (one sample, centered) adds none, and directions that depend
    on earlier ones are left out, so the dictionary may have any number of rows.

    Example:
        >>> first, second = np.outer([1.0, -2, 3, -4], [1, 0, 0]), np.outer([1.0, -1], [0, 1, 0])
        >>> concepts = SubspaceConcepts(n_concepts=2).fit(np.concatenate([first, second]), seed=0)
        >>> np.abs(concepts.dictionary()).round(2), concepts.subspace
        (array([[1., 0., 0.],
               [0., 1., 0.]]), array([0, 1]))
    """

    n_concepts: int = 5
    dimensions: int | None = None
    explained: float = 0.9
    most: int = 10
    neighbors: int = 10
    """Largest number of other samples in a sample's representation."""
    noise: float = 0.3
    """Relative residual length below which the rest of a sample counts as noise."""
    max_samples: int = 2000
    """Largest number of samples to use; the paper draws 10,000."""
    centered: bool = True
    solver: Literal["omp", "lasso"] = "omp"
    """Method of sparse representation: ``neighbors`` and ``noise`` are for ``omp``."""
    vectors: Directions | None = field(default=None, repr=False)
    subspace: Int[np.ndarray, " concepts"] | None = field(default=None, repr=False)
    """Subspace of each row of the dictionary."""

    def fit(self, embeddings: Embeddings, *, seed: int) -> "SubspaceConcepts":
        """Find the subspaces of these embeddings."""
        values = check_fit_input(embeddings, self.n_concepts, fewest=self.n_concepts + 1)
        values = values[np.linalg.norm(values, axis=1) > 0]
        if len(values) > self.max_samples:
            sample_rows = np.random.default_rng(seed).choice(
                len(values), self.max_samples, replace=False
            )
            values = values[np.sort(sample_rows)]
        groups = self._groups(values, seed)
        bases = [self._basis(values[groups == group]) for group in range(self.n_concepts)]
        owner = np.repeat(np.arange(self.n_concepts), [len(basis) for basis in bases])
        union = np.concatenate(bases)
        rows = _independent(union)
        if not len(rows):
            raise EvidenceError(
                "embeddings", "groups that do not vary", "samples that span subspaces",
                "Give more varied samples, or pass centered=False.",
            )  # fmt: skip
        return replace(self, vectors=normalize_rows(union[rows])[0], subspace=owner[rows])

    def _groups(self, values: Embeddings, seed: int) -> Int[np.ndarray, " n"]:
        """Return the group of each sample, the largest group first."""
        if len(values) <= self.n_concepts:
            raise EvidenceError(
                "embeddings",
                f"{len(values)} samples other than 0",
                f"more than {self.n_concepts}",
                "Ask for fewer concepts, or give more samples.",
            )
        rows = normalize_rows(values)[0]
        if self.solver == "lasso":
            weights = np.abs(lasso_representation(rows))
        else:
            weights = np.abs(self_representation(rows, self.neighbors, self.noise))
        groups = spectral_groups(weights + weights.T, self.n_concepts, seed)
        size = np.bincount(groups, minlength=self.n_concepts)
        rank = np.empty(self.n_concepts, np.int64)
        rank[np.argsort(-size, kind="stable")] = np.arange(self.n_concepts)
        return np.asarray(rank[groups])

    def _basis(self, members: Embeddings) -> Directions:
        if not len(members):
            return members
        deviations = members - members.mean(axis=0) if self.centered else members
        _, strengths, directions = np.linalg.svd(deviations, full_matrices=False)
        size = max(deviations.shape) * np.finfo(np.float64).eps
        there = int((strengths > np.linalg.norm(members) * size).sum())
        n_directions = self.dimensions
        if n_directions is None:
            share = np.cumsum(strengths[:there] ** 2) / max((strengths**2).sum(), 1e-300)
            n_directions = min(int((share < self.explained).sum()) + 1, self.most)
        return np.asarray(directions[: min(n_directions, there)])


def _independent(rows: Float[np.ndarray, "rows dimensions"]) -> Int[np.ndarray, " kept"]:
    """Return the rows that are linearly independent of earlier ones."""
    indices: list[int] = []
    basis = np.zeros((0, rows.shape[1]))
    for i, row in enumerate(rows):
        beside = row - (basis @ row) @ basis
        beside = beside - (basis @ beside) @ basis  # once more: rounding of the first is not small
        length = np.linalg.norm(beside)
        if length > DEPENDENT:
            indices.append(i)
            basis = np.concatenate([basis, beside[None] / length])
    return np.array(indices, np.int64)
