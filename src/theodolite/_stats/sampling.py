"""Draw random numbers by hashing sample numbers and a seed.

The draws are the same on every machine, for every division into shards and in every order. Used by
null baselines, bootstrap weights and subsamples.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
POOL = 2048
"""Number of samples that represent all samples where any of them may be drawn."""
POOLED = "~"
"""Prefix of the names of a pool's arrays."""
ADDED = "~+"
"""Prefix of those arrays that are summed where two shards share a cluster."""
SAMPLE_HASH = "~hash"
_ROW_HASH = "~hash of the row"
_START = 0x7374617274
_POOL_SEED = 0x706F6F6C


def hash_integers(numbers: np.ndarray, seed: int) -> np.ndarray:
    """Return a hash of each number; equal seeds give equal hashes."""
    return mix_bits(numbers.astype(np.uint64) ^ mix_bits(np.array([seed], np.uint64)))


def mix_bits(numbers: np.ndarray) -> np.ndarray:
    """Return the splitmix64 finalizer of each number: neighbors become unrelated."""
    with np.errstate(over="ignore"):
        z = numbers + GOLDEN
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(z ^ (z >> np.uint64(31)))


def hash_clusters(samples: Any, seed: int) -> np.ndarray:
    """Return a hash for each sample; samples of one cluster share it."""
    keys = samples.index if samples.clusters is None else samples.clusters
    return hash_integers(np.asarray(keys), seed)


def select_half(samples: Any, seed: int) -> np.ndarray:
    """Return a mask of about half of the samples, by whole clusters and whatever their order.

    Used to choose something on one half and to score it on the other.
    """
    return np.asarray(hash_clusters(samples, seed) & np.uint64(1), bool)


