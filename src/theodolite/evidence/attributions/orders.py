"""Orders in which features are removed: by attribution, and by what knows less."""

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

STEPS = (1, 2, 3, 5, 8)
"""How many features are removed, as far as there are more."""
_RANDOM_SEED, _ANOTHER_SEED = 0x66656174, 0x6F746865

Orders = Int[np.ndarray, "samples groups"]


def grouped_values(
    values: Float[np.ndarray, "samples features"], groups: Int[np.ndarray, " features"] | None
) -> Float[np.ndarray, "samples groups"]:
    """Attributions of groups of features: the sum over their columns.

    >>> grouped_values(np.array([[1.0, -2.0, 4.0]]), np.array([1, 1, 0]))
    array([[ 4., -1.]])
    """
    if groups is None:
        return np.asarray(values, float)
    sums = np.zeros((values.shape[0], int(groups.max()) + 1))
    np.add.at(sums.T, groups, np.asarray(values, float).T)
    return sums


def strengths(evidence: AttributionEvidence) -> Float[np.ndarray, "samples groups"]:
    """How much each feature, or group of them, is said to count, whatever its sign."""
    return np.asarray(np.abs(grouped_values(np.asarray(evidence.values), evidence.groups)))


def by_strength(strength: Float[np.ndarray, "samples groups"]) -> Orders:
    """Features from the strongest on; of equals the first comes first."""
    return np.argsort(-strength, axis=1, kind="stable")


def steps_of(n_groups: int) -> Int[np.ndarray, " steps"]:
    """How many are removed in each step, fewer than there are."""
    if n_groups < 2:
        raise EvidenceError("features", f"{n_groups}", "two or more, or groups of them")
    return np.array([step for step in STEPS if step < n_groups])


def null_orders(evidence: AttributionEvidence, seed: int) -> dict[str, Orders]:
    """Orders that know less, by name; those that are drawn are drawn several times."""
    strength = strengths(evidence)
    numbers, clusters = np.asarray(evidence.samples.index), evidence.samples.clusters
    general = np.broadcast_to(strength.mean(axis=0), strength.shape)
    orders = {ONE_ORDER: by_strength(general)}
    pool = draw_pool(numbers, {"strength": strength}, clusters)
    for repeat in range(REPEATS):
        other = draw_other_rows(pool, numbers, (), seed + repeat + _ANOTHER_SEED, clusters)
        # of a single sample there is no other: its own, which is the harder null
        theirs = np.where((other >= 0)[:, None], pool["~strength"][other], strength)
        orders[f"{ANOTHER} {repeat + 1}"] = by_strength(theirs)
        luck = hash_to_uniforms(numbers, strength.shape[1:], seed + repeat + _RANDOM_SEED)
        orders[f"{RANDOM} {repeat + 1}"] = by_strength(luck)
    return orders
