"""Differences between two runs on the same samples: both are resampled with the same weights."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float
from threadpoolctl import threadpool_limits

from theodolite.comparison.intervals import (
    ResamplingSource,
    item_draws,
    paired_interval,
    possible,
    seeds_interval,
)
from theodolite.evidence.base import Evidence
from theodolite.evidence.produced import silent
from theodolite.evidence.shards import InMemoryShards, clusters_of
from theodolite.evidence.workers import SerialWorkers
from theodolite.results import Interval, Items, Score, Source
from theodolite.scoring.counting import StateJob, read
from theodolite.scoring.passes import PassItem, passes
from theodolite.scoring.plan import Plan
from theodolite.scoring.pooled import Subsample
from theodolite.scoring.request import MetricRequest, Resampling
from theodolite.scoring.values import mean_of_defined


@dataclass(frozen=True, eq=False)
class ItemDifferences:
    """The difference of each concept, class or unit that both runs have."""

    over: Items
    names: tuple[str, ...]
    first: Float[np.ndarray, " items"]
    second: Float[np.ndarray, " items"]
    low: Float[np.ndarray, " items"]
    high: Float[np.ndarray, " items"]
    dropped: int
    """Items that only one of the runs has, or that are undefined in one of them only."""

    @property
    def differences(self) -> Float[np.ndarray, " items"]:
        """Second minus first."""
        return np.asarray(self.second - self.first)


@dataclass(frozen=True, eq=False)
class Difference:
    """Second run minus first, on the same samples."""

    first: float
    second: float
    intervals: tuple[Interval, ...]
    """The first is the one to quote; the others vary something else."""
    p: float
    """How likely chance alone would make such a difference: the largest over all sources of
    chance, since a difference must stand out from each of them; NaN where that is unknown."""
    n: int
    """Samples that both have."""
    items: ItemDifferences | None = None

    @property
    def value(self) -> float:
        """Second minus first."""
        return self.second - self.first

    @property
    def interval(self) -> Interval | None:
        """The interval to quote."""
        return self.intervals[0] if self.intervals else None


@dataclass(frozen=True, eq=False)
class Rows:
    """What one run's evidence says, as it is and as resampled, for every swept option."""

    values: np.ndarray
    """Rows of the plan first, then swept options, then items."""
    per_seed: np.ndarray
    plan: Plan


def rows_of(request: MetricRequest, evidence: Sequence[Evidence], resampling: Resampling) -> Rows:
    """Values of a request, one bundle per seed; the mean over seeds as scores have it.

    All seeds are resampled alike, so that the spread is that of their mean.

    Weights depend on the samples' numbers and the resampling's seed alone, so that two runs about
    the same samples are resampled alike.
    """
    shards = [InMemoryShards(bundle) for bundle in evidence]
    n = len(shards[0]) if request.metric.streams else min(len(shards[0]), resampling.most_pooled)
    plan = Plan(request.metric, n, clusters_of(shards[0]), resampling)
    jobs = [
        StateJob(request, plan, "value", seed, slice(0, len(plan))) for seed in range(len(shards))
    ]
    with threadpool_limits(1, user_api="blas"):
        if request.metric.streams:
            items = [PassItem(0, job, shards[job.experiment]) for job in jobs]
            values = passes(items, SerialWorkers(), silent)[0][0]
            seeds = [values[job.slot].rows for job in jobs]
        else:
            subsample = Subsample({})
            seeds = [
                read(job, job.state(subsample(shards[job.experiment], plan))).rows for job in jobs
            ]
    return Rows(_over_seeds(np.stack(seeds)), np.stack([rows[0] for rows in seeds]), plan)


def _over_seeds(seeds: Float[np.ndarray, "seeds rows *shape"]) -> Float[np.ndarray, "rows *shape"]:
    """The mean over seeds that are defined. A resample in which one of those is not is undefined:
    the mean of the others would be another one."""
    there = ~np.isnan(seeds[:, :1])
    n = there.sum(axis=0)
    total = np.where(there, seeds, 0.0).sum(axis=0)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


@dataclass(frozen=True, eq=False)
class Side:
    """One run's part in a comparison of one score."""

    rows: Rows
    cell: tuple[int, ...]
    score: Score
    seeds: tuple[int, ...]

    def values(self, items: Sequence[int] | None) -> np.ndarray:
        """Rows of the plan; of some items where the score has them."""
        at: Any = (slice(None), *self.cell)
        values = self.rows.values[at]
        return np.asarray(values if items is None else values[:, list(items)])

    def of_seeds(self, items: Sequence[int] | None) -> np.ndarray:
        """The value of each seed."""
        at: Any = (slice(None), *self.cell)
        values = self.rows.per_seed[at]
        return values if items is None else mean_of_defined(values[:, list(items)].T)


