"""One engine of intervals: from variances over samples or clusters, and over items and seeds."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from theodolite._scoring.plan import Plan
from theodolite._stats.groups import METHOD as BY_GROUPS
from theodolite._stats.intervals import (
    FEWEST_CLUSTERS,
    Components,
    Estimate,
    components,
    fisher_interval,
    quantile,
    sample_variance,
    student_interval,
    wilson_interval,
)
from theodolite._stats.resampling import boundary_interval
from theodolite.metrics.base import Metric, SampleMean
from theodolite.results import Interval, Score, Source

NOTHING = 1e-28
"""A variance below this is rounding."""


@dataclass(frozen=True, eq=False)
class Resampled:
    """A score's rows: as it is, then resampled; of the headline, of its items, of its seeds."""

    head: Float[np.ndarray, " rows"]
    items: Float[np.ndarray, "rows items"] | None
    per_seed: Float[np.ndarray, " seeds"]
    trials: Float[np.ndarray, " items"] | None = None
    """Of each item, or of the headline alone, the independent samples of the kind that is rarer,
    for a score that says so: where it is perfect, resampling sees no spread."""

    @property
    def value(self) -> float:
        """The headline."""
        return float(self.head[0])


@dataclass(frozen=True)
class DrawCounts:
    """How many things there are that were drawn independently, and what they are."""

    source: Source
    draws: float
    """Clusters, or samples where each is its own. Of clusters of unequal size, how many of equal
    size would tell as much: with sizes drawn from a Pareto law, intervals that count each cluster
    as one cover 87 to 94 % at 10 to 100 clusters, these 90 to 98 %."""
    rows: int
    enough: bool
    """Whether there are enough to know how they vary."""
    groups: int = 0
    """Random groups of them that the bootstrap draws; 0 where it draws them one by one."""

    @property
    def bootstrap(self) -> float:
        """Things that the bootstrap draws: how well variances are known."""
        return min(self.draws, self.groups) if self.groups else self.draws

    @classmethod
    def of(cls, plan: Plan, n: int) -> "DrawCounts":
        """From the plan and the number of samples that count."""
        if plan.sources[0] == "clusters":
            draws = max(min(plan.effective_clusters, n), 1 + 1e-9)
            return cls(
                "clusters", draws, n, min(plan.n_clusters, n) >= FEWEST_CLUSTERS, plan.groups
            )
        return cls("samples", n, n, n >= FEWEST_CLUSTERS, plan.groups)


def score_intervals(
    score: Score, metric: Metric, plan: Plan, rows: Resampled, counts: DrawCounts
) -> Iterator[Interval]:
    """The one to quote first: these items and trained models, on new samples; then populations."""
    level, block = plan.resampling.level, plan.block
    varied = sample_variance(rows.head[block], counts.bootstrap)
    if counts.enough and varied >= 0:
        df = counts.bootstrap - 1
        these = Estimate(score.value, varied, df, counts.source, plan.resamples)
        interval = _on_the_bound(these, metric, rows.trials, level)
        interval = interval or choose_interval(these, score, metric, counts, level)
        if interval is not None:
            yield with_method(_cut(interval, score), counts)
    for population in _estimate_population_intervals(score, plan, rows, counts):
        interval = choose_interval(population, score, metric, counts, level)
        if interval is not None:
            yield with_method(_cut(interval, score), counts)


def _estimate_population_intervals(
    score: Score, plan: Plan, rows: Resampled, counts: DrawCounts
) -> Iterator[Estimate]:
    """Concepts, classes or units like these; and models trained again as these were."""
    block, resamples = plan.block, plan.resamples
    if rows.items is not None and score.detail is not None:
        both = estimate_item_components(rows.head[block], rows.items[block], rows.items[0], counts)
        if both is not None and both.variance > NOTHING:
            over: Source = score.detail.over
            yield Estimate(score.value, both.variance, both.df, over, resamples, "population")
    seeds = rows.per_seed[~np.isnan(rows.per_seed)]
    if len(seeds) > 1 and np.ptp(seeds) > 1e-14:
        # only the first seed is resampled, so what seeds and samples share is not taken off
        samples = sample_variance(rows.head[block], counts.bootstrap)
        samples = samples if samples >= 0 else 0.0
        recipe = Components(
            samples,
            float(seeds.var(ddof=1)) / len(seeds),
            0.0,
            max(counts.bootstrap, 2),
            len(seeds),
        )
        yield Estimate(score.value, recipe.variance, recipe.df, "seeds", len(seeds), "population")


