"""The interval of a difference between two runs, and how likely chance alone would make it."""

import math
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from theodolite._stats.intervals import (
    FEWEST_CLUSTERS,
    Estimate,
    sample_variance,
    student_interval,
    two_sided_p,
)
from theodolite.results import Interval, Score, Source

PAIRED = "Student t, spread of paired resamples"
SAME = "the same evidence in both"
NOTHING_VARIED = "exact, nothing varied"


@dataclass(frozen=True)
class DifferenceTest:
    """The interval of a difference, and how likely chance alone would make such a one."""

    interval: Interval
    p: float


@dataclass(frozen=True)
class ResamplingSource:
    """What was resampled: which items, how many there are, and the confidence level."""

    over: Source
    n: int
    level: float
    span: float
    """The largest difference that is possible; infinite where there is no limit."""
    identical: bool = False
    """Whether both runs hold the very same evidence."""
    limits: tuple[float, float] | None = None
    """The least and the largest difference that can be; else all within the span."""

    def cut(self, low: float, high: float) -> tuple[float, float]:
        """Clip an interval to possible values."""
        least, most = (-self.span, self.span) if self.limits is None else self.limits
        return min(max(low, least), most), max(min(high, most), least)


def compute_paired_interval(
    resampled: Float[np.ndarray, " resamples"], value: float, source: ResamplingSource
) -> DifferenceTest | None:
    """Interval and p-value of a difference that was resampled with the same weights in both runs.

    The spread of the resampled differences is their standard error, and the interval is Student's
    around the difference with as many degrees of freedom as there are things drawn, less one: it
    lies beside 0 just where the p-value is small. Percentiles would not do: where a single sample
    differs, many resamples miss it, and their median is not the difference.

    Where no resample differs the data cannot show a spread: the interval is as wide as if one more
    sample could have differed by all that is possible. The very same evidence differs by nothing.
    Fewer than four samples or clusters tell nothing.
    """
    if math.isnan(value):
        return None
    if source.identical:
        exact = Interval(0.0, 0.0, source.level, source.over, SAME, source.n)
        return DifferenceTest(replace(exact, error=0.0), 1.0)
    defined = resampled[~np.isnan(resampled)]
    if len(defined) < 2 or source.n < FEWEST_CLUSTERS:
        return None
    if np.ptp(defined) <= 1e-14:
        return bound_unvaried_difference(value, source)
    variance = sample_variance(defined, source.n)
    estimate = Estimate(value, variance, source.n - 1, source.over, len(defined))
    return run_student_test(estimate, source, PAIRED)


def run_student_test(estimate: Estimate, source: ResamplingSource, method: str) -> DifferenceTest:
    """Student's interval of a difference, cut to what can be, and its p-value."""
    interval = student_interval(estimate, source.level)
    low, high = source.cut(interval.low, interval.high)
    p = two_sided_p(estimate.value, estimate.error, estimate.df)
    return DifferenceTest(replace(interval, low=low, high=high, method=method), p)


def bound_unvaried_difference(value: float, source: ResamplingSource) -> DifferenceTest | None:
    """What one more sample could change, where all that were drawn differ alike."""
    if not np.isfinite(source.span):
        return None
    reach = source.span * (1 - ((1 - source.level) / 2) ** (1 / source.n))
    ends = source.cut(value - reach, value + reach)
    interval = Interval(*ends, source.level, source.over, NOTHING_VARIED, source.n)
    share = min(abs(value) / source.span, 1.0)
    return DifferenceTest(interval, min(2 * (1 - share) ** source.n, 1.0))


def compute_possible_range(
    scores: tuple[Score, Score], values: tuple[float, float]
) -> tuple[float, float]:
    """Return the differences that the bounds of a score allow, given the score of each run.

    Each run lies within its own widest interval, and the other within the bounds: a run at 94 %
    [90, 97] cannot be beaten by more than 10 points. It holds 0 and the difference itself.
    """
    bottom, top = (float(end) for end in scores[0].bounds)
    ends = []
    for score, value in zip(scores, values, strict=True):
        low = min([value, *(interval.low for interval in score.intervals)])
        high = max([value, *(interval.high for interval in score.intervals)])
        known = bool(score.intervals)
        ends.append((max(low, bottom), min(high, top)) if known else (bottom, top))
    (low, high), (other_low, other_high) = ends
    return max(bottom - high, other_low - top), min(top - low, other_high - bottom)
