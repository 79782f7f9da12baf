"""Chance that is made from numbers: the same on every machine, in every cut and order."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
POOL = 2048
"""Samples that stand for all of them where one must be drawn that may lie anywhere."""
POOLED = "~"
"""What the names of a pool's arrays begin with."""
ADDED = "~+"
"""And those of its arrays that add up where two pieces have some of the same cluster."""
LUCK = "~luck"
_ROW_LUCK = "~luck of the row"
_START = 0x7374617274
_POOL_SEED = 0x706F6F6C


def scattered(numbers: np.ndarray, seed: int) -> np.ndarray:
    """A number without any order for each number, the same for the same seed."""
    return mixed(numbers.astype(np.uint64) ^ mixed(np.array([seed], np.uint64)))


def mixed(numbers: np.ndarray) -> np.ndarray:
    """The finisher of splitmix64: neighboring numbers come out unrelated."""
    with np.errstate(over="ignore"):
        z = numbers + GOLDEN
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(z ^ (z >> np.uint64(31)))


def scattered_clusters(samples: Any, seed: int) -> np.ndarray:
    """A number without any order for each sample, the same for samples of one cluster."""
    keys = samples.index if samples.clusters is None else samples.clusters
    return scattered(np.asarray(keys), seed)


def first_half(samples: Any, seed: int) -> np.ndarray:
    """Which samples something is chosen on that is scored on the others: by cluster, whatever the
    order, about half of them."""
    return np.asarray(scattered_clusters(samples, seed) & np.uint64(1), bool)


