"""Evidence that is too large to learn from at once: some clusters of it, and groups of labels."""

import numpy as np
from jaxtyping import Int

from theodolite._stats.joint.inputs import hash_key

MAX_ROWS = 20_000
"""At this size the half width at a share of .05 is .005: more rows change no answer."""
MAX_LABELS = 50


def rows_to_use(keys: list[str], most: int = MAX_ROWS) -> Int[np.ndarray, " rows"] | None:
    """Return the rows of whole clusters with the smallest hashes, up to ``most``; None for all."""
    if len(keys) <= most:
        return None
    names, clusters, sizes = np.unique(np.asarray(keys), return_inverse=True, return_counts=True)
    order = np.argsort([hash_key(str(name)) for name in names], kind="stable")
    fit = np.cumsum(sizes[order]) <= most
    fit[0] = True
    chosen = np.zeros(len(names), bool)
    chosen[order[fit]] = True
    return np.flatnonzero(chosen[clusters])


def group_labels(
    labels: Int[np.ndarray, " samples"], keys: list[str], most: int = MAX_LABELS
) -> Int[np.ndarray, " samples"]:
    """Deal labels to at most ``most`` groups, by the smallest hash of their clusters.

    A leak about the group is a leak about the label. Names of labels do not matter.
    """
    names, numbers = np.unique(labels, return_inverse=True)
    if len(names) <= most:
        return np.asarray(numbers)
    hashes = np.array([hash_key(key) for key in keys], dtype=np.uint64)
    first = np.full(len(names), np.iinfo(np.uint64).max, np.uint64)
    np.minimum.at(first, numbers, hashes)
    rank = np.empty(len(names), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(names))
    return np.asarray(rank[numbers] % most)
