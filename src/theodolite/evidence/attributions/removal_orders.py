"""Orders in which features of a table are removed: by attribution, and by uninformative baselines.
Used by :mod:`.plan` and by the metrics and report of attributions."""

import numpy as np
from jaxtyping import Float, Int

from theodolite._stats.sampling import draw_other_rows, draw_pool, hash_to_uniforms
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.attribution import (
    ANOTHER,
    ONE_ORDER,
    RANDOM,
    REPEATS,
    AttributionEvidence,
)

REMOVAL_COUNTS = (1, 2, 3, 5, 8)
"""Numbers of features to remove; counts of all features or more are skipped."""
_RANDOM_SEED, _ANOTHER_SEED = 0x66656174, 0x6F746865

Orders = Int[np.ndarray, "samples groups"]


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


def rank_features(strength: Float[np.ndarray, "samples groups"]) -> Orders:
    """Return feature positions from strongest to weakest; ties keep their order."""
    return np.argsort(-strength, axis=1, kind="stable")


def choose_removal_counts(n_groups: int) -> Int[np.ndarray, " steps"]:
    """Return the numbers of features to remove, all smaller than ``n_groups``."""
    if n_groups < 2:
        raise EvidenceError("features", f"{n_groups}", "two or more, or groups of them")
    return np.array([step for step in REMOVAL_COUNTS if step < n_groups])


def make_null_orders(evidence: AttributionEvidence, seed: int) -> dict[str, Orders]:
    """Return the baseline orders by name; random ones are drawn ``REPEATS`` times."""
    strength = compute_strengths(evidence)
    numbers, clusters = np.asarray(evidence.samples.index), evidence.samples.clusters
    general = np.broadcast_to(strength.mean(axis=0), strength.shape)
    orders = {ONE_ORDER: rank_features(general)}
    pool = draw_pool(numbers, {"strength": strength}, clusters)
    for repeat in range(REPEATS):
        other = draw_other_rows(pool, numbers, (), seed + repeat + _ANOTHER_SEED, clusters)
        # of a single sample there is no other: its own, which is the harder null
        theirs = np.where((other >= 0)[:, None], pool["~strength"][other], strength)
        orders[f"{ANOTHER} {repeat + 1}"] = rank_features(theirs)
        luck = hash_to_uniforms(numbers, strength.shape[1:], seed + repeat + _RANDOM_SEED)
        orders[f"{RANDOM} {repeat + 1}"] = rank_features(luck)
    return orders
