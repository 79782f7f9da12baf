"""Compute what a strip shows of a score: value, interval, strongest baseline and answer zones.

Nothing is drawn here: `strips` (SVG), `score_plot` (matplotlib) and `score_chart` (Vega-Lite) draw
the same marks. The left end of the axis is the worst value and the right end the best one, whether
higher or lower is better. A zone covers the values that are answered no, partly or yes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from theodolite._verdicts.draws import if_not_beaten, is_enough, model_of, must_beat, null_of_draws
from theodolite._verdicts.rules import enough_line
from theodolite._verdicts.words import is_share, percent
from theodolite.metrics.catalogue import catalogue
from theodolite.report.chapters.clean import is_defect_metric
from theodolite.report.figures.scales import round_scale
from theodolite.results import Null, Score

ZoneAnswer = Literal["no", "partly", "yes"]
NEAR_BEST = 0.3
"""The axis is cut if all marks lie within this share of the range from its best end."""
CUTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
"""Shares of the range that an axis can be cut to."""


@dataclass(frozen=True)
class StripAxis:
    """Axis of a strip, with the worst value at the left and the best one at the right."""

    worst: float
    best: float

    def share(self, value: float) -> float:
        """Return the position of a value from 0 (left) to 1 (right), clipped to the axis."""
        return min(max((float(value) - self.worst) / ((self.best - self.worst) or 1.0), 0.0), 1.0)


@dataclass(frozen=True)
class Zone:
    """Part of the axis whose values get the same answer; its ends are shares of the axis."""

    answer: ZoneAnswer
    start: float
    end: float


@dataclass(frozen=True)
class NullMark:
    """Name and value of the strongest baseline."""

    name: str
    value: float


@dataclass(frozen=True)
class StripMarks:
    """All that a strip shows of one score."""

    axis: StripAxis
    value: float
    interval: tuple[float, float] | None
    null: NullMark | None
    zones: tuple[Zone, ...]
    """From left to right; empty if the score has no baseline or its metric is unknown."""


def strip_marks(score: Score, axis: StripAxis | None = None) -> StripMarks:
    """Return the marks of a score, on its own axis or on one that it shares with others."""
    axis = strip_axis([score]) if axis is None else axis
    interval = score.interval
    known = interval is not None and math.isfinite(interval.low + interval.high)
    return StripMarks(
        axis=axis,
        value=score.value,
        interval=(interval.low, interval.high) if interval is not None and known else None,
        null=find_strongest_null(score),
        zones=zones_on(score, axis),
    )


def find_strongest_null(score: Score) -> NullMark | None:
    """Return the strongest baseline that a claim must beat; for a defect, its reference.

    A baseline with several draws counts with its best draw, since a claim must exceed all of them.
    """
    marks = [_mark_null(score, null) for null in score.nulls if _must_beat(score, null)]
    return _select_strongest(score, marks)


def _find_null_for_any_claim(score: Score) -> NullMark | None:
    """Return the baseline at which the answer *no* ends.

    Baselines with their own sentence for "not beaten" are left out: a score below one of these
    still supports a weaker claim.
    """
    nulls = [null for null in score.nulls if _must_beat(score, null)]
    needed = [null for null in nulls if not if_not_beaten(score, null)]
    return _select_strongest(score, [_mark_null(score, null) for null in needed or nulls])


def _select_strongest(score: Score, marks: Sequence[NullMark]) -> NullMark | None:
    defined = [mark for mark in marks if math.isfinite(mark.value)]
    if not defined:
        return None
    if is_defect_metric(score):
        return defined[0]
    return (max if score.better == "higher" else min)(defined, key=lambda mark: mark.value)


def _must_beat(score: Score, null: Null) -> bool:
    return score.metric not in catalogue() or must_beat(score, null)


def _mark_null(score: Score, null: Null) -> NullMark:
    model = model_of(score, null) if score.metric in catalogue() else None
    if model is None or not model.draws_in or not null.draws:
        return NullMark(null.label, null.value)
    best = (max if score.better == "higher" else min)(null.draws)
    return NullMark(f"{null.label}, best of {len(null.draws)}", best)


def zones_on(score: Score, axis: StripAxis) -> tuple[Zone, ...]:
    """Return the zones of an axis: an interval that lies within one gets its answer."""
    borders = zone_borders(score)
    zones, start = [], 0.0
    for answer, border in borders:
        end = max(start, 1.0 if border is None else axis.share(border))
        if end > start:
            zones.append(Zone(answer, start, end))
        start = end
    return tuple(zones)


def zone_borders(score: Score) -> tuple[tuple[ZoneAnswer, float | None], ...]:
    """Return the answers from the worst to the best, each with the value at which it ends.

    The last one has no end. Empty if the score has no baseline or its metric is unknown.
    """
    strongest, metric = find_strongest_null(score), catalogue().get(score.metric)
    if strongest is None or metric is None:
        return ()
    if is_defect_metric(score):
        return ("no", strongest.value + (metric.tolerance or 0.0)), ("yes", None)
    null, threshold = _find_null_for_any_claim(score) or strongest, enough_line(score)
    if threshold is not None and math.isfinite(threshold):
        beyond = (max if score.better == "higher" else min)(threshold, strongest.value)
        return ("no", null.value), ("partly", beyond), ("yes", None)
    chance = null_of_draws(score)
    decided = metric.decides and chance is not None and is_enough(chance)
    return ("no", null.value), ("yes" if decided else "partly", None)


def strip_axis(scores: Sequence[Score], marks: Sequence[float] | None = None) -> StripAxis:
    """Return an axis for the marks of scores with the same better direction, or for ``marks``.

    It covers the bounds of the metric, up to the best possible score on this evidence. Round
    numbers replace infinite bounds. If all marks lie near the best end, the axis is cut.
    """
    if marks is None:
        marks = [mark for score in scores for mark in _list_mark_values(score)]
    low, high = _find_bounds(scores, marks)
    bests = [score.best for score in scores if math.isfinite(score.best)]
    sign = 1.0 if scores[0].better == "higher" else -1.0
    if not math.isfinite(low + high):
        values = _add_worse_value([*marks, *bests, *_list_thresholds(scores)], sign)
        scale = round_scale(values, (low, high))
        return StripAxis(scale.low, scale.high) if sign > 0 else StripAxis(scale.high, scale.low)
    worst = low if sign > 0 else high
    best = sign * max(
        (sign * value for value in (*bests, *marks)), default=sign * (low + high - worst)
    )
    best = min(max(best, low), high)
    metric = catalogue().get(scores[0].metric)
    is_defect = metric is not None and metric.is_defect_metric
    start = max(best, 0.0) if is_defect else best  # a defect below 0 is no better than none
    away = max((sign * (start - min(max(mark, low), high)) for mark in marks), default=math.inf)
    if away <= NEAR_BEST * abs(start - worst):
        accepted = (metric.tolerance if metric else 0.0) or 0.0
        span = high - (start if is_defect else low)
        lengths = (cut * span for cut in (*CUTS, 1.0, math.inf))
        length = next(n for n in lengths if n > away + 1e-9 and n >= 2 * accepted - 1e-9)
        worst = start - sign * min(length, abs(start - worst))
    return StripAxis(worst, best)


def _add_worse_value(numbers: list[float], sign: float) -> list[float]:
    """Add a value that is worse than all, so that there is a zone left of a baseline."""
    if not numbers:
        return []
    worst, spread = min(numbers, key=lambda n: sign * n), max(numbers) - min(numbers)
    return [*numbers, worst - 0.05 * sign * spread]


def _list_thresholds(scores: Sequence[Score]) -> list[float]:
    lines = [enough_line(score) for score in scores if score.metric in catalogue()]
    return [line for line in lines if line is not None and math.isfinite(line)]


def _list_mark_values(score: Score) -> list[float]:
    null, interval = find_strongest_null(score), score.interval
    numbers = [score.value] if null is None else [score.value, null.value]
    numbers += [] if interval is None else [interval.low, interval.high]
    return [number for number in numbers if math.isfinite(number)]


def _find_bounds(scores: Sequence[Score], marks: Sequence[float]) -> tuple[float, float]:
    """Return the common bounds of scores; of their negative part only what the marks reach.

    Percentages and defects can be negative by chance: their axis starts at 0 unless a mark of a
    defect lies below.
    """
    low, high = (end(s.bounds[i] for s in scores) for i, end in enumerate((min, max)))
    metric = catalogue().get(scores[0].metric)
    if metric is None or low >= 0:
        return low, high
    below = max(-min(marks, default=0.0), 0.0)
    if metric.is_percentage or (metric.is_defect_metric and not below):
        return 0.0, high
    if metric.is_defect_metric:
        low = max(low, -next((cut * high for cut in CUTS if cut * high >= below), high))
    return low, high


def end_text(end: float, score: Score) -> str:
    """Return an end of the axis as text, in the unit of the score."""
    if is_share(score):
        return f"{round(100 * end, 1 if abs(end) < 0.01 else 0):g} %".replace("-", "−")
    return percent(end, score).removesuffix(".00").replace("-", "−")
