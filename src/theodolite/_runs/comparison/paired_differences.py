"""Differences between two runs on the same samples: both are resampled with the same weights."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float
from threadpoolctl import threadpool_limits

from theodolite._runs.comparison.intervals import (
    DifferenceTest,
    ResamplingSource,
    compute_paired_interval,
    compute_possible_range,
    run_student_test,
)
from theodolite._runs.comparison.recipe_differences import (
    SeedVariances,
    estimate_seed_variances,
    run_recipe_test,
)
from theodolite._scoring.counting import StateJob
from theodolite._scoring.passes import PassItem, run_passes
from theodolite._scoring.plan import Plan
from theodolite._scoring.pooled import Pooling
from theodolite._scoring.request import MetricRequest, Resampling
from theodolite._scoring.values import average_defined
from theodolite._stats.intervals import Estimate, components
from theodolite.evidence.base import Evidence
from theodolite.evidence.pipeline_output import silent
from theodolite.evidence.shards import InMemoryShards, Shards, count_clusters
from theodolite.evidence.workers import SerialWorkers
from theodolite.results import Interval, Items, Score, Source

OVER_ITEMS = "Student t, samples and items"
ITEMS_ALONE = "Student t over items, which samples do not change"


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
    these: DifferenceTest | None
    """Of these trained models and these concepts, classes or units, on new samples."""
    n: int
    """Samples that both have."""
    population: DifferenceTest | None = None
    """Of these models, on new samples and other concepts, classes or units."""
    recipe: DifferenceTest | None = None
    """Of models trained again, on new samples; None where seeds do not tell."""
    variances: SeedVariances | None = None
    """What the recipe's difference varies by."""
    seeds: tuple[int, int] = (1, 1)
    """How many of each run were compared."""
    items: ItemDifferences | None = None

    @property
    def value(self) -> float:
        """Second minus first."""
        return self.second - self.first

    @property
    def tests(self) -> tuple[DifferenceTest, ...]:
        """All that there are, the one to quote first."""
        return tuple(t for t in (self.these, self.population, self.recipe) if t is not None)

    @property
    def hardest(self) -> DifferenceTest | None:
        """The test that the difference stands out from least."""
        return max(self.tests, key=lambda test: test.p, default=None)

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """The first is the one to quote; the others vary something else."""
        return tuple(test.interval for test in self.tests)

    @property
    def p(self) -> float:
        """How likely chance alone would make such a difference between these models; NaN where
        that is unknown."""
        return float("nan") if self.these is None else self.these.p

    @property
    def interval(self) -> Interval | None:
        """Confidence interval to quote, or None."""
        return None if self.these is None else self.these.interval


@dataclass(frozen=True, eq=False)
class ResampledRows:
    """What one run's evidence says, as it is and as resampled, for every swept option."""

    values: np.ndarray
    """Rows of the plan first, then swept options, then items."""
    seeds: np.ndarray
    """Differences of each seed."""
    plan: Plan


def resample_rows(
    request: MetricRequest, evidence: Sequence[Evidence | Shards], resampling: Resampling
) -> ResampledRows:
    """Values of a request, one bundle per seed, in memory or sharded; the mean over seeds as
    scores have it.

    All seeds are resampled alike, so that the spread is that of their mean.

    Weights depend on the samples' numbers and the resampling's seed alone, so that two runs about
    the same samples are resampled alike.
    """
    shards: list[Shards] = [
        InMemoryShards(bundle) if isinstance(bundle, Evidence) else bundle for bundle in evidence
    ]
    n = len(shards[0]) if request.metric.streams else min(len(shards[0]), resampling.most_pooled)
    plan = Plan(request.metric, n, count_clusters(shards[0]), resampling)
    jobs = [StateJob(request, plan, "value", seed, plan.state_rows) for seed in range(len(shards))]
    with threadpool_limits(1, user_api="blas"):
        if request.metric.streams:
            items = [PassItem(0, job, shards[job.experiment]) for job in jobs]
            values = run_passes(items, SerialWorkers(), silent).values[0]
            seeds = [values[job.slot].rows for job in jobs]
        else:
            pooling = Pooling({}, SerialWorkers())
            seeds = [pooling.compute_values(job, shards[job.experiment]).rows for job in jobs]
    every = np.stack(seeds)
    return ResampledRows(_average_over_seeds(every), every, plan)


