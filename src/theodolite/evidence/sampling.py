"""Chance that is made from numbers: the same on every machine, in every cut and order."""

import math
from collections.abc import Mapping

import numpy as np

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
POOL = 2048
"""Samples that stand for all of them where one must be drawn that may lie anywhere."""
POOLED = "~"
"""What the names of a pool's arrays begin with."""
LUCK = "~luck"
_POOL_SEED = 0x706F6F6C


def scattered(numbers: np.ndarray, seed: int) -> np.ndarray:
    """A number without any order for each number, the same for the same seed."""
    return mixed(numbers.astype(np.uint64) ^ mixed(np.array([seed], np.uint64)))


def mixed(numbers: np.ndarray) -> np.ndarray:
    """The finisher of splitmix64: neighbouring numbers come out unrelated."""
    with np.errstate(over="ignore"):
        z = numbers + GOLDEN
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(z ^ (z >> np.uint64(31)))


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


def pool_of(numbers: np.ndarray, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """So many samples that they can be held, drawn by their numbers alone; of each, its rows."""
    luck = scattered(np.asarray(numbers), _POOL_SEED)  # no two numbers have the same
    rows = np.argsort(luck, kind="stable")[:POOL]
    return {LUCK: luck[rows]} | {POOLED + name: a[rows] for name, a in arrays.items()}


def one_pool(
    left: Mapping[str, np.ndarray], right: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """The pool of all samples from the pools of some and of the others, in whatever order."""
    both = {name: np.concatenate([array, right[name]]) for name, array in left.items()}
    rows = np.argsort(both[LUCK], kind="stable")[:POOL]
    return {name: array[rows] for name, array in both.items()}


def another(
    pool: Mapping[str, np.ndarray], numbers: np.ndarray, shape: tuple[int, ...], seed: int
) -> np.ndarray:
    """Rows of the pool, drawn for each number but never its own; -1 where there is no other.

    >>> another(pool_of(np.array([7]), {}), np.array([7, 8]), (), seed=1).tolist()
    [-1, 0]
    """
    luck, own = pool[LUCK], scattered(np.asarray(numbers), _POOL_SEED)
    first = np.searchsorted(luck, own).reshape(-1, *[1] * len(shape))
    same = np.searchsorted(luck, own, side="right").reshape(first.shape) - first
    others = len(luck) - same
    rows = (uniform(numbers, shape, seed) * others).astype(np.int64)
    return np.where(others > 0, rows + same * (rows >= first), -1)
