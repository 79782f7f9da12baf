"""A score on its axis, before anybody draws it: what SVG, matplotlib and Vega-Lite all show.

The left end is the worst value and the right end the best one, whichever way the score goes. The
axis is colored by what a score there would be answered: no, partly, yes.
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
"""Where all marks lie within this share of the range from its best end, the axis is cut."""
CUTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
"""Shares of the range that an axis is cut to."""


@dataclass(frozen=True)
class StripAxis:
    """From the worst value at the left to the best one at the right."""

    worst: float
    best: float

    def share(self, value: float) -> float:
        """How far to the right a value lies, 0 to 1; what lies beyond an end is at the end."""
        return min(max((float(value) - self.worst) / ((self.best - self.worst) or 1.0), 0.0), 1.0)


@dataclass(frozen=True)
class Zone:
    """A part of the axis, as shares of it, and what a score there would be answered."""

    answer: ZoneAnswer
    start: float
    end: float


@dataclass(frozen=True)
class NullMark:
    """The strongest baseline: where it lies and what it is called."""

    name: str
    value: float


@dataclass(frozen=True)
class StripMarks:
    """All marks of one score."""

    axis: StripAxis
    value: float
    interval: tuple[float, float] | None
    null: NullMark | None
    zones: tuple[Zone, ...]
    """From left to right; none where nothing could be told."""


def strip_marks(score: Score, axis: StripAxis | None = None) -> StripMarks:
    """The marks of a score, on its own axis or on one that it shares with others."""
    axis = strip_axis([score]) if axis is None else axis
    interval = score.interval
    known = interval is not None and math.isfinite(interval.low + interval.high)
    return StripMarks(
        axis=axis,
        value=score.value,
        interval=(interval.low, interval.high) if interval is not None and known else None,
        null=hardest_null(score),
        zones=zones_on(score, axis),
    )


def hardest_null(score: Score) -> NullMark | None:
    """What a claim must beat, or of a score that looks for a fault the clean null.

    Of a null that was drawn several times it is the best draw: a claim must exceed all of them.
    """
    marks = [_null_mark(score, null) for null in score.nulls if _counts(score, null)]
    return _hardest(score, marks)


def _null_for_any_claim(score: Score) -> NullMark | None:
    """Where *no* ends: beyond it some claim is made, if not that all nulls are beaten."""
    nulls = [null for null in score.nulls if _counts(score, null)]
    needed = [null for null in nulls if not if_not_beaten(score, null)]
    return _hardest(score, [_null_mark(score, null) for null in needed or nulls])


def _hardest(score: Score, marks: Sequence[NullMark]) -> NullMark | None:
    defined = [mark for mark in marks if math.isfinite(mark.value)]
    if not defined:
        return None
    if is_defect_metric(score):
        return defined[0]
    return (max if score.better == "higher" else min)(defined, key=lambda mark: mark.value)


def _counts(score: Score, null: Null) -> bool:
    return score.metric not in catalogue() or must_beat(score, null)


def _null_mark(score: Score, null: Null) -> NullMark:
    model = model_of(score, null) if score.metric in catalogue() else None
    if model is None or not model.draws_in or not null.draws:
        return NullMark(null.label, null.value)
    best = (max if score.better == "higher" else min)(null.draws)
    return NullMark(f"{null.label}, best of {len(null.draws)}", best)


def zones_on(score: Score, axis: StripAxis) -> tuple[Zone, ...]:
    """Where an interval that lies there as a whole would be answered no, partly and yes."""
    borders = zone_borders(score)
    zones, start = [], 0.0
    for answer, border in borders:
        end = max(start, 1.0 if border is None else axis.share(border))
        if end > start:
            zones.append(Zone(answer, start, end))
        start = end
    return tuple(zones)


def zone_borders(score: Score) -> tuple[tuple[ZoneAnswer, float | None], ...]:
    """Answers from the worst to the best, each with where it ends; the last ends nowhere."""
    hardest, metric = hardest_null(score), catalogue().get(score.metric)
    if hardest is None or metric is None:
        return ()
    if is_defect_metric(score):
        return ("no", hardest.value + (metric.tolerance or 0.0)), ("yes", None)
    null, enough = _null_for_any_claim(score) or hardest, enough_line(score)
    if enough is not None and math.isfinite(enough):
        beyond = (max if score.better == "higher" else min)(enough, hardest.value)
        return ("no", null.value), ("partly", beyond), ("yes", None)
    chance = null_of_draws(score)
    decided = metric.decides and chance is not None and is_enough(chance)
    return ("no", null.value), ("yes" if decided else "partly", None)


def strip_axis(scores: Sequence[Score], marks: Sequence[float] | None = None) -> StripAxis:
    """The axis that holds the marks of scores that go the same way, or other marks of theirs.

    It runs over the bounds of the metric, or to the best that these data allow; round numbers take
    the place of bounds that there are none of. Where all marks lie near the best end, it is cut.
    """
    marks = [mark for score in scores for mark in _numbers(score)] if marks is None else marks
    low, high = _range(scores, marks)
    bests = [score.best for score in scores if math.isfinite(score.best)]
    sign = 1.0 if scores[0].better == "higher" else -1.0
    if not math.isfinite(low + high):
        scale = round_scale(_with_room([*marks, *bests, *_enough_lines(scores)], sign), (low, high))
        return StripAxis(scale.low, scale.high) if sign > 0 else StripAxis(scale.high, scale.low)
    worst = low if sign > 0 else high
    best = sign * max(
        (sign * value for value in (*bests, *marks)), default=sign * (low + high - worst)
    )
    best = min(max(best, low), high)
    metric = catalogue().get(scores[0].metric)
    fault = metric is not None and metric.is_defect_metric
    start = max(best, 0.0) if fault else best  # less than no fault is no better
    away = max((sign * (start - min(max(mark, low), high)) for mark in marks), default=math.inf)
    if away <= NEAR_BEST * abs(start - worst):
        accepted = (metric.tolerance if metric else 0.0) or 0.0
        span = high - (start if fault else low)
        lengths = (cut * span for cut in (*CUTS, 1.0, math.inf))
        length = next(n for n in lengths if n > away + 1e-9 and n >= 2 * accepted - 1e-9)
        worst = start - sign * min(length, abs(start - worst))
    return StripAxis(worst, best)


def _with_room(numbers: list[float], sign: float) -> list[float]:
    """And one that is worse than all: else there is no zone left of a null."""
    if not numbers:
        return []
    worst, spread = min(numbers, key=lambda n: sign * n), max(numbers) - min(numbers)
    return [*numbers, worst - 0.05 * sign * spread]


def _enough_lines(scores: Sequence[Score]) -> list[float]:
    lines = [enough_line(score) for score in scores if score.metric in catalogue()]
    return [line for line in lines if line is not None and math.isfinite(line)]


def _numbers(score: Score) -> list[float]:
    null, interval = hardest_null(score), score.interval
    numbers = [score.value] if null is None else [score.value, null.value]
    numbers += [] if interval is None else [interval.low, interval.high]
    return [number for number in numbers if math.isfinite(number)]


def _range(scores: Sequence[Score], marks: Sequence[float]) -> tuple[float, float]:
    """The bounds; of shares that may be missed nothing below 0, of faults no more than is there."""
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
    """An end of the axis, in the score's own unit."""
    if is_share(score):
        return f"{round(100 * end, 1 if abs(end) < 0.01 else 0):g} %".replace("-", "−")
    return percent(end, score).removesuffix(".00").replace("-", "−")