def _average_over_seeds(
    seeds: Float[np.ndarray, "seeds rows *shape"],
) -> Float[np.ndarray, "rows *shape"]:
    """The mean over seeds that are defined. A resample in which one of those is not is undefined:
    the mean of the others would be another one."""
    there = ~np.isnan(seeds[:, :1])
    n = there.sum(axis=0)
    total = np.where(there, seeds, 0.0).sum(axis=0)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


@dataclass(frozen=True, eq=False)
class ComparisonSide:
    """One run's part in a comparison of one score."""

    rows: ResampledRows
    cell: tuple[int, ...]
    score: Score
    seeds: tuple[int, ...]
    """Numbers of the seeds that the run was asked for."""
    paired_seeds: bool = False
    """Whether its spec says that seeds with one number share what is random in training."""

    def values(self, items: Sequence[int] | None) -> np.ndarray:
        """Rows of the plan; of some items where the score has them."""
        at: Any = (slice(None), *self.cell)
        values = self.rows.values[at]
        return np.asarray(values if items is None else values[:, list(items)])

    def of_seeds(self, items: Sequence[int] | None) -> Float[np.ndarray, "seeds rows"]:
        """The value of each seed, as it is and in the resamples of the source to quote."""
        plan = self.rows.plan
        block = plan.block
        at: Any = (slice(None), np.r_[0, block.start : block.stop], *self.cell)
        values = self.rows.seeds[at]
        if items is None:
            return np.asarray(values)
        return average_defined(np.moveaxis(values[..., list(items)], -1, 0))


def compute_difference(
    first: ComparisonSide, second: ComparisonSide, *, identical: bool = False
) -> Difference:
    """Second minus first on the same samples: of these models, and of the recipe.

    A mean over concepts, classes or units is taken over those that both runs have. These are held
    fixed in what is quoted; what others would give is a further interval.
    """
    items = _find_shared_items(first, second)
    plan = first.rows.plan
    mine, yours = first.values(items and items[0]), second.values(items and items[1])
    moved = yours - mine
    heads = moved if items is None else average_defined(moved.T)
    value = float(heads[0])
    each = [float(average_defined(side[0]) if items else side[0]) for side in (mine, yours)]
    source = _choose_source(first, identical=identical)
    source = replace(
        source, limits=compute_possible_range((first.score, second.score), (each[0], each[1]))
    )
    block = plan.block
    population = None if items is None else _test_population((first, second), moved, heads, source)
    these = compute_paired_interval(heads[block], value, source)
    if population is not None and population.interval.method == ITEMS_ALONE:
        these, population = population, None
    variances = None if identical else _compute_seed_variances(first, second, items, source.n)
    return Difference(
        first=each[0],
        second=each[1],
        these=these,
        n=plan.n,
        population=population,
        recipe=run_recipe_test(value, variances, source),
        variances=variances,
        seeds=(len(first.rows.seeds), len(second.rows.seeds)),
        items=None
        if items is None
        else _compute_item_differences((first, second), items, (mine, yours), source),
    )


