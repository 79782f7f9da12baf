"""Concept activation vectors: for each concept the normal of a linear SVM on features."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float
from sklearn.svm import SVC

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Concepts

Projection = Literal["dot", "margin", "centered"]


@dataclass(frozen=True, eq=False)
class ConceptBank:
    """A direction and an intercept per concept."""

    concepts: Concepts
    vectors: Float[np.ndarray, "concepts channels"]
    intercepts: Float[np.ndarray, " concepts"]
    means: Float[np.ndarray, " concepts"] | None = None
    r"""Mean of :math:`c_j \cdot f` over the training samples."""

    def scale(
        self, how: Projection
    ) -> tuple[Float[np.ndarray, " concepts"], Float[np.ndarray, " concepts"]]:
        """Return the offset and the divisor of each concept's product."""
        if how == "dot":
            return np.zeros(len(self.vectors)), np.ones(len(self.vectors))
        length = np.linalg.norm(self.vectors, axis=1)
        length = np.where(length > 0, length, 1.0)
        if how == "margin":
            return self.intercepts, length
        if self.means is None:
            raise EvidenceError(
                "projection", "centered, without means", "means of training samples"
            )
        return -self.means, length

    def project(
        self, features: Float[np.ndarray, "samples channels"], how: Projection = "dot"
    ) -> Float[np.ndarray, "samples concepts"]:
        r"""Return the concepts' values on pooled features.

        ``dot`` is :math:`c_j \cdot f`, as the paper's equation has it; ``margin`` is the signed
        distance to the SVM's plane, :math:`(c_j \cdot f + b_j) / \lVert c_j \rVert`, as the
        evaluated method's own code has it; ``centered`` is the distance from the mean of the
        training samples, :math:`c_j \cdot (f - \bar f) / \lVert c_j \rVert`, which depends
        neither on the origin of the features nor on where the SVM puts its plane.
        """
        values = features @ self.vectors.T
        if how == "dot":
            return np.asarray(values)
        offset, length = self.scale(how)
        return np.asarray((values + offset) / length)


@dataclass(frozen=True, eq=False)
class Examples:
    """Training rows with and without each concept, drawn once for all settings."""

    positive: tuple[np.ndarray, ...]
    negative: tuple[np.ndarray, ...]


def draw_examples(
    presence: Bool[np.ndarray, "samples concepts"],
    known: Bool[np.ndarray, "samples concepts"] | None,
    *,
    n_positive: int,
    n_negative: int,
    concepts: Concepts,
    seed: int,
) -> Examples:
    """Draw rows for each concept without repetition; all rows if there are fewer."""
    examples: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for j, name in enumerate(concepts.names):
        usable = np.ones(len(presence), bool) if known is None else known[:, j]
        for side, limit, kind in ((0, n_positive, True), (1, n_negative, False)):
            rows = np.flatnonzero(usable & (presence[:, j] == kind))
            if not len(rows):
                raise EvidenceError(
                    f"concept {name!r}",
                    f"no training sample {'with' if kind else 'without'} it",
                    "at least one of each",
                    "Leave the concept out, or give more samples.",
                )
            # a stream per concept and side: adding a concept does not change the others
            random = np.random.default_rng([seed, j, side])
            examples[side].append(random.permutation(rows)[:limit])
    return Examples(tuple(examples[0]), tuple(examples[1]))


def fit_concept_bank(
    features: Float[np.ndarray, "samples channels"],
    examples: Examples,
    concepts: Concepts,
    *,
    regulariser: float = 1.0,
) -> ConceptBank:
    """Fit one linear SVM per concept (scikit-learn's; ``regulariser`` is its C)."""
    vectors = np.zeros((len(concepts), features.shape[1]))
    intercepts = np.zeros(len(concepts))
    for j, (with_it, without) in enumerate(zip(examples.positive, examples.negative, strict=True)):
        chosen = np.asarray(features[np.concatenate([with_it, without])], np.float64)
        target = np.concatenate([np.ones(len(with_it)), np.zeros(len(without))])
        # the kernel matrix is tiny beside the features: one product instead of one per comparison
        machine = SVC(C=regulariser, kernel="precomputed").fit(chosen @ chosen.T, target)
        vectors[j] = machine.dual_coef_[0] @ chosen[machine.support_]
        intercepts[j] = machine.intercept_[0]
    means = (features @ vectors.T).mean(axis=0, dtype=np.float64)
    return ConceptBank(concepts, vectors, intercepts, means)
