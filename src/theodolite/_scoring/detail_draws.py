"""Compare each concept, class or unit with the null draws that are stored in the evidence.

Used by `evaluate`.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from theodolite._scoring.differences import estimate_mean_variance
from theodolite._scoring.intervals import DrawCounts, Resampled, estimate_unseen_variance
from theodolite._scoring.plan import Plan
from theodolite._scoring.values import average_defined
from theodolite._stats.draws import SAME, compare_items_with_draws
from theodolite._stats.intervals import quantile, sample_variance
from theodolite.metrics.base import Metric
from theodolite.results import DetailDraws


@dataclass(frozen=True, eq=False)
class ItemDraws:
    """Values of a null by item, averaged over draws and for each draw."""

    name: str
    mean: Float[np.ndarray, "rows items"]
    """Mean over draws, on the samples (row 0) and on resamples."""
    each: Float[np.ndarray, "draws items"]


def compare_details_with_draws(
    null: ItemDraws, rows: Resampled, metric: Metric, plan: Plan, counts: DrawCounts
) -> DetailDraws:
    """Return, by item, the interval of value minus null and the number of draws it beats."""
    mean, draws = null.mean, null.each
    assert rows.items is not None  # noqa: S101  else there is no detail
    values, sign = rows.items[0], 1.0 if metric.better == "higher" else -1.0
    ends = np.full((2, len(values)), math.nan)
    for j in range(len(values)):
        moved = (rows.items[:, j] - mean[:, j])[plan.block]
        variance = sample_variance(moved, counts.bootstrap) + estimate_mean_variance(draws[:, j])
        variance += estimate_unseen_variance(rows, j, metric, plan, counts)
        if counts.enough and variance >= 0:
            half = quantile(counts.bootstrap - 1, plan.resampling.level) * math.sqrt(variance)
            middle = values[j] - mean[0, j]
            ends[:, j] = middle - half, middle + half
    beaten = (sign * (values - draws) > SAME).sum(axis=0)
    defined = (~np.isnan(draws)).sum(axis=0)
    ordered = ends if sign > 0 else -ends[::-1]
    best = sign * metric.bounds[1 if sign > 0 else 0]
    return DetailDraws(
        null.name, average_defined(draws), ends[0], ends[1], beaten.astype(float),
        defined.astype(float),
        compare_items_with_draws(sign * values, sign * draws, ordered, best),
    )  # fmt: skip
