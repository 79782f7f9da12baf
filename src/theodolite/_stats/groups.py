"""Resample very many samples through a thousand random groups of them.

The number of a sample or of its cluster decides its group. A state is summed once per group, and
each resample counts every group Poisson(1) times (Wolter, Introduction to Variance Estimation,
chapter 2), so the cost per sample does not depend on the number of resamples. Used by `_scoring`
and by the states of metrics.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from jaxtyping import Float, Int

from theodolite._stats.native import functions as native
from theodolite._stats.native.library import has_native
from theodolite._stats.resampling import draw_poisson_weights
from theodolite._stats.sampling import hash_integers

GROUPS = 1_000
"""Number of random groups."""
METHOD = f"bootstrap over {GROUPS:,} random groups"


def assign_groups(keys: Int[np.ndarray, " samples"], seed: int) -> Int[np.ndarray, " samples"]:
    """Return the group of each key; equal keys share a group.

    >>> assign_groups(np.arange(6), seed=0).tolist()
    [158, 606, 227, 915, 435, 575]
    """
    numbers = hash_integers(np.asarray(keys), seed + 1) % np.uint64(GROUPS)
    return np.asarray(numbers.astype(np.int64))


@lru_cache(maxsize=1)
def draw_group_weights(resamples: int, seed: int) -> Float[np.ndarray, "rows groups"]:
    """Return how often each group counts in each row: once in row 0. The array is read-only."""
    draws = draw_poisson_weights(np.arange(GROUPS), resamples, seed)
    weights = np.concatenate([np.ones((1, GROUPS)), draws])
    weights.flags.writeable = False
    return weights


@dataclass(frozen=True, eq=False)
class SampleGroups:
    """Group of each sample of a shard, used in place of weights where states are summed."""

    rows: Int[np.ndarray, " samples"]
    """Row of sums in which each sample counts; below 0 if in none."""
    n: int
    """Number of groups."""

    @classmethod
    def from_block(cls, groups: Int[np.ndarray, " samples"], block: slice) -> "SampleGroups":
        """Keep the groups of one block of rows only."""
        inside = (groups >= block.start) & (groups < block.stop)
        return cls(np.where(inside, groups - block.start, -1), block.stop - block.start)

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, at: tuple[slice, np.ndarray]) -> "SampleGroups":
        """Return the groups of some samples, as ``weights[:, samples]`` does."""
        return replace(self, rows=self.rows[at[1]])

    def to_weights(self) -> Float[np.ndarray, "groups samples"]:
        """Return the groups as an array of weights 0 and 1, for code of other packages."""
        return np.asarray(np.arange(self.n)[:, None] == self.rows, np.float64)


def sum_groups(
    each: Float[np.ndarray, "samples *n"], groups: SampleGroups
) -> Float[np.ndarray, "groups *n"]:
    """Return the sum of each group, added in the order of the samples."""
    flat = np.ascontiguousarray(each, np.float64).reshape(len(each), -1)
    sums = np.zeros((groups.n, flat.shape[1]))
    rows = np.ascontiguousarray(groups.rows, np.int64)
    if has_native():
        native.add_to_groups(flat, rows, sums)
    else:
        np.add.at(sums, rows[rows >= 0], flat[rows >= 0])
    return sums.reshape(groups.n, *each.shape[1:])


def sum_resampled_groups(
    weights: Float[np.ndarray, "resamples groups"], sums: Float[np.ndarray, "groups *n"]
) -> Float[np.ndarray, "resamples *n"]:
    """Return the weighted sums of group sums for each resample, added in the order of groups."""
    flat = np.ascontiguousarray(sums, np.float64).reshape(len(sums), -1)
    products = np.zeros((len(weights), flat.shape[1]))
    if has_native():
        native.add_products(np.ascontiguousarray(weights, np.float64), flat, products)
    else:
        for weight, row in zip(weights.T, flat, strict=True):
            counts = weight != 0
            products[counts] += weight[counts, None] * row
    return products.reshape(len(weights), *sums.shape[1:])
