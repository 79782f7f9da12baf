"""Compute the confidence intervals of scores from resamples, items and seeds.

Used by `evaluate`; `differences` uses the same variances for scores minus nulls.
"""

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

ROUNDING_VARIANCE = 1e-28
"""Largest variance that is rounding error only."""


@dataclass(frozen=True, eq=False)
class Resampled:
    """Values of a score on the samples (row 0) and on resamples; by item and by seed."""

    head: Float[np.ndarray, " rows"]
    items: Float[np.ndarray, "rows items"] | None
    per_seed: Float[np.ndarray, " seeds"]
    trials: Float[np.ndarray, " items"] | None = None
    """Number of independent samples of the rarer kind, by item or for the headline alone. Where a
    score is perfect, its resamples do not vary, and the interval is computed from this number."""

    @property
    def value(self) -> float:
        """Value of the score on the samples as they are."""
        return float(self.head[0])


@dataclass(frozen=True)
class DrawCounts:
    """Number of independent samples or clusters behind a score."""

    source: Source
    draws: float
    """Number of samples, or effective number of clusters: clusters of equal size that would tell as
    much. With Pareto-distributed sizes of 10 to 100 clusters, intervals from this number cover 90
    to 98 %, from the plain number 87 to 94 %."""
    rows: int
    enough: bool
    """True if there are enough samples or clusters to estimate a variance."""
    groups: int = 0
    """Number of random groups that the bootstrap draws; 0 if it draws samples or clusters."""

    @property
    def bootstrap(self) -> float:
        """Number of independent units that the bootstrap draws, for degrees of freedom."""
        return min(self.draws, self.groups) if self.groups else self.draws

    @classmethod
    def from_plan(cls, plan: Plan, n: int) -> "DrawCounts":
        """Count the units of a plan when n samples are defined."""
        if plan.sources[0] == "clusters":
            draws = max(min(plan.effective_clusters, n), 1 + 1e-9)
            return cls(
                "clusters", draws, n, min(plan.n_clusters, n) >= FEWEST_CLUSTERS, plan.groups
            )
        return cls("samples", n, n, n >= FEWEST_CLUSTERS, plan.groups)


def compute_score_intervals(
    score: Score, metric: Metric, plan: Plan, rows: Resampled, counts: DrawCounts
) -> Iterator[Interval]:
    """Yield the interval for new samples, then those for populations of items and of seeds."""
    level, block = plan.resampling.level, plan.block
    varied = sample_variance(rows.head[block], counts.bootstrap)
    if counts.enough and varied >= 0:
        df = counts.bootstrap - 1
        estimate = Estimate(score.value, varied, df, counts.source, plan.resamples)
        interval = _compute_boundary_interval(estimate, metric, rows.trials, level)
        interval = interval or choose_interval(estimate, score, metric, counts, level)
        if interval is not None:
            yield add_group_method(_clip_to_bounds(interval, score), counts)
    for population in _estimate_population_intervals(score, plan, rows, counts):
        interval = choose_interval(population, score, metric, counts, level)
        if interval is not None:
            yield add_group_method(_clip_to_bounds(interval, score), counts)


def _estimate_population_intervals(
    score: Score, plan: Plan, rows: Resampled, counts: DrawCounts
) -> Iterator[Estimate]:
    """Yield estimates for a population of items, and for models trained with other seeds."""
    block, resamples = plan.block, plan.resamples
    if rows.items is not None and score.detail is not None:
        both = estimate_item_components(rows.head[block], rows.items[block], rows.items[0], counts)
        if both is not None and both.variance > ROUNDING_VARIANCE:
            over: Source = score.detail.over
            yield Estimate(score.value, both.variance, both.df, over, resamples, "population")
    seeds = rows.per_seed[~np.isnan(rows.per_seed)]
    if len(seeds) > 1 and np.ptp(seeds) > 1e-14:
        # only the first seed is resampled, so the covariance of seeds and samples is unknown
        samples = sample_variance(rows.head[block], counts.bootstrap)
        samples = samples if samples >= 0 else 0.0
        training = Components(
            samples,
            float(seeds.var(ddof=1)) / len(seeds),
            0.0,
            max(counts.bootstrap, 2),
            len(seeds),
        )
        yield Estimate(
            score.value, training.variance, training.df, "seeds", len(seeds), "population"
        )