def _test_population(
    sides: tuple[ComparisonSide, ComparisonSide],
    moved: np.ndarray,
    heads: np.ndarray,
    source: ResamplingSource,
) -> DifferenceTest | None:
    """The difference over other concepts, classes or units as well; alone where samples change
    none of them."""
    detail = sides[0].score.detail
    assert detail is not None  # noqa: S101  else there were no items
    block = sides[0].rows.plan.block
    k, value = moved.shape[1], float(heads[0])
    if source.identical or k < 2 or np.isnan(value):
        return None
    if np.ptp(moved[0]) > 1e-14 and not _do_samples_matter(sides, block):
        variance = float(moved[0].var(ddof=1)) / k
        alone = Estimate(value, variance, k - 1, detail.over, k, scope="population")
        return run_student_test(alone, source, ITEMS_ALONE)
    parts = components(heads[block], moved[block], moved[0], source.n) if k > 2 else None
    if parts is None or not parts.variance > 0:  # two items do not tell of others
        return None
    estimate = Estimate(value, parts.variance, parts.df, detail.over, k, scope="population")
    return run_student_test(estimate, source, OVER_ITEMS)


def _do_samples_matter(sides: tuple[ComparisonSide, ComparisonSide], block: slice) -> bool:
    """Return whether any resample changes anything in either run."""
    rows = [np.nan_to_num(side.values(None)[block]) for side in sides]
    return any(bool((np.ptp(values, axis=0) > 1e-14).any()) for values in rows)


def _choose_source(side: ComparisonSide, *, identical: bool) -> ResamplingSource:
    """The source to quote; whole clusters are drawn where there are any, so they are counted."""
    plan, (low, high) = side.rows.plan, side.score.bounds
    source = plan.sources[0]
    span, level = float(high - low), plan.resampling.level
    return ResamplingSource(source, _count_drawn(plan, source), level, span, identical)


def _count_drawn(plan: Plan, source: Source) -> int:
    return plan.n if source == "samples" else plan.n_clusters


def _find_shared_items(
    first: ComparisonSide, second: ComparisonSide
) -> tuple[list[int], list[int]] | None:
    """Places of the items that both have and that are defined in both."""
    if first.score.detail is None or second.score.detail is None:
        return None
    theirs = {name: j for j, name in enumerate(second.score.detail.names)}
    pairs = [(i, theirs[n]) for i, n in enumerate(first.score.detail.names) if n in theirs]
    mine, yours = first.values(None)[0], second.values(None)[0]
    known = [(i, j) for i, j in pairs if not np.isnan(mine[i]) and not np.isnan(yours[j])]
    return [i for i, _ in known], [j for _, j in known]


def _compute_item_differences(
    sides: tuple[ComparisonSide, ComparisonSide],
    items: tuple[list[int], list[int]],
    rows: tuple[np.ndarray, np.ndarray],
    source: ResamplingSource,
) -> ItemDifferences:
    detail, plan = sides[0].score.detail, sides[0].rows.plan
    assert detail is not None  # noqa: S101  else there were no items
    mine, yours = rows
    moved = yours - mine
    block = plan.block
    source = replace(source, limits=None)  # those are of the mean
    ends = np.full((2, len(items[0])), np.nan)
    for j in range(len(items[0])):
        test = compute_paired_interval(moved[block, j], float(moved[0, j]), source)
        if test is not None:
            ends[:, j] = test.interval.low, test.interval.high
    names = tuple(detail.names[i] for i in items[0])
    defined = [int((~np.isnan(side.values(None)[0])).sum()) for side in sides]
    dropped = sum(defined) - 2 * len(names)
    return ItemDifferences(detail.over, names, mine[0], yours[0], ends[0], ends[1], dropped)


def _compute_seed_variances(
    first: ComparisonSide,
    second: ComparisonSide,
    items: tuple[list[int], list[int]] | None,
    clusters: int,
) -> SeedVariances | None:
    """How the difference varies over seeds. They are paired where both specs say so and both runs
    have all of the same numbers."""
    mine, yours = first.of_seeds(items and items[0]), second.of_seeds(items and items[1])
    same = first.seeds == second.seeds and len(mine) == len(yours) == len(first.seeds)
    paired = same and first.paired_seeds and second.paired_seeds
    return estimate_seed_variances(mine, yours, clusters, paired=paired)
