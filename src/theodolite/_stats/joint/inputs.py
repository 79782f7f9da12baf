"""Scores of values within strata of their concept, columns of true concepts, and folds."""

import hashlib
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import ndtri

FOLDS = 10


@dataclass(frozen=True, eq=False)
class JointInputs:
    """Arrays that the joint score is learned from; rows are samples."""

    scores: Float[np.ndarray, "samples columns"]
    """Normal scores of the values within both strata of their concept; 0 where truth is unknown."""
    ranks: Float[np.ndarray, "samples concepts"]
    """Share of the stratum below each value, ties counted half; NaN where truth is unknown."""
    strata: Int[np.ndarray, "samples concepts"]
    """Truth as 0 or 1; -1 where unknown."""
    columns: Int[np.ndarray, " columns"]
    """Concept of each column of ``scores``."""
    truth: Float[np.ndarray, "samples terms"]
    """Standardized true concepts, then indicators of unknown truth; constant columns left out."""
    truth_concepts: Int[np.ndarray, " terms"]
    """Concept of each column of ``truth``; -1 for indicators of unknown truth."""
    labels: Int[np.ndarray, " samples"]
    """Numbered from 0."""
    clusters: Int[np.ndarray, " samples"]
    """Numbered from 0."""
    weights: Float[np.ndarray, " samples"]
    """One over the rows of the cluster."""
    folds: Int[np.ndarray, " samples"]

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.labels.max(initial=-1)) + 1

    @property
    def n_clusters(self) -> int:
        """Number of clusters; of samples, where none are declared."""
        return int(self.clusters.max(initial=-1)) + 1


def joint_inputs(
    values: Float[np.ndarray, "samples concepts"],
    strata: Int[np.ndarray, "samples concepts"],
    labels: Int[np.ndarray, " samples"],
    keys: list[str],
) -> JointInputs:
    """Prepare values, true concepts (-1 where unknown) and labels; equal keys are one cluster."""
    names, clusters = np.unique(np.asarray(keys), return_inverse=True)
    weights = 1 / np.bincount(clusters)[clusters]
    numbers = np.unique(labels, return_inverse=True)[1]
    ranks, scores = np.empty(values.shape), np.empty(values.shape)
    for j in range(values.shape[1]):
        ranks[:, j], scores[:, j] = stratum_scores(values[:, j], strata[:, j], weights)
    columns = np.flatnonzero(scores.any(axis=0))
    truth, concepts = true_columns(strata, weights)
    folds = assign_folds([str(name) for name in names], clusters, numbers)
    return JointInputs(
        scores[:, columns], ranks, strata, columns, truth, concepts, numbers, clusters, weights,
        folds,
    )  # fmt: skip


def stratum_scores(
    column: Float[np.ndarray, " samples"],
    strata: Int[np.ndarray, " samples"],
    weights: Float[np.ndarray, " samples"],
) -> tuple[Float[np.ndarray, " samples"], Float[np.ndarray, " samples"]]:
    """Return ranks and normal scores of a column within both strata of its concept.

    Where truth is unknown ranks are NaN and scores 0.
    """
    ranks, scores = np.full(len(column), np.nan), np.zeros(len(column))
    for stratum in (0, 1):
        rows = np.flatnonzero(strata == stratum)
        if len(rows):
            ranks[rows] = _share_below(column[rows], weights[rows])
            scores[rows] = _normal_scores(ranks[rows], weights[rows])
    return ranks, scores


def _share_below(
    values: Float[np.ndarray, " rows"], weights: Float[np.ndarray, " rows"]
) -> Float[np.ndarray, " rows"]:
    """Return the weight below each value plus half of the weight equal to it, as a share."""
    _, number = np.unique(values, return_inverse=True)
    equal = np.bincount(number, weights)
    below = np.cumsum(equal) - equal
    return np.asarray(((below + equal / 2) / equal.sum())[number])


def _normal_scores(
    share: Float[np.ndarray, " rows"], weights: Float[np.ndarray, " rows"]
) -> Float[np.ndarray, " rows"]:
    """Return standardized normal quantiles of shares; 0 where all are equal."""
    total = weights.sum()
    z = np.asarray(ndtri(np.clip(share, 1 / (4 * total), 1 - 1 / (4 * total))))
    if len(share) < 2 or np.ptp(z) <= 1e-12:
        return np.zeros(len(share))
    z = z - weights @ z / total
    return np.asarray(z / np.sqrt(weights @ z**2 / total))


def true_columns(
    strata: Int[np.ndarray, "samples concepts"], weights: Float[np.ndarray, " samples"]
) -> tuple[Float[np.ndarray, "samples terms"], Int[np.ndarray, " terms"]]:
    """Return standardized true concepts and indicators of unknown truth, and their concepts."""
    known: Bool[np.ndarray, "samples concepts"] = strata >= 0
    counted = weights[:, None] * known
    total = np.maximum(counted.sum(axis=0), 1e-300)
    mean = (counted * strata).sum(axis=0) / total
    spread = np.sqrt(mean * (1 - mean))
    varied = spread > 1e-12
    truth = np.where(known, strata - mean, 0.0)[:, varied] / spread[varied]
    partly = ~known.all(axis=0) & known.any(axis=0)
    unknown = (~known[:, partly]).astype(float)
    unknown -= weights @ unknown / weights.sum()
    concepts = np.concatenate([np.flatnonzero(varied), np.full(unknown.shape[1], -1)])
    return np.concatenate([truth, unknown], axis=1), concepts


def hash_key(key: str) -> int:
    """Return the first 8 bytes of the SHA-256 of a key, as an unsigned number."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")


def assign_folds(
    keys: list[str], clusters: Int[np.ndarray, " samples"], labels: Int[np.ndarray, " samples"]
) -> Int[np.ndarray, " samples"]:
    """Deal clusters to folds by the hash of their keys, each label's clusters evenly.

    Neither the order of rows nor the names of labels matter, and there is no seed.
    """
    least, most = np.full(len(keys), labels.max(initial=0) + 1), np.full(len(keys), -1)
    np.minimum.at(least, clusters, labels)
    np.maximum.at(most, clusters, labels)
    group = np.where(least == most, least, -1)  # -1: clusters of several labels
    hashes = np.array([hash_key(key) for key in keys], dtype=np.uint64)
    folds = np.empty(len(keys), np.int64)
    for own in np.unique(group):
        members = np.flatnonzero(group == own)
        members = members[np.argsort(hashes[members], kind="stable")]
        first = int(hashes[members[0]] % FOLDS)
        folds[members] = (np.arange(len(members)) + first) % FOLDS
    return np.asarray(folds[clusters])
