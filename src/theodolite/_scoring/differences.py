"""Compare a score with its nulls: differences, confidence intervals and p-values.

Used by `evaluate`.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from scipy.special import stdtr

from theodolite._scoring.intervals import (
    ROUNDING_VARIANCE,
    DrawCounts,
    Resampled,
    add_group_method,
    estimate_item_components,
    estimate_unseen_variance,
)
from theodolite._scoring.plan import Plan
from theodolite._stats.intervals import (
    Estimate,
    quantile,
    sample_variance,
    student_interval,
    two_sided_p,
)
from theodolite._stats.resampling import shuffle_interval
from theodolite.metrics.base import Metric, NullModel
from theodolite.results import DefectTest, Interval, Null, Score, Source

NOTHING_VARIED = "exact, nothing varied"


@dataclass(frozen=True, eq=False)
class NullRows:
    """Values of a null on the samples (row 0) and on resamples; by item and by seed."""

    head: Float[np.ndarray, " rows"]
    items: Float[np.ndarray, "rows items"] | None
    per_seed: Float[np.ndarray, " seeds"]
    between_draws: float = 0.0
    """Variance of the mean over draws of the null."""
    stored: Float[np.ndarray, " draws"] | None = None
    """Values of the draws that are stored in the evidence, if any."""


def compare_with_null(
    null: NullModel,
    rows: NullRows,
    score: Resampled,
    plan: Plan,
    counts: DrawCounts,
    metric: Metric,
) -> Null:
    """Return the null with the interval and the p-value of score minus null."""
    seeds = tuple(float(v) for v in rows.per_seed) if len(rows.per_seed) > 1 else ()
    level = plan.resampling.level
    if null.on == "state":
        value = float(np.nanmean(rows.head)) if (~np.isnan(rows.head)).any() else math.nan
        away = shuffle_interval(rows.head, score.value, level)
        p = compute_permutation_p(rows.head, score.value)
        return Null(null.name, value, _add_error(away, rows.head), seeds, p, label=null.label)
    value = float(rows.head[0])
    estimate = _estimate_difference(null, rows, score, plan, counts, metric)
    draws = () if rows.stored is None else _drop_undefined(rows.stored)
    if estimate is None:
        return Null(null.name, value, None, seeds, None, draws, null.label)
    if estimate.variance <= ROUNDING_VARIANCE:
        away, p = _estimate_without_variation(estimate, counts, metric, level)
    else:
        away = add_group_method(student_interval(estimate, level), counts)
        p = two_sided_p(estimate.value, estimate.error, estimate.df)
    return Null(null.name, value, away, seeds, p, draws, null.label)


def _drop_undefined(draws: np.ndarray) -> tuple[float, ...]:
    return tuple(float(draw) for draw in draws[~np.isnan(draws)])


def _estimate_difference(
    null: NullModel,
    rows: NullRows,
    score: Resampled,
    plan: Plan,
    counts: DrawCounts,
    metric: Metric,
) -> Estimate | None:
    """Return score minus null with its variance over samples.

    Where the null was drawn item by item, items are random too and add their variance.
    """
    block = plan.block
    middle = float(score.head[0] - rows.head[0])
    moved = score.head[block] - rows.head[block]
    if math.isnan(middle) or not counts.enough:
        return None
    over: Source = counts.source
    variance, df = sample_variance(moved, counts.bootstrap), float(counts.bootstrap - 1)
    if math.isnan(variance):
        return None
    if null.per_item and score.items is not None and rows.items is not None:
        moved_items = score.items - rows.items
        both = estimate_item_components(moved, moved_items[block], moved_items[0], counts)
        if both is not None:
            variance, df = both.variance, both.df
    unseen = estimate_unseen_variance(score, None, metric, plan, counts)
    if unseen > 0:  # by Satterthwaite
        parts = variance**2 / df + unseen**2 / (counts.bootstrap - 1)
        variance, df = variance + unseen, (variance + unseen) ** 2 / parts
    return Estimate(middle, variance + rows.between_draws, df, over, plan.resamples)


def estimate_mean_variance(draws: Float[np.ndarray, " draws"]) -> float:
    """Return the variance of the mean over draws of a null; 0 for a single draw."""
    defined = draws[~np.isnan(draws)]
    return float(defined.var(ddof=1)) / len(defined) if len(defined) > 1 else 0.0


def compute_permutation_p(draws: Float[np.ndarray, " draws"], value: float) -> float | None:
    """Return the two-sided permutation p-value of a value among draws of a null."""
    defined = draws[~np.isnan(draws)]
    if len(defined) < 2 or math.isnan(value):
        return None
    above = int((defined >= value - 1e-12).sum())
    below = int((defined <= value + 1e-12).sum())
    return min(1.0, 2 * (1 + min(above, below)) / (1 + len(defined)))


def _add_error(interval: Interval | None, draws: np.ndarray) -> Interval | None:
    if interval is None:
        return None
    defined = draws[~np.isnan(draws)]
    return replace(interval, error=float(defined.std()), df=float(len(defined) - 1))


def _estimate_without_variation(
    estimate: Estimate, counts: DrawCounts, metric: Metric, level: float
) -> tuple[Interval | None, float | None]:
    """Return interval and p-value when no resample differs, from the number of samples alone."""
    span = metric.bounds[1] - metric.bounds[0]
    if not math.isfinite(span):
        return None, None
    reach = span * (1 - ((1 - level) / 2) ** (1 / counts.draws))
    share = min(abs(estimate.value) / span, 1.0)
    interval = Interval(
        estimate.value - reach, estimate.value + reach, level, estimate.over, NOTHING_VARIED,
        round(counts.draws), error=reach / quantile(estimate.df, level), df=estimate.df,
    )  # fmt: skip
    return interval, min(2 * (1 - share) ** counts.draws, 1.0)


def estimate_defect(score: Score, tolerance: float, level: float) -> DefectTest | None:
    """Test how far a score exceeds the reference without defect; None without such a test."""
    null = score.null
    if null is None or null.difference is None or null.difference.error is None:
        return None
    excess, error = score.value - null.value, null.difference.error
    df = null.difference.df or 1.0
    half = quantile(df, level) * error

    def p(distance: float) -> float:
        return float(min(2 * stdtr(df, -distance / error), 1.0))

    return DefectTest(
        excess - half,
        excess + half,
        p(tolerance - excess),
        p(excess),
        p(excess - tolerance),
        error,
        df,
    )