def uniform(numbers: np.ndarray, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Random numbers from 0 to 1, an array of this shape for each number.

    They depend on the number, the position in the shape and the seed alone.

    >>> drawn = uniform(np.arange(5), (2, 3), seed=1)
    >>> bool((uniform(np.array([4, 2]), (2, 3), seed=1) == drawn[[4, 2]]).all())
    True
    """
    start = scattered(np.asarray(numbers), seed)
    steps = np.arange(1, math.prod(shape) + 1, dtype=np.uint64) * GOLDEN
    bits = mixed(start[:, None] + steps) >> np.uint64(11)
    return np.asarray(bits.astype(np.float64) * 2.0**-53).reshape(len(start), *shape)


def pool_of(
    numbers: np.ndarray, arrays: Mapping[str, np.ndarray], clusters: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """So many samples that they can be held, drawn by their numbers alone; of each, its rows.

    With ``clusters`` whole clusters are drawn, by theirs; the last of them may be cut.
    """
    luck = scattered(np.asarray(numbers), _POOL_SEED)  # no two numbers have the same
    if clusters is None:
        rows = np.argsort(luck, kind="stable")[:POOL]
        lucks = {LUCK: luck[rows]}
    else:
        shared = scattered(np.asarray(clusters), _POOL_SEED)
        rows = np.lexsort((luck, shared))[:POOL]
        lucks = {LUCK: shared[rows], _ROW_LUCK: luck[rows]}
    return lucks | {POOLED + name: a[rows] for name, a in arrays.items()}


def pool_of_clusters(
    clusters: np.ndarray, arrays: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """So many clusters that they can be held, drawn by their numbers; of each, sums of its rows."""
    luck, cluster = np.unique(scattered(np.asarray(clusters), _POOL_SEED), return_inverse=True)
    pool = {LUCK: luck[:POOL]}
    for name, rows in arrays.items():
        sums = np.zeros((len(luck), *rows.shape[1:]))
        np.add.at(sums, cluster, rows)
        pool[ADDED + name] = sums[:POOL]
    return pool


def place_in(pool: Mapping[str, np.ndarray], clusters: np.ndarray) -> np.ndarray:
    """Which row of a pool of clusters is each one's own; -1 where it is not among them."""
    luck, own = pool[LUCK], scattered(np.asarray(clusters), _POOL_SEED)
    return _position(luck, own)


def _position(ordered: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Where each value is among distinct ones in order; -1 where it is not."""
    at = np.searchsorted(ordered, values)
    there = np.append(ordered, np.zeros(1, ordered.dtype))[at] == values
    return np.where(there & (at < len(ordered)), at, -1)


def one_pool(
    left: Mapping[str, np.ndarray], right: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """The pool of all samples from the pools of some and of the others, in whatever order."""
    both = {name: np.concatenate([array, right[name]]) for name, array in left.items()}
    rows = np.lexsort((both.get(_ROW_LUCK, both[LUCK]), both[LUCK]))
    if len(rows) and any(name.startswith(ADDED) for name in both):
        first = np.unique(both[LUCK][rows], return_index=True)[1]
        for name in both:  # pieces of one cluster next to each other, now one
            ordered = both[name][rows]
            whole = np.add.reduceat(ordered, first) if name.startswith(ADDED) else ordered[first]
            both[name] = whole
        rows = np.arange(len(first))
    return {name: array[rows[:POOL]] for name, array in both.items()}


def another(
    pool: Mapping[str, np.ndarray],
    numbers: np.ndarray,
    shape: tuple[int, ...],
    seed: int,
    clusters: np.ndarray | None = None,
) -> np.ndarray:
    """Rows of the pool, drawn for each number but never its own; -1 where there is no other.

    With ``clusters`` those of one cluster get rows of one other cluster: the r-th gets row
    (r + a random start) mod the other's size. Which number a row has in its cluster is known of
    rows in the pool; to others a random row of the other cluster is dealt.

    >>> another(pool_of(np.array([7]), {}), np.array([7, 8]), (), seed=1).tolist()
    [-1, 0]
    """
    if clusters is not None:
        return _of_another_cluster(pool, np.asarray(numbers), np.asarray(clusters), shape, seed)
    luck, own = pool[LUCK], scattered(np.asarray(numbers), _POOL_SEED)
    first = np.searchsorted(luck, own).reshape(-1, *[1] * len(shape))
    same = np.searchsorted(luck, own, side="right").reshape(first.shape) - first
    others = len(luck) - same
    rows = (uniform(numbers, shape, seed) * others).astype(np.int64)
    return np.where(others > 0, rows + same * (rows >= first), -1)


def _of_another_cluster(
    pool: Mapping[str, np.ndarray],
    numbers: np.ndarray,
    clusters: np.ndarray,
    shape: tuple[int, ...],
    seed: int,
) -> np.ndarray:
    luck, first, size = np.unique(pool[LUCK], return_index=True, return_counts=True)
    if not len(luck):
        return np.full((len(numbers), *shape), -1)
    own = np.searchsorted(luck, scattered(clusters, _POOL_SEED))
    known = place_in({LUCK: luck}, clusters) >= 0
    axes = (-1, *[1] * len(shape))
    others = (len(luck) - known).reshape(axes)
    cluster = (uniform(clusters, shape, seed) * others).astype(np.int64)
    cluster += known.reshape(axes) & (cluster >= own.reshape(axes))
    cluster = np.minimum(cluster, len(luck) - 1)
    start = (uniform(clusters, shape, seed ^ _START) * size[cluster]).astype(np.int64)
    within = _number_in_cluster(pool, first, numbers, own, seed).reshape(axes)
    rows = first[cluster] + (within + start) % size[cluster]
    return np.asarray(np.where(others > 0, rows, -1))


def _number_in_cluster(
    pool: Mapping[str, np.ndarray],
    first: np.ndarray,
    numbers: np.ndarray,
    own: np.ndarray,
    seed: int,
) -> np.ndarray:
    """The number of each row in its cluster where the pool has it; else any number."""
    order = np.argsort(pool[_ROW_LUCK], kind="stable")
    at = _position(pool[_ROW_LUCK][order], scattered(numbers, _POOL_SEED))
    anything = (scattered(numbers, seed ^ _START) >> np.uint64(33)).astype(np.int64)
    inside = order[at] - first[np.minimum(own, len(first) - 1)]
    return np.asarray(np.where(at >= 0, inside, anything))
