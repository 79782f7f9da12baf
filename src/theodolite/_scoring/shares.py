"""Scores as shares of the way from a baseline to the best possible.

Used by `evaluate`.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from theodolite._scoring.intervals import DrawCounts
from theodolite._scoring.plan import Plan
from theodolite._stats.intervals import quantile, sample_variance
from theodolite.results import Share


@dataclass(frozen=True, eq=False)
class ShareEnds:
    """Distances from a baseline on the samples (row 0) and on resamples."""

    gained: Float[np.ndarray, " rows"]
    """Of the score."""
    possible: Float[np.ndarray, " rows"]
    """Of the best possible score."""


def estimate_share(null: str, ends: ShareEnds, plan: Plan, counts: DrawCounts) -> Share | None:
    """Return the share with the interval of a ratio of means; None where it is undefined."""
    gained, room = float(ends.gained[0]), float(ends.possible[0])
    if not room > 0 or not counts.enough or math.isnan(gained):
        return None
    ratio = gained / room
    moved = (ends.gained - ratio * ends.possible)[plan.block] / room
    variance = sample_variance(moved, counts.bootstrap)
    if math.isnan(variance):
        return None
    error, df = math.sqrt(variance), float(counts.bootstrap - 1)
    half = quantile(df, plan.resampling.level) * error
    return Share(
        min(ratio, 1.0), min(ratio - half, 1.0), min(ratio + half, 1.0), null, room, error, df
    )
