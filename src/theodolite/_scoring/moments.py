"""Inference of scores that know more of their error than resampling their terms shows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from theodolite._scoring.intervals import DrawCounts
from theodolite._scoring.values import average_defined
from theodolite._stats.intervals import Components, Estimate, student_interval
from theodolite._stats.predictive_interval import PredictiveMoments, doubt, fault_interval
from theodolite.metrics.base import Metric
from theodolite.results import Caveat, Interval, Score

METHOD = "Student t and score interval of predictive terms"
MOST_CLEAN = 0.02
"""The clean null of a predictive score is 0 or a little less: more is a fault of the evidence."""
Moments = Mapping[str, np.ndarray]


def over_seeds_of_moments(seeds: Sequence[Moments]) -> Moments:
    """The mean over the experiment's seeds; how it varies over samples is the first's."""
    if not seeds or not seeds[0]:
        return {}
    means = {
        name: average_defined([seed[name] for seed in seeds]) for name in ("value", "upper_value")
    }
    return dict(seeds[0]) | means


def with_moments(
    score: Score, metric: Metric, arrays: Moments, counts: DrawCounts, level: float
) -> Score:
    """The score with interval, test and doubts of its moments."""
    moments = PredictiveMoments.of(arrays)
    test = fault_interval(moments, metric.tolerance or 0.0, level)
    reason = doubt(moments) or _clean_doubt(score)
    if np.isnan(score.value) or np.isnan(test.error):
        return replace(score, intervals=(), defect=None, caveat=reason)
    n = int(moments.clusters)
    low, high = np.clip((test.low, test.high), *score.bounds)
    quoted = Interval(
        float(low), float(high), level, counts.source, METHOD, n,
        error=moments.wider * moments.error, df=test.df,
    )  # fmt: skip
    population = _population(score, moments, level)
    others = [i for i in score.intervals if i.over == "seeds"]
    intervals = (quoted, *([] if population is None else [population]), *others)
    return replace(score, intervals=intervals, defect=test, caveat=reason)


def _population(score: Score, moments: PredictiveMoments, level: float) -> Interval | None:
    """Concepts like these."""
    values = score.detail.values[~np.isnan(score.detail.values)] if score.detail else np.zeros(0)
    if score.detail is None or len(values) < 2 or moments.clusters < 2:
        return None
    both = Components(
        (moments.wider * moments.error) ** 2,
        float(values.var(ddof=1)) / len(values),
        0.0,
        int(moments.clusters),
        len(values),
    )
    estimate = Estimate(
        score.value, both.variance, both.df, score.detail.over, int(moments.clusters), "population"
    )
    interval = student_interval(estimate, level)
    low, high = np.clip((interval.low, interval.high), *score.bounds)
    return replace(interval, low=float(low), high=float(high))


def _clean_doubt(score: Score) -> Caveat | None:
    if score.null is None or not score.null.value > MOST_CLEAN:
        return None
    return Caveat(
        "data_quality",
        f"{score.null.label} already scores {100 * score.null.value:.1f} %, where it can hold "
        "nothing: rows may belong together",
    )
