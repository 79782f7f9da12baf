"""Random groups: resampling of very many samples from sums over a thousand groups of them.

Each sample lies in a group that its number decides, or its cluster's. A score that is read from
sums over samples is read again from sums over groups, each counted as often as Poisson(1) says
(Wolter, Introduction to Variance Estimation, chapter 2, with a bootstrap over the groups). That
takes one addition a sample whatever the number of resamples.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from jaxtyping import Float, Int

from theodolite._stats.native import functions as native
from theodolite._stats.native.library import has_native
from theodolite._stats.resampling import poisson_weights
from theodolite._stats.sampling import hash_integers

GROUPS = 1_000
METHOD = f"bootstrap over {GROUPS:,} random groups"


def group_of(keys: Int[np.ndarray, " samples"], seed: int) -> Int[np.ndarray, " samples"]:
    """The group of each sample: of its own number, or its cluster's.

    >>> group_of(np.arange(6), seed=0).tolist()
    [158, 606, 227, 915, 435, 575]
    """
    numbers = hash_integers(np.asarray(keys), seed + 1) % np.uint64(GROUPS)
    return np.asarray(numbers.astype(np.int64))


@lru_cache(maxsize=1)
def group_weights(resamples: int, seed: int) -> Float[np.ndarray, "rows groups"]:
    """How often each group counts: once in the first row, then as drawn. Not to be written to."""
    draws = poisson_weights(np.arange(GROUPS), resamples, seed)
    weights = np.concatenate([np.ones((1, GROUPS)), draws])
    weights.flags.writeable = False
    return weights


@dataclass(frozen=True, eq=False)
class SampleGroups:
    """In which row of sums each sample of a piece is counted: instead of weights, in ``total``."""

    rows: Int[np.ndarray, " samples"]
    """Below 0 where it is counted in none."""
    n: int

    @classmethod
    def of(cls, groups: Int[np.ndarray, " samples"], block: slice) -> "SampleGroups":
        """Of a block of the groups alone."""
        inside = (groups >= block.start) & (groups < block.stop)
        return cls(np.where(inside, groups - block.start, -1), block.stop - block.start)

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, at: tuple[slice, np.ndarray]) -> "SampleGroups":
        """Of some samples: as ``weights[:, samples]``."""
        return replace(self, rows=self.rows[at[1]])

    def as_weights(self) -> Float[np.ndarray, "groups samples"]:
        """1 where a sample is counted, else 0: for code that knows weights alone."""
        return np.asarray(np.arange(self.n)[:, None] == self.rows, np.float64)


def group_sums(
    each: Float[np.ndarray, "samples *n"], groups: SampleGroups
) -> Float[np.ndarray, "groups *n"]:
    """The sum of each group, added up in the order of the samples."""
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
    """Sums of the groups' sums, each as often as its weight says, in the order of the groups."""
    flat = np.ascontiguousarray(sums, np.float64).reshape(len(sums), -1)
    products = np.zeros((len(weights), flat.shape[1]))
    if has_native():
        native.add_products(np.ascontiguousarray(weights, np.float64), flat, products)
    else:
        for weight, row in zip(weights.T, flat, strict=True):
            counts = weight != 0
            products[counts] += weight[counts, None] * row
    return products.reshape(len(weights), *sums.shape[1:])