def hash_to_uniforms(numbers: np.ndarray, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Return uniform random numbers in [0, 1), an array of this shape for each number.

    They depend only on the number, the position in the shape, and the seed.

    >>> drawn = hash_to_uniforms(np.arange(5), (2, 3), seed=1)
    >>> bool((hash_to_uniforms(np.array([4, 2]), (2, 3), seed=1) == drawn[[4, 2]]).all())
    True
    """
    start = hash_integers(np.asarray(numbers), seed)
    steps = np.arange(1, math.prod(shape) + 1, dtype=np.uint64) * GOLDEN
    bits = mix_bits(start[:, None] + steps) >> np.uint64(11)
    return np.asarray(bits.astype(np.float64) * 2.0**-53).reshape(len(start), *shape)


def draw_pool(
    numbers: np.ndarray, arrays: Mapping[str, np.ndarray], clusters: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """Draw up to `POOL` samples by their hashed numbers and return their rows of the arrays.

    With ``clusters`` whole clusters are drawn; the last of them may be cut.
    """
    hashed = hash_integers(np.asarray(numbers), _POOL_SEED)  # no two numbers have the same
    if clusters is None:
        rows = np.argsort(hashed, kind="stable")[:POOL]
        hashes = {SAMPLE_HASH: hashed[rows]}
    else:
        shared = hash_integers(np.asarray(clusters), _POOL_SEED)
        rows = np.lexsort((hashed, shared))[:POOL]
        hashes = {SAMPLE_HASH: shared[rows], _ROW_HASH: hashed[rows]}
    return hashes | {POOLED + name: a[rows] for name, a in arrays.items()}


def draw_cluster_pool(
    clusters: np.ndarray, arrays: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Draw up to `POOL` clusters by their hashed numbers and return the sums of their rows."""
    hashed, cluster = np.unique(
        hash_integers(np.asarray(clusters), _POOL_SEED), return_inverse=True
    )
    pool = {SAMPLE_HASH: hashed[:POOL]}
    for name, rows in arrays.items():
        sums = np.zeros((len(hashed), *rows.shape[1:]))
        np.add.at(sums, cluster, rows)
        pool[ADDED + name] = sums[:POOL]
    return pool


def find_pool_rows(pool: Mapping[str, np.ndarray], clusters: np.ndarray) -> np.ndarray:
    """Return the pool row of each cluster; -1 where the cluster is not in the pool."""
    hashed, own = pool[SAMPLE_HASH], hash_integers(np.asarray(clusters), _POOL_SEED)
    return _find_positions(hashed, own)


def _find_positions(ordered: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the position of each value among sorted distinct values; -1 where absent."""
    at = np.searchsorted(ordered, values)
    there = np.append(ordered, np.zeros(1, ordered.dtype))[at] == values
    return np.where(there & (at < len(ordered)), at, -1)


def merge_pools(
    left: Mapping[str, np.ndarray], right: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Merge the pools of two sets of samples into the pool of all of them."""
    both = {name: np.concatenate([array, right[name]]) for name, array in left.items()}
    rows = np.lexsort((both.get(_ROW_HASH, both[SAMPLE_HASH]), both[SAMPLE_HASH]))
    if len(rows) and any(name.startswith(ADDED) for name in both):
        first = np.unique(both[SAMPLE_HASH][rows], return_index=True)[1]
        for name in both:  # pieces of one cluster next to each other, now one
            ordered = both[name][rows]
            whole = np.add.reduceat(ordered, first) if name.startswith(ADDED) else ordered[first]
            both[name] = whole
        rows = np.arange(len(first))
    return {name: array[rows[:POOL]] for name, array in both.items()}


def draw_other_rows(
    pool: Mapping[str, np.ndarray],
    numbers: np.ndarray,
    shape: tuple[int, ...],
    seed: int,
    clusters: np.ndarray | None = None,
) -> np.ndarray:
    """Draw a pool row for each number, never its own; -1 where there is no other.

    With ``clusters``, the samples of one cluster receive rows of one other cluster: the r-th
    receives row (r + random start) mod the size of the other cluster. The position r is known for
    rows in the pool; other samples receive a random row of the other cluster.

    >>> draw_other_rows(draw_pool(np.array([7]), {}), np.array([7, 8]), (), seed=1).tolist()
    [-1, 0]
    """
    if clusters is not None:
        return _draw_from_other_clusters(
            pool, np.asarray(numbers), np.asarray(clusters), shape, seed
        )
    hashed, own = pool[SAMPLE_HASH], hash_integers(np.asarray(numbers), _POOL_SEED)
    first = np.searchsorted(hashed, own).reshape(-1, *[1] * len(shape))
    same = np.searchsorted(hashed, own, side="right").reshape(first.shape) - first
    others = len(hashed) - same
    rows = (hash_to_uniforms(numbers, shape, seed) * others).astype(np.int64)
    return np.where(others > 0, rows + same * (rows >= first), -1)


def _draw_from_other_clusters(
    pool: Mapping[str, np.ndarray],
    numbers: np.ndarray,
    clusters: np.ndarray,
    shape: tuple[int, ...],
    seed: int,
) -> np.ndarray:
    hashed, first, size = np.unique(pool[SAMPLE_HASH], return_index=True, return_counts=True)
    if not len(hashed):
        return np.full((len(numbers), *shape), -1)
    own = np.searchsorted(hashed, hash_integers(clusters, _POOL_SEED))
    known = find_pool_rows({SAMPLE_HASH: hashed}, clusters) >= 0
    axes = (-1, *[1] * len(shape))
    others = (len(hashed) - known).reshape(axes)
    cluster = (hash_to_uniforms(clusters, shape, seed) * others).astype(np.int64)
    cluster += known.reshape(axes) & (cluster >= own.reshape(axes))
    cluster = np.minimum(cluster, len(hashed) - 1)
    start = (hash_to_uniforms(clusters, shape, seed ^ _START) * size[cluster]).astype(np.int64)
    within = _find_row_in_cluster(pool, first, numbers, own, seed).reshape(axes)
    rows = first[cluster] + (within + start) % size[cluster]
    return np.asarray(np.where(others > 0, rows, -1))


def _find_row_in_cluster(
    pool: Mapping[str, np.ndarray],
    first: np.ndarray,
    numbers: np.ndarray,
    own: np.ndarray,
    seed: int,
) -> np.ndarray:
    """Return the position of each row in its cluster if the pool has it, else any number."""
    order = np.argsort(pool[_ROW_HASH], kind="stable")
    at = _find_positions(pool[_ROW_HASH][order], hash_integers(numbers, _POOL_SEED))
    anything = (hash_integers(numbers, seed ^ _START) >> np.uint64(33)).astype(np.int64)
    inside = order[at] - first[np.minimum(own, len(first) - 1)]
    return np.asarray(np.where(at >= 0, inside, anything))