def difference(first: Side, second: Side, *, identical: bool = False) -> Difference:
    """Second minus first with its paired intervals, one per source of chance.

    A mean over concepts, classes or units is taken over those that both runs have.
    """
    items = _shared(first, second)
    plan = first.rows.plan
    mine, yours = first.values(items and items[0]), second.values(items and items[1])
    moved = yours - mine
    heads = moved if items is None else mean_of_defined(moved.T)
    value = float(heads[0])
    each = [float(mean_of_defined(side[0]) if items else side[0]) for side in (mine, yours)]
    source = _source_to_quote(first, identical=identical)
    source = replace(source, limits=possible((first.score, second.score), (each[0], each[1])))
    candidates: list[tuple[Interval | None, float]] = []
    if items is not None and len(items[0]):
        resampled = item_draws(moved[0], plan.resampling.resamples, plan.resampling.seed)
        over = first.score.detail.over  # type: ignore[union-attr]
        candidates.append(
            paired_interval(resampled, value, replace(source, over=over, n=len(items[0])))
        )
    for name in plan.sources:
        own = replace(source, over=name, n=_count(plan, name))
        candidates.append(paired_interval(heads[plan.block(name)], value, own))
    candidates.append(_seeds(first, second, items))
    known = [(interval, p) for interval, p in candidates if interval is not None]
    return Difference(
        first=each[0],
        second=each[1],
        intervals=tuple(interval for interval, _ in known),
        p=max((p for _, p in known), default=float("nan")),
        n=plan.n,
        items=None if items is None else _items((first, second), items, (mine, yours), source),
    )


def _source_to_quote(side: Side, *, identical: bool) -> ResamplingSource:
    """The source to quote; whole clusters are drawn where there are any, so they are counted."""
    plan, (low, high) = side.rows.plan, side.score.bounds
    source = plan.sources[0]
    span, level = float(high - low), plan.resampling.level
    return ResamplingSource(source, _count(plan, source), level, span, identical)


def _count(plan: Plan, source: Source) -> int:
    return plan.n if source == "samples" else plan.n_clusters


def _shared(first: Side, second: Side) -> tuple[list[int], list[int]] | None:
    """Places of the items that both have and that are defined in both."""
    if first.score.detail is None or second.score.detail is None:
        return None
    theirs = {name: j for j, name in enumerate(second.score.detail.names)}
    pairs = [(i, theirs[n]) for i, n in enumerate(first.score.detail.names) if n in theirs]
    mine, yours = first.values(None)[0], second.values(None)[0]
    known = [(i, j) for i, j in pairs if not np.isnan(mine[i]) and not np.isnan(yours[j])]
    return [i for i, _ in known], [j for _, j in known]


def _items(
    sides: tuple[Side, Side],
    items: tuple[list[int], list[int]],
    rows: tuple[np.ndarray, np.ndarray],
    source: ResamplingSource,
) -> ItemDifferences:
    detail, plan = sides[0].score.detail, sides[0].rows.plan
    assert detail is not None  # noqa: S101  else there were no items
    mine, yours = rows
    moved = yours - mine
    block = plan.block(plan.sources[0])
    source = replace(source, limits=None)  # those are of the mean
    ends = np.full((2, len(items[0])), np.nan)
    for j in range(len(items[0])):
        interval, _ = paired_interval(moved[block, j], float(moved[0, j]), source)
        if interval is not None:
            ends[:, j] = interval.low, interval.high
    names = tuple(detail.names[i] for i in items[0])
    defined = [int((~np.isnan(side.values(None)[0])).sum()) for side in sides]
    dropped = sum(defined) - 2 * len(names)
    return ItemDifferences(detail.over, names, mine[0], yours[0], ends[0], ends[1], dropped)


def _seeds(
    first: Side, second: Side, items: tuple[list[int], list[int]] | None
) -> tuple[Interval | None, float]:
    """How it varies over the experiment's seeds, where both runs have the same ones."""
    if first.seeds != second.seeds or len(first.seeds) < 2:
        return None, float("nan")
    moved = second.of_seeds(items and items[1]) - first.of_seeds(items and items[0])
    if len(moved) != len(first.seeds):
        return None, float("nan")
    return seeds_interval(moved, first.rows.plan.resampling.level)
