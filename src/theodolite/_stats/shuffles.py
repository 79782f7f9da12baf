"""Permute values by whole clusters, for null baselines and permutation tests.

Used by the null baselines of metrics and by the test of conflicting verdicts.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

MAX_SIZE_RATIO = 1.5
"""Largest ratio of cluster sizes within one group of `group_by_size`."""


@dataclass(frozen=True, eq=False)
class ClusterRows:
    """Rows sorted by stratum and cluster, with the position and size of each cluster.

    A cluster with rows in several strata is a cluster in each of them.
    """

    rows: Int[np.ndarray, " n"]
    starts: Int[np.ndarray, " clusters"]
    sizes: Int[np.ndarray, " clusters"]
    strata: Int[np.ndarray, " clusters"]

    @classmethod
    def from_clusters(
        cls, clusters: Int[np.ndarray, " n"], strata: Int[np.ndarray, " n"] | None = None
    ) -> "ClusterRows":
        """Sort rows once for many permutations; rows of a cluster keep their order."""
        above = np.zeros(len(clusters), np.int64) if strata is None else np.asarray(strata)
        rows = np.lexsort((clusters, above))  # stable
        pair = np.stack([above[rows], np.asarray(clusters)[rows]])
        is_first = np.ones(len(rows), bool)
        is_first[1:] = (pair[:, 1:] != pair[:, :-1]).any(axis=0)
        starts = np.flatnonzero(is_first)
        sizes = np.diff(np.append(starts, len(rows)))
        return cls(rows, starts, sizes, pair[0, starts])

    def draw_order(self, random: np.random.Generator) -> Int[np.ndarray, " clusters"]:
        """Draw a random order of the clusters within each stratum."""
        return np.lexsort((random.random(len(self.sizes)), self.strata))

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """First and last (exclusive) cluster of each stratum."""
        ends = np.append(np.flatnonzero(np.diff(self.strata)) + 1, len(self.strata)).tolist()
        return list(itertools.pairwise([0, *ends])) if len(self.strata) else []

    @property
    def n_orders(self) -> int:
        """Number of possible orders; a lower bound where a stratum has more than 12 clusters."""
        return math.prod(math.factorial(min(end - start, 12)) for start, end in self.blocks)

    def list_orders(self) -> Int[np.ndarray, "orders clusters"]:
        """List every order, the present one first; for a few clusters only."""
        own = (itertools.permutations(range(start, end)) for start, end in self.blocks)
        return np.array([[*itertools.chain(*parts)] for parts in itertools.product(*own)], np.int64)

    def draw_orders(
        self, random: np.random.Generator, draws: int
    ) -> Int[np.ndarray, "draws clusters"]:
        """Draw many random orders at once."""
        orders = np.tile(np.arange(len(self.sizes)), (draws, 1))
        for start, end in self.blocks:
            orders[:, start:end] = random.permuted(orders[:, start:end], axis=1)
        return orders

    def get_rows(
        self,
        order: Int[np.ndarray, " clusters"],
        turns: Int[np.ndarray, " clusters"],
    ) -> Int[np.ndarray, " n"]:
        """Return, for each row, the row whose value it receives.

        Args:
            order: The cluster whose values each cluster receives.
            turns: The row of that cluster to start from; its first row follows its last.
        """
        within = np.arange(len(self.rows)) - np.repeat(self.starts, self.sizes)
        start, size, turn = (
            np.repeat(per_cluster, self.sizes)
            for per_cluster in (self.starts[order], self.sizes[order], turns)
        )
        sources = np.empty(len(self.rows), np.int64)
        sources[self.rows] = self.rows[start + (within + turn) % size]
        return sources

    def permute(self, random: np.random.Generator) -> Int[np.ndarray, " n"]:
        """Draw one permutation of rows; see :func:`permute_rows`."""
        order = self.draw_order(random)
        return self.get_rows(order, random.integers(self.sizes[order]))


def permute_rows(
    clusters: Int[np.ndarray, " n"],
    random: np.random.Generator,
    strata: Int[np.ndarray, " n"] | None = None,
) -> Int[np.ndarray, " n"]:
    """Return, for each row, the row whose value it receives when whole clusters are permuted.

    Clusters of a stratum are permuted. Row r of a cluster receives the value of row (r + a random
    start) mod size of another cluster: rows of a cluster stay together, and values keep their
    distribution up to cluster sizes. Where every row is its own cluster, rows are permuted. For
    many draws, call `ClusterRows.from_clusters` once.

    >>> values = np.array(["a", "a", "b", "b", "c", "c"])
    >>> values[permute_rows(np.array([0, 0, 1, 1, 2, 2]), np.random.default_rng(1))].tolist()
    ['c', 'c', 'a', 'a', 'b', 'b']
    """
    return ClusterRows.from_clusters(clusters, strata).permute(random)


def group_by_size(clusters: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """Group clusters of similar size: within a group, sizes differ by at most a factor of 1.5.

    Rows of large clusters may be more or less alike than rows of small ones. Permuted among all
    clusters, a pattern of a small cluster would then get the weight of a large one.

    >>> group_by_size(np.repeat([7, 8, 9], [2, 6, 4])).tolist()
    [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    """
    keys, sizes = np.unique(clusters, return_inverse=True, return_counts=True)[1:]
    strata = np.zeros(len(sizes), np.int64)
    largest, stratum = 0, -1
    for cluster in np.argsort(-sizes, kind="stable"):
        if stratum < 0 or sizes[cluster] * MAX_SIZE_RATIO < largest:
            largest, stratum = sizes[cluster], stratum + 1
        strata[cluster] = stratum
    return strata[keys]