def estimate_item_components(
    head: np.ndarray, items: np.ndarray, values: np.ndarray, counts: DrawCounts
) -> Components | None:
    """Of a mean over items; where no resample differs, of the items alone."""
    defined = values[~np.isnan(values)]
    if len(defined) < 2:
        return None
    varied = sample_variance(head, counts.bootstrap)
    if varied > NOTHING:
        return components(head, items, values, counts.bootstrap)
    return Components(0.0, float(defined.var(ddof=1)) / len(defined), 0.0, 2, len(defined))


def choose_interval(
    estimate: Estimate, score: Score, metric: Metric, counts: DrawCounts, level: float
) -> Interval | None:
    """As the score's bounds ask for; none where nothing varied and nothing bounds it."""
    low, high = score.bounds
    mean = issubclass(metric.state, SampleMean)
    bounded = math.isfinite(low) and math.isfinite(high)
    if bounded and (mean or (low, high) != (-1.0, 1.0)):
        items = 1 if score.detail is None else max(len(score.detail.values), 1)
        most = counts.rows * items if mean else 1 << 50
        if estimate.variance <= NOTHING and not mean:
            return None
        ends = min(low, score.value), max(high, score.value)
        if estimate.variance <= NOTHING and abs(score.value - score.best) <= 1e-12:
            # every sample is as good as it can be, which may be short of the bound
            ends = (low, score.best) if score.better == "higher" else (score.best, high)
        return wilson_interval(estimate, ends, most, counts.draws, level)
    if estimate.variance <= NOTHING:
        return None
    return fisher_interval(estimate, level) if bounded else student_interval(estimate, level)


def compute_item_intervals(
    score: Score,
    metric: Metric,
    plan: Plan,
    resampled: Resampled,
    counts: DrawCounts,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Both ends of the interval of each item; none where none has any."""
    assert resampled.items is not None  # noqa: S101  else there is no detail
    items, level = resampled.items, plan.resampling.level
    rows = items[plan.block]
    single = replace(score, detail=None)
    ends = np.full((2, items.shape[1]), np.nan)
    for j in range(items.shape[1]):
        varied = sample_variance(rows[:, j], counts.bootstrap)
        estimate = Estimate(
            float(items[0, j]), varied, counts.bootstrap - 1, counts.source, len(rows)
        )
        own = replace(single, value=estimate.value)
        trials = None if resampled.trials is None else resampled.trials[j : j + 1]
        interval = _on_the_bound(estimate, metric, trials, level) if counts.enough else None
        if interval is None and counts.enough and varied > NOTHING:
            interval = choose_interval(estimate, own, metric, counts, level)
        if interval is not None:
            ends[:, j] = interval.low, interval.high
    if np.isnan(ends).all():
        return None
    low, high = np.clip(ends, *score.bounds)
    return low, high


def _on_the_bound(
    estimate: Estimate, metric: Metric, trials: np.ndarray | None, level: float
) -> Interval | None:
    """Of a perfect score whose resamples are all perfect too, where it says how many there are."""
    best = metric.bounds[1 if metric.better == "higher" else 0]
    perfect = abs(estimate.value - best) <= 1e-12 and 0 <= estimate.variance <= NOTHING
    if trials is None or not perfect:
        return None
    n = int(np.nanmin(trials))
    interval = boundary_interval(best, metric.bounds, n, level, estimate.over)
    if interval is None:
        return None
    error = (interval.high - interval.low) / quantile(estimate.df, level)
    return replace(interval, error=error, df=float(estimate.df))


def estimate_unseen_variance(
    rows: Resampled, item: int | None, metric: Metric, plan: Plan, counts: DrawCounts
) -> float:
    """Of a perfect score, or of one of its items, what resampling does not see; else 0."""
    if rows.trials is None:
        return 0.0
    values = rows.head if item is None or rows.items is None else rows.items[:, item]
    trials = rows.trials if item is None else rows.trials[item : item + 1]
    varied = sample_variance(values[plan.block], counts.bootstrap)
    estimate = Estimate(
        float(values[0]), varied, counts.bootstrap - 1, counts.source, plan.resamples
    )
    interval = _on_the_bound(estimate, metric, trials, plan.resampling.level)
    return 0.0 if interval is None or interval.error is None else interval.error**2


def _cut(interval: Interval, score: Score) -> Interval:
    low, high = np.clip((interval.low, interval.high), *score.bounds)
    return replace(interval, low=float(low), high=float(high))


def with_method(interval: Interval, counts: DrawCounts) -> Interval:
    """The interval, whose method says what was drawn where that was groups."""
    if not counts.groups:
        return interval
    return replace(interval, method=f"{interval.method}, {BY_GROUPS}")
