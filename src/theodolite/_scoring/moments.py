"""Inference of scores that know more of their error than resampling their terms shows."""

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace

import numpy as np

from theodolite._scoring.intervals import DrawCounts
from theodolite._scoring.values import average_defined
from theodolite._stats.intervals import Components, Estimate, student_interval
from theodolite._stats.joint.moments import JointLimits, joint_caveat, needed_clusters
from theodolite._stats.predictive_interval import (
    PredictiveMoments,
    doubt,
    fault_interval,
    p_above,
)
from theodolite.metrics.base import Metric
from theodolite.metrics.states import ANNOTATION, ITEM, LIMIT, PAIR
from theodolite.results import (
    AnnotationAllowance,
    Caveat,
    DefectTest,
    DetailTests,
    Interval,
    PairShare,
    Score,
)

METHOD = "Student t and score interval of predictive terms"
MOST_CLEAN = 0.02
"""The clean null of a predictive score is 0 or a little less: more is a fault of the evidence."""
Moments = Mapping[str, np.ndarray]


def over_seeds_of_moments(seeds: Sequence[Moments]) -> Moments:
    """Return the mean over the experiment's seeds; how it varies over samples is the first's.

    What only some seeds tell, such as what wrong annotations explain, is the first's that does.
    """
    if not seeds or not seeds[0]:
        return {}
    names = [part + name for part in ("", ITEM) for name in ("value", "upper_value")]
    means = {
        name: average_defined([seed[name] for seed in seeds]) for name in names if name in seeds[0]
    }
    return dict(ChainMap(means, *(dict(seed) for seed in seeds)))


def with_moments(
    score: Score,
    metric: Metric,
    arrays: Moments,
    counts: DrawCounts,
    level: float,
    names: Sequence[str] = (),
) -> Score:
    """Return the score with interval, test and caveat of its moments.

    Args:
        score: The value and its detail.
        metric: Its metric.
        arrays: Moments by name.
        counts: What was drawn independently.
        level: Of the interval.
        names: Names of the concepts.
    """
    moments, tolerance = PredictiveMoments.of(arrays), metric.tolerance or 0.0
    test = fault_interval(moments, tolerance, level)
    limits = _limits(arrays)
    if limits is None:
        reason = doubt(moments) or _clean_doubt(score)
    else:
        reason = joint_caveat(limits)
        score = _with_limits(score, moments, limits, tolerance)
        if test.low > tolerance:  # with many labels the estimate falls short of a strong leak
            test = replace(test, high=score.bounds[1])
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
    return replace(
        _with_details(score, metric, arrays, level, names),
        intervals=intervals, defect=test, caveat=reason,
        annotation=_annotation(arrays, moments, test, tolerance),
    )  # fmt: skip


def _limits(arrays: Moments) -> JointLimits | None:
    """What decides whether answers can be read, for a score that says so."""
    if f"{LIMIT}clusters" not in arrays:
        return None
    return JointLimits(**{f.name: float(arrays[LIMIT + f.name]) for f in fields(JointLimits)})


def _with_limits(
    score: Score, moments: PredictiveMoments, limits: JointLimits, tolerance: float
) -> Score:
    needed = None
    if moments.surprise > 0:
        needed = needed_clusters(moments.surprise, tolerance, limits.directions, limits.labels)
    return replace(
        score, n_labels=int(limits.labels), n_rarest_label=int(limits.rarest),
        n_concepts=int(limits.concepts), n_required=needed,
    )  # fmt: skip


def _with_details(
    score: Score, metric: Metric, arrays: Moments, level: float, names: Sequence[str]
) -> Score:
    """The score with tests of single concepts, and pairs of them, where these are told."""
    if score.detail is not None and f"{ITEM}value" in arrays and metric.item_tolerance:
        tests = _item_tests(arrays, metric.item_tolerance, level)
        score = replace(score, detail=replace(score.detail, tests=tests))
    pairs = np.asarray(arrays.get(PAIR, np.zeros((0, 3))))
    named = [PairShare(names[int(i)], names[int(j)], float(w)) for i, j, w in pairs]
    return replace(score, pairs=tuple(named))


def _item_tests(arrays: Moments, tolerance: float, level: float) -> DetailTests:
    """The test of each concept against its own tolerance."""
    names = [f.name for f in fields(PredictiveMoments)]
    columns = [np.asarray(arrays[ITEM + name]) for name in names]
    allowance = np.asarray(arrays[f"{ITEM}allowance"])
    rows = []
    for j, allowed in enumerate(allowance):
        own = PredictiveMoments(**{n: float(c[j]) for n, c in zip(names, columns, strict=True)})
        test = fault_interval(own, tolerance, level)
        above = p_above(own, test, tolerance + float(allowed))
        undefined = np.isnan(own.value)
        ends = (test.low, test.high, test.p_below_tolerance, above)
        rows.append([np.nan] * 4 if undefined else list(ends))
    low, high, below, above = np.array(rows).T
    return DetailTests(tolerance, low, high, below, above, allowance)


def _annotation(
    arrays: Moments, moments: PredictiveMoments, test: DefectTest, tolerance: float
) -> AnnotationAllowance | None:
    """What wrong annotations could explain, where that was asked."""
    if f"{ANNOTATION}share" not in arrays:
        return None
    values = {name: float(arrays[ANNOTATION + name]) for name in ("error", "share", "tipping")}
    return AnnotationAllowance(
        error=values["error"],
        declared=bool(arrays[f"{ANNOTATION}declared"]),
        share=values["share"],
        p_nonzero=p_above(moments, test, values["share"]),
        p_above_tolerance=p_above(moments, test, tolerance + values["share"]),
        tipping=None if np.isnan(values["tipping"]) else values["tipping"],
    )


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
