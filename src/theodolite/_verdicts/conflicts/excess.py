"""Test whether two judgments disagree more often than unrelated ones would."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Int
from scipy.special import gammaln

from theodolite._stats.intervals import FEWEST_CLUSTERS, Estimate, student_interval
from theodolite._stats.native import functions as native
from theodolite._stats.native.library import has_native
from theodolite._stats.shuffles import ClusterRows, group_by_size
from theodolite.results import Interval, Source

SHUFFLES = 9_999
ALL_ORDERS_UP_TO = 5040
"""Seven clusters have so many; every order is looked at."""
FEWEST_ORDERS = 720
"""Six clusters have so many; with fewer, no conflict is stated."""
FARTHEST = 0.25
"""No two judgments can be farther from unrelated."""
NEAR = 1e-12
CELLS_AT_ONCE = 1 << 20

Judged = Bool[np.ndarray, " items"]
Clusters = Int[np.ndarray, " items"]
Deals = tuple[Int[np.ndarray, "deals clusters"], Int[np.ndarray, "deals clusters"]]


def excess_of(good: Judged, bad: Judged) -> float:
    """The share of both, minus the product of the margins; NaN without items.

    >>> good = np.array([1, 1, 1, 1, 0, 0, 0, 0, 1, 0], bool)
    >>> bad = np.array([1, 1, 1, 0, 0, 0, 0, 0, 1, 0], bool)
    >>> round(excess_of(good, bad), 6)
    0.2
    """
    if not len(good):
        return float("nan")
    return float((good & bad).mean() - good.mean() * bad.mean())


def excess_interval(
    good: Judged, bad: Judged, clusters: Clusters | None, level: float, over: Source
) -> Interval | None:
    """Student's interval of the excess, from the influence of each cluster: by leaving it out.

    Degrees of freedom are those of as many clusters of equal size (Kish), less 1: with clusters of
    very unequal size, all clusters less 1 would be too many. None with fewer than four clusters, or
    where none differs from another: judgments that are always opposite show no spread.
    """
    keys = np.arange(len(good)) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    sizes = np.bincount(keys)
    n = len(sizes)
    if n < FEWEST_CLUSTERS:
        return None
    left = len(good) - sizes
    both, firsts, seconds = (
        (x.sum() - np.bincount(keys, x)) / left for x in (good & bad, good, bad)
    )
    without = both - firsts * seconds
    variance = (n - 1) * float(without.var())
    if variance <= NEAR**2:
        return None
    df = max(len(good) ** 2 / float((sizes.astype(float) ** 2).sum()) - 1, 1.0)
    source: Source = over if clusters is None else "clusters"
    interval = student_interval(Estimate(excess_of(good, bad), variance, df, source, n), level)
    return replace(interval, low=max(interval.low, -FARTHEST), high=min(interval.high, FARTHEST))


@dataclass(frozen=True)
class ShuffleTest:
    """Whether two judgments have anything to do with each other."""

    p: float
    """How often the excess is as far from 0 when one judgment is permuted anew."""
    n_clusters: int
    n_orders: int
    """In how many orders clusters of like size can be permuted, or more."""

    @property
    def tells(self) -> bool:
        """Whether there are as many orders as six clusters of like size have."""
        return self.n_orders >= FEWEST_ORDERS


def shuffle_test(good: Judged, bad: Judged, clusters: Clusters | None, seed: int) -> ShuffleTest:
    """Whole clusters of ``bad`` permuted among those of like size; without clusters, single items.

    Every order where there are few; else 9,999 draws, and the judgments as they are count as
    another. Single items need no draws. NaN without items.

    >>> good = np.array([1, 1, 1, 1, 0, 0, 0, 0, 1, 0], bool)
    >>> bad = np.array([1, 1, 1, 0, 0, 0, 0, 0, 1, 0], bool)
    >>> test = shuffle_test(good, bad, np.arange(10) // 2, seed=0)
    >>> round(test.p, 6), test.n_orders, test.tells  # 8 of 120
    (0.066667, 120, False)
    """
    n = len(good)
    if clusters is None or len(np.unique(clusters)) == n:
        p = _single_p(good, bad) if n else float("nan")
        return ShuffleTest(p, n, math.factorial(min(n, 12)))
    clustered = ClusterRows.from_clusters(clusters, group_by_size(clusters))
    n_orders = clustered.n_orders
    every = n_orders <= ALL_ORDERS_UP_TO
    here = abs(excess_of(good, bad)) - NEAR
    far, n_deals = 0, 0
    for orders, turns in _every_order(clustered) if every else _random_orders(clustered, seed):
        counts = (
            _joint_counts(good[clustered.rows], bad[clustered.rows], clustered, orders, turns) / n
        )
        excess = counts[:, 0] - good.mean() * counts[:, 1]
        far, n_deals = far + int((np.abs(excess) >= here).sum()), n_deals + len(orders)
    p = far / n_deals if every else (1 + far) / (1 + n_deals)
    return ShuffleTest(p, len(clustered.sizes), n_orders)


def _single_p(good: Judged, bad: Judged) -> float:
    """The same where single items are permuted: the number of both is then hypergeometric."""
    n, n_good, n_bad = len(good), int(good.sum()), int(bad.sum())
    possible = np.arange(max(0, n_good + n_bad - n), min(n_good, n_bad) + 1)
    ways = -sum(
        gammaln(k + 1.0)
        for k in (possible, n_good - possible, n_bad - possible, n - n_good - n_bad + possible)
    )
    shares = np.exp(ways - ways.max())
    away = np.abs(possible / n - n_good * n_bad / n**2)
    far = away >= abs(excess_of(good, bad)) - NEAR
    return min(1.0, float(shares[far].sum() / shares.sum()))


def _every_order(clustered: ClusterRows) -> Iterator[Deals]:
    """Each from its first row on: with all orders there is nothing to draw."""
    orders = clustered.list_orders()
    yield orders, np.zeros_like(orders)


def _random_orders(clustered: ClusterRows, seed: int) -> Iterator[Deals]:
    random = np.random.default_rng(seed)
    at_once = max(CELLS_AT_ONCE // len(clustered.rows), 1)
    for start in range(0, SHUFFLES, at_once):
        orders = clustered.draw_orders(random, min(at_once, SHUFFLES - start))
        yield orders, random.integers(clustered.sizes[orders])


def _joint_counts(
    good: Judged,
    bad: Judged,
    clustered: ClusterRows,
    orders: Int[np.ndarray, "deals clusters"],
    turns: Int[np.ndarray, "deals clusters"],
) -> Int[np.ndarray, "deals 2"]:
    """Rows that are both, and bad rows, of each deal; rows lie cluster by cluster."""
    if has_native():
        counts = np.empty((len(orders), 2), np.int64)
        clusters = (clustered.starts, clustered.sizes)
        native.joint_counts((good, bad), clusters, (orders, turns), counts)
        return counts
    within = np.arange(len(good)) - np.repeat(clustered.starts, clustered.sizes)
    start, size, turn = (
        np.repeat(each, clustered.sizes, axis=1)
        for each in (clustered.starts[orders], clustered.sizes[orders], turns)
    )
    values = bad[start + (within + turn) % size]
    return np.stack([values @ good.astype(np.int64), values.sum(axis=1)], axis=1)
