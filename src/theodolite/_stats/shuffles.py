"""Values dealt out anew by whole clusters: the null of two things that have nothing to do."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

LIKE = 1.5
"""Clusters of like size differ by no more than this factor."""


@dataclass(frozen=True, eq=False)
class ClusterRows:
    """Rows in the order of their strata and clusters, and where each cluster lies in it.

    A cluster with rows in several strata is a cluster in each of them.
    """

    rows: Int[np.ndarray, " n"]
    starts: Int[np.ndarray, " clusters"]
    sizes: Int[np.ndarray, " clusters"]
    strata: Int[np.ndarray, " clusters"]

    @classmethod
    def of(
        cls, clusters: Int[np.ndarray, " n"], strata: Int[np.ndarray, " n"] | None = None
    ) -> "ClusterRows":
        """Prepared for many draws; rows of a cluster stay in the order in which they are."""
        above = np.zeros(len(clusters), np.int64) if strata is None else np.asarray(strata)
        rows = np.lexsort((clusters, above))  # stable
        pair = np.stack([above[rows], np.asarray(clusters)[rows]])
        is_first = np.ones(len(rows), bool)
        is_first[1:] = (pair[:, 1:] != pair[:, :-1]).any(axis=0)
        starts = np.flatnonzero(is_first)
        sizes = np.diff(np.append(starts, len(rows)))
        return cls(rows, starts, sizes, pair[0, starts])

    def order(self, random: np.random.Generator) -> Int[np.ndarray, " clusters"]:
        """Clusters in a random order among those of their stratum: which is dealt to which."""
        return np.lexsort((random.random(len(self.sizes)), self.strata))

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """From which cluster to which each stratum goes."""
        ends = np.append(np.flatnonzero(np.diff(self.strata)) + 1, len(self.strata)).tolist()
        return list(itertools.pairwise([0, *ends])) if len(self.strata) else []

    @property
    def n_orders(self) -> int:
        """In how many orders clusters can be dealt out; at least so many, where there are more than
        twelve clusters in a stratum."""
        return math.prod(math.factorial(min(end - start, 12)) for start, end in self.blocks)

    def all_orders(self) -> Int[np.ndarray, "orders clusters"]:
        """Every order, the order as it is first: for a few clusters only."""
        own = (itertools.permutations(range(start, end)) for start, end in self.blocks)
        return np.array([[*itertools.chain(*parts)] for parts in itertools.product(*own)], np.int64)

    def orders(self, random: np.random.Generator, draws: int) -> Int[np.ndarray, "draws clusters"]:
        """Random orders, many at once."""
        orders = np.tile(np.arange(len(self.sizes)), (draws, 1))
        for start, end in self.blocks:
            orders[:, start:end] = random.permuted(orders[:, start:end], axis=1)
        return orders

    def dealt(
        self,
        order: Int[np.ndarray, " clusters"],
        turns: Int[np.ndarray, " clusters"],
    ) -> Int[np.ndarray, " n"]:
        """For each row the row whose value it gets.

        Args:
            order: The cluster that is dealt to each.
            turns: The row of that cluster at which each begins; after its last comes its first.
        """
        within = np.arange(len(self.rows)) - np.repeat(self.starts, self.sizes)
        start, size, turn = (
            np.repeat(per_cluster, self.sizes)
            for per_cluster in (self.starts[order], self.sizes[order], turns)
        )
        sources = np.empty(len(self.rows), np.int64)
        sources[self.rows] = self.rows[start + (within + turn) % size]
        return sources

    def deal(self, random: np.random.Generator) -> Int[np.ndarray, " n"]:
        """A random deal; see :func:`deal_rows`."""
        order = self.order(random)
        return self.dealt(order, random.integers(self.sizes[order]))


def deal_rows(
    clusters: Int[np.ndarray, " n"],
    random: np.random.Generator,
    strata: Int[np.ndarray, " n"] | None = None,
) -> Int[np.ndarray, " n"]:
    """For each row the row whose value it gets, when whole clusters are dealt out anew.

    Clusters of a stratum are permuted. Row number r of a cluster gets the value of row
    (r + a random start) mod size of the cluster that was dealt to it: rows of a cluster stay
    together, and values keep their distribution up to cluster sizes. Where every row is a cluster
    of its own, this is a permutation of rows. For many draws prepare ``ClusterRows.of`` once.

    >>> values = np.array(["a", "a", "b", "b", "c", "c"])
    >>> values[deal_rows(np.array([0, 0, 1, 1, 2, 2]), np.random.default_rng(1))].tolist()
    ['c', 'c', 'a', 'a', 'b', 'b']
    """
    return ClusterRows.of(clusters, strata).deal(random)


def like_sizes(clusters: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """Strata of clusters of like size: the largest of each is at most half as large again.

    Rows of large clusters may be more alike than those of small ones, or less. Dealt out among all,
    a pattern of a small cluster would then stand where a large one weighs.

    >>> like_sizes(np.repeat([7, 8, 9], [2, 6, 4])).tolist()
    [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    """
    keys, sizes = np.unique(clusters, return_inverse=True, return_counts=True)[1:]
    strata = np.zeros(len(sizes), np.int64)
    largest, stratum = 0, -1
    for cluster in np.argsort(-sizes, kind="stable"):
        if stratum < 0 or sizes[cluster] * LIKE < largest:
            largest, stratum = sizes[cluster], stratum + 1
        strata[cluster] = stratum
    return strata[keys]