def estimate_item_components(
    head: np.ndarray, items: np.ndarray, values: np.ndarray, counts: DrawCounts
) -> Components | None:
    """Return variance components of a mean over items; of items alone if no resample differs."""
    defined = values[~np.isnan(values)]
    if len(defined) < 2:
        return None
    varied = sample_variance(head, counts.bootstrap)
    if varied > ROUNDING_VARIANCE:
        return components(head, items, values, counts.bootstrap)
    return Components(0.0, float(defined.var(ddof=1)) / len(defined), 0.0, 2, len(defined))


def choose_interval(
    estimate: Estimate, score: Score, metric: Metric, counts: DrawCounts, level: float
) -> Interval | None:
    """Return the interval that suits the bounds of the score; None if it cannot be known."""
    low, high = score.bounds
    mean = issubclass(metric.state, SampleMean)
    bounded = math.isfinite(low) and math.isfinite(high)
    if bounded and (mean or (low, high) != (-1.0, 1.0)):
        items = 1 if score.detail is None else max(len(score.detail.values), 1)
        most = counts.rows * items if mean else 1 << 50
        if estimate.variance <= ROUNDING_VARIANCE and not mean:
            return None
        ends = min(low, score.value), max(high, score.value)
        if estimate.variance <= ROUNDING_VARIANCE and abs(score.value - score.best) <= 1e-12:
            # every sample is as good as possible, which may be less than the bound
            ends = (low, score.best) if score.better == "higher" else (score.best, high)
        return wilson_interval(estimate, ends, most, counts.draws, level)
    if estimate.variance <= ROUNDING_VARIANCE:
        return None
    return fisher_interval(estimate, level) if bounded else student_interval(estimate, level)


def compute_item_intervals(
    score: Score,
    metric: Metric,
    plan: Plan,
    resampled: Resampled,
    counts: DrawCounts,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the ends of the interval of each item; None if no item has an interval."""
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
        item_score = replace(single, value=estimate.value)
        trials = None if resampled.trials is None else resampled.trials[j : j + 1]
        interval = (
            _compute_boundary_interval(estimate, metric, trials, level) if counts.enough else None
        )
        if interval is None and counts.enough and varied > ROUNDING_VARIANCE:
            interval = choose_interval(estimate, item_score, metric, counts, level)
        if interval is not None:
            ends[:, j] = interval.low, interval.high
    if np.isnan(ends).all():
        return None
    low, high = np.clip(ends, *score.bounds)
    return low, high


def _compute_boundary_interval(
    estimate: Estimate, metric: Metric, trials: np.ndarray | None, level: float
) -> Interval | None:
    """Return the interval of a perfect score without variation; None for other scores."""
    best = metric.bounds[1 if metric.better == "higher" else 0]
    perfect = abs(estimate.value - best) <= 1e-12 and 0 <= estimate.variance <= ROUNDING_VARIANCE
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
    """Return the variance of a perfect score or item that resampling misses; 0 for others."""
    if rows.trials is None:
        return 0.0
    values = rows.head if item is None or rows.items is None else rows.items[:, item]
    trials = rows.trials if item is None else rows.trials[item : item + 1]
    varied = sample_variance(values[plan.block], counts.bootstrap)
    estimate = Estimate(
        float(values[0]), varied, counts.bootstrap - 1, counts.source, plan.resamples
    )
    interval = _compute_boundary_interval(estimate, metric, trials, plan.resampling.level)
    return 0.0 if interval is None or interval.error is None else interval.error**2


def _clip_to_bounds(interval: Interval, score: Score) -> Interval:
    low, high = np.clip((interval.low, interval.high), *score.bounds)
    return replace(interval, low=float(low), high=float(high))


def add_group_method(interval: Interval, counts: DrawCounts) -> Interval:
    """Return the interval with "random groups" in its method if groups were drawn."""
    if not counts.groups:
        return interval
    return replace(interval, method=f"{interval.method}, {BY_GROUPS}")
