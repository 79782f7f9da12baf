"""Sets of features to remove from each row, and sums and ranks of attributions over features.
Used by :mod:`.plan` and by the metrics and report of attributions."""

from math import comb

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite._stats.sampling import hash_to_uniforms
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.attribution import AttributionEvidence

MAX_ENUMERATED = 7
"""Largest number of features of which all subsets are removed."""
MIN_SUBSETS, MAX_SUBSETS, SUBSETS_PER_FEATURE = 128, 512, 8
MIN_BUDGETED = 64
"""Least number of drawn subsets where the rows that may be asked are limited."""
_SUBSET_SEED = 0x73756273


def count_subsets(n_groups: int) -> int:
    """Return the usual number of subsets to remove from each row.

    >>> count_subsets(3), count_subsets(8), count_subsets(30), count_subsets(90)
    (6, 128, 240, 512)
    """
    if n_groups <= MAX_ENUMERATED:
        return int(2**n_groups - 2)
    return min(max(SUBSETS_PER_FEATURE * n_groups, MIN_SUBSETS), MAX_SUBSETS)


def draw_subsets(
    numbers: Int[np.ndarray, " samples"], n_groups: int, seed: int, n_subsets: int | None = None
) -> Bool[np.ndarray, "samples subsets groups"]:
    """Return subsets of features for each sample: all of them, or pairs of complements.

    Args:
        numbers: Numbers of the samples; the draws of a sample depend on its number and the seed.
        n_groups: Number of features, or of groups of them.
        seed: Of the draws.
        n_subsets: Number of subsets where not all are removed; an even number.

    >>> draw_subsets(np.array([4]), 2, seed=0).tolist()
    [[[True, False], [False, True]]]
    """
    if n_groups < 2:
        raise EvidenceError("features", f"{n_groups}", "two or more, or groups of them")
    if n_groups <= MAX_ENUMERATED:
        bits = np.arange(1, 2**n_groups - 1)[:, None] >> np.arange(n_groups) & 1
        return np.broadcast_to(bits.astype(bool), (len(numbers), *bits.shape))
    n_pairs = (n_subsets or count_subsets(n_groups)) // 2
    uniforms = hash_to_uniforms(numbers, (n_pairs, n_groups + 1), seed ^ _SUBSET_SEED)
    sizes = np.arange(1, n_groups)
    chance = np.cumsum(1 / (sizes * (n_groups - sizes)))
    size = 1 + np.searchsorted(chance, uniforms[:, :, 0] * chance[-1], side="right")
    size = np.minimum(size, n_groups - 1)
    ranks = uniforms[:, :, 1:].argsort(axis=2).argsort(axis=2)
    first = ranks < size[:, :, None]
    return np.stack([first, ~first], axis=2).reshape(len(numbers), 2 * n_pairs, n_groups)


def weigh_subsets(
    removed: Bool[np.ndarray, "samples subsets groups"],
) -> Float[np.ndarray, "samples subsets"]:
    """Return the weight of each subset: the Shapley kernel if all are there, else equal weights.

    >>> weigh_subsets(draw_subsets(np.array([0]), 3, seed=0)).round(4).tolist()
    [[0.1667, 0.1667, 0.1667, 0.1667, 0.1667, 0.1667]]
    """
    samples, n_subsets, n_groups = removed.shape
    if not is_enumerated(n_subsets, n_groups):
        return np.full((samples, n_subsets), 1 / max(n_subsets, 1))
    kernel = [1 / (comb(n_groups, s) * max(s * (n_groups - s), 1)) for s in range(n_groups + 1)]
    weights = np.array(kernel)[removed.sum(axis=2)]
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def is_enumerated(n_subsets: int, n_groups: int) -> bool:
    """Return whether this many subsets are all subsets."""
    return 2 <= n_groups <= MAX_ENUMERATED and n_subsets == 2**n_groups - 2


def sum_groups(
    values: Float[np.ndarray, "samples features"], groups: Int[np.ndarray, " features"] | None
) -> Float[np.ndarray, "samples groups"]:
    """Return the attribution of each feature group: the sum over its columns.

    >>> sum_groups(np.array([[1.0, -2.0, 4.0]]), np.array([1, 1, 0]))
    array([[ 4., -1.]])
    """
    if groups is None:
        return np.asarray(values, float)
    sums = np.zeros((values.shape[0], int(groups.max()) + 1))
    np.add.at(sums.T, groups, np.asarray(values, float).T)
    return sums


def compute_strengths(evidence: AttributionEvidence) -> Float[np.ndarray, "samples groups"]:
    """Return the absolute attribution of each feature or feature group."""
    return np.asarray(np.abs(sum_groups(np.asarray(evidence.values), evidence.groups)))


def rank_features(
    strength: Float[np.ndarray, "samples groups"],
) -> Int[np.ndarray, "samples groups"]:
    """Return feature positions from strongest to weakest; ties keep their order."""
    return np.argsort(-strength, axis=1, kind="stable")
