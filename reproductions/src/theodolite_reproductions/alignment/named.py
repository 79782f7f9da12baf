"""What a bottleneck names first, and how its numbers lie to the annotations: for tables beside the
scores, which makers of evidence do not know."""

import numpy as np
from jaxtyping import Float, Int

from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.concept import ConceptEvidence

Matrix = Float[np.ndarray, "concepts classes"]


def contributions(evidence: ConceptEvidence) -> Float[np.ndarray, "samples concepts"]:
    """Weight times value, of the predicted class."""
    if evidence.weights is None or evidence.predicted is None:
        raise EvidenceError("evidence", "no `weights` or no `predicted`", "both")
    return np.asarray(evidence.weights.T[evidence.predicted] * evidence.values)


def first_named(
    scores: Float[np.ndarray, "samples concepts"], n: int
) -> Int[np.ndarray, "samples named"]:
    """The highest, the first of them first; of equal ones the first in order."""
    return np.argsort(-scores, axis=1, kind="stable")[:, :n]


def share_there(
    evidence: ConceptEvidence, scores: Float[np.ndarray, "samples concepts"], n: int
) -> Float[np.ndarray, " samples"]:
    """Of the first named concepts whose presence is known, how many are there."""
    first = first_named(scores, n)
    known = np.ones(first.shape, bool)
    if evidence.known is not None:
        known = np.take_along_axis(np.asarray(evidence.known), first, axis=1)
    there = np.take_along_axis(np.asarray(evidence.truth), first, axis=1) & known
    n_known = known.sum(axis=1)
    return np.where(n_known > 0, there.sum(axis=1) / np.maximum(n_known, 1), np.nan)


def class_means(evidence: ConceptEvidence) -> Matrix:
    """Mean value of each concept over rightly predicted samples of each class; NaN without any."""
    labels = np.asarray(evidence.labels)
    right = labels == evidence.predicted
    means = np.full((len(evidence.concepts), len(evidence.classes)), np.nan)
    for k in np.unique(labels[right]):
        means[:, k] = np.asarray(evidence.values)[right & (labels == k)].mean(axis=0)
    return means


def cosines(matrix: Matrix, truth: Matrix, *, of_classes: bool) -> Float[np.ndarray, " items"]:
    """Of rows, or of columns for classes. A class without a mean is left out of rows, and is
    undefined itself."""
    undefined = np.isnan(matrix).any(axis=0)
    axis = 0 if of_classes else 1
    left = np.where(undefined, 0.0, matrix)
    right = truth if of_classes else np.where(undefined, 0.0, truth)
    lengths = np.sqrt((left**2).sum(axis=axis) * (right**2).sum(axis=axis))
    products = (left * right).sum(axis=axis)
    nothing = np.full(len(products), np.nan)
    return np.asarray(np.divide(products, lengths, out=nothing, where=lengths > 0))
