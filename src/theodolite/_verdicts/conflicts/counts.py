"""Counting where two questions disagree, and what to expect if they were unrelated."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite._scoring.request import Resampling
from theodolite._stats.resampling import (
    boundary_interval,
    draw_poisson_weights,
    percentile_interval,
)
from theodolite._verdicts.conflicts.excess import excess_interval
from theodolite.metrics.base import ratio
from theodolite.results import Interval, Source

DRAWN_AT_ONCE = 4096
"""Clusters whose weights are held at a time."""
FEWEST = 5


@dataclass(frozen=True)
class ConflictCount:
    """How often a first question says good and a second bad of the same items."""

    n: int
    n_conflicts: int
    share: float
    interval: Interval | None
    expected: float
    """The share if the two questions had nothing to do with each other: product of margins."""
    excess: Interval | None
    """Of share minus ``expected``; None with fewer than four clusters or where none differs from
    another."""
    kappa: float
    """Cohen's kappa: 1 if they always agree, 0 as unrelated questions; NaN if both never vary."""
    kappa_interval: Interval | None
    """None where fewer than five are good, or bad, for one of the questions: resampling five items
    does not tell how others would be."""


def counted(
    first: Bool[np.ndarray, " items"],
    second: Bool[np.ndarray, " items"],
    clusters: Int[np.ndarray, " items"] | None,
    resampling: Resampling,
    over: Source = "samples",
) -> ConflictCount:
    """Conflicts between two judgments of the same items, with intervals.

    >>> good = np.array([True, True, False, False])
    >>> count = counted(good, ~good, None, Resampling())
    >>> count.share, count.expected, count.kappa
    (0.5, 0.25, -1.0)
    """
    cells = _cells(first, second)
    table = cells.sum(axis=0)
    share, expected, kappa = (float(v[0]) for v in _numbers(table[None]))
    tables = _resampled(cells, clusters, resampling)
    shares, _, kappas = _numbers(tables)
    over = over if clusters is None else "clusters"
    level, n = resampling.level, int(table.sum())
    units = n if clusters is None else len(np.unique(clusters))
    within = percentile_interval(shares, share, level, over)
    if within is None:
        within = boundary_interval(share, (0.0, 1.0), units, level, over)
    around = percentile_interval(kappas, kappa, level, over)
    few = min(table[:2].sum(), table[2:].sum(), table[::2].sum(), table[1::2].sum()) < FEWEST
    return ConflictCount(
        n=n,
        n_conflicts=int(table[1]),
        share=share,
        interval=_cut(within, 0.0),
        expected=expected,
        excess=excess_interval(first, ~second, clusters, level, over),
        kappa=kappa,
        kappa_interval=None if np.isnan(kappa) or few else _cut(around, -1.0),
    )


def _cells(
    first: Bool[np.ndarray, " items"], second: Bool[np.ndarray, " items"]
) -> Float[np.ndarray, "items 4"]:
    """Which of the four each item is: both good, only the first, only the second, neither."""
    both = (first & second, first & ~second, ~first & second, ~first & ~second)
    return np.stack(both, axis=1).astype(np.float64)


def _numbers(tables: Float[np.ndarray, "resamples 4"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Share of conflicts, the share to expect, and kappa, of each table of four counts."""
    whole = tables.sum(axis=1)
    both, only_first, only_second, neither = ratio(tables, whole[:, None]).T
    expected = (both + only_first) * (only_first + neither)
    by_chance = (both + only_first) * (both + only_second) + (only_second + neither) * (
        only_first + neither
    )
    kappa = ratio(both + neither - by_chance, np.where(1 - by_chance > 1e-12, 1 - by_chance, 0.0))
    return only_first, expected, kappa


def _resampled(
    cells: Float[np.ndarray, "items 4"],
    clusters: Int[np.ndarray, " items"] | None,
    resampling: Resampling,
) -> Float[np.ndarray, "resamples 4"]:
    """The four counts when each item, or each whole cluster, counts a Poisson(1) number of times.

    Items on their own need no weights: the sum of k such numbers is a Poisson(k) number.
    """
    if clusters is None:
        rng = np.random.default_rng(resampling.seed)
        return rng.poisson(cells.sum(axis=0), (resampling.resamples, 4)).astype(np.float64)
    keys, rows = np.unique(clusters, return_inverse=True)
    sums = np.zeros((len(keys), 4))
    np.add.at(sums, rows, cells)
    tables = np.zeros((resampling.resamples, 4))
    for start in range(0, len(keys), DRAWN_AT_ONCE):
        some = slice(start, start + DRAWN_AT_ONCE)
        tables += (
            draw_poisson_weights(keys[some], resampling.resamples, resampling.seed) @ sums[some]
        )
    return tables


def _cut(interval: Interval | None, low: float) -> Interval | None:
    """Cut at what is possible."""
    if interval is None:
        return None
    ends = np.clip([interval.low, interval.high], low, 1.0)
    return replace(interval, low=float(ends[0]), high=float(ends[1]))


def most_extreme(
    better: Float[np.ndarray, " items"],
    worse: Float[np.ndarray, " items"],
    names: Sequence[str],
    n: int,
) -> list[int]:
    """The items that are among the best in the first and among the worst in the second.

    Both goodness values rise with how good the item is. Items are ordered by the lesser of their
    two ranks, so that none is chosen for one question alone; ties go by name.
    """
    high, low = _places(better), _places(-worse)
    order = sorted(
        range(len(names)),
        key=lambda i: (-min(high[i], low[i]), -(high[i] + low[i]), names[i]),
    )
    return order[:n]


def _places(values: Float[np.ndarray, " items"]) -> Float[np.ndarray, " items"]:
    """The share of items below each, equal ones counted half."""
    ranked = np.sort(values)
    below = np.searchsorted(ranked, values, side="left")
    up_to = np.searchsorted(ranked, values, side="right")
    return np.asarray((below + up_to) / (2 * max(len(values), 1)))
