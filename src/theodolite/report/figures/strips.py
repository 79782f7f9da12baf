"""Scores on their scales: a dot, its interval and its nulls; one alone, or runs side by side."""

import math
from collections.abc import Callable, Sequence

from markupsafe import Markup

from theodolite.report.figures.scales import Scale
from theodolite.report.figures.score_strip import ScoreStrip, end_text, ends_of, score_strip
from theodolite.report.figures.svg import (
    Number,
    box,
    dot,
    drawing,
    interval_bar,
    line,
    mark,
    outline,
    px,
    text,
)
from theodolite.results import Score
from theodolite.verdicts.rules import enough_line
from theodolite.verdicts.words import percent

EDGE = 6.0
"""What is left free at both ends of a strip."""
WIDTH, LANE, TOP = 340, 18, 16
Place = Callable[[Number], float]


def strip(score: Score, *, width: int = 260, labels: bool = False) -> Markup:
    """A score on its scale: a dot, its interval, a tick for each null, a line for enough.

    Where the score looks for a fault, the ticks are clean nulls and the line is what we accept.
    """
    height, middle = (58, 28.0) if labels else (22, 11.0)
    marks = score_strip(score)
    scale = marks.scale
    x = scale.between(EDGE, width - EDGE)
    parts = [line("axis", (EDGE, middle), (width - EDGE, middle))]
    if scale.low < 0 < scale.high:
        parts.append(_upright("axis", x(0.0), middle, 4))
    parts += _limits(marks, x, middle)
    if marks.interval is not None:
        parts.append(interval_bar(x(marks.interval[0]), x(marks.interval[1]), middle))
    if not math.isnan(marks.value):
        parts.append(dot(x(marks.value), middle))
    if labels:
        for end in (scale.low, scale.high):
            parts.append(_label("label end", end_text(end, score), scale, x, (end, middle - 12)))
        if score.null is not None and not math.isnan(score.null.value):
            spot = (score.null.value, middle + 22)
            parts.append(_label("label", score.null.name, scale, x, spot))
    ends = " to ".join(end_text(end, score) for end in (scale.low, scale.high))
    caption = f"{percent(score.value, score)} on a scale from {ends}"
    return drawing("strip", (width, height), caption, parts, fixed=True)


def _upright(css: str, x: float, middle: float, reach: float, title: str = "") -> str:
    return line(css, (x, middle - reach), (x, middle + reach), title)


def _label(css: str, content: str, scale: Scale, x: Place, spot: tuple[float, float]) -> str:
    """A text at a value and a height, which stays inside at both ends."""
    share = scale.share(spot[0])
    anchor = "end" if share > 0.6 else "start" if share < 0.4 else "middle"
    return text(content, x(spot[0]), spot[1], anchor, css)


def _limits(marks: ScoreStrip, x: Place, middle: float) -> list[str]:
    """The nulls, and from where on or up to where we would rely on the score."""
    parts = []
    if marks.accepted is not None:
        start, end = map(x, marks.accepted)
        parts.append(box("accepted", (start, middle - 9), (end - start, 18)))
    if marks.limit is not None:
        parts.append(_upright("enough", x(marks.limit), middle, 9, marks.limit_title))
    for null in marks.nulls:
        if null.beyond:
            parts.append(_tip(x(null.value), middle, null.beyond, null.title))
        else:
            css = "null clean" if marks.clean else "null"
            parts.append(_upright(css, x(null.value), middle, 7, null.title))
    return parts


def _tip(x: float, middle: float, way: int, title: str) -> str:
    """A tip at the end of the scale for a null that lies farther out."""
    return outline("farther", f"M{px(x + 5 * way)} {px(middle)}l{-6 * way} -4v8z", title)


def beside_zero(
    value: float | None, low: float | None, high: float | None, reach: float, *, band: float = 0.0
) -> Markup:
    """A difference or a correlation with its interval, on a line from minus to plus ``reach``.

    Up to ``band`` on both sides it is too small to count.
    """
    width, middle = 150, 11.0

    def x(number: float) -> float:
        return 75 + 69 * min(max(number / reach, -1.0), 1.0)

    parts = [line("axis", (6, middle), (144, middle)), line("middle", (75, 2), (75, 20))]
    if band:
        parts.insert(0, box("small", (x(-band), 2), (x(band) - x(-band), 18)))
    if low is not None and high is not None:
        parts.append(interval_bar(x(low), x(high), middle))
    if value is not None:
        parts.append(dot(x(value), middle))
    return drawing("strip", (width, 22), "", parts, fixed=True)


def lanes(scores: Sequence[tuple[int, str, Score]]) -> Markup:
    """One lane a run: its mark, its interval, a tick for its null. All share one scale."""
    ends = [ends_of(score) for _, _, score in scores]
    scale = Scale(min(low for low, _ in ends), max(high for _, high in ends), ())
    x = scale.between(10, WIDTH - 10)
    height = TOP + LANE * len(scores) + 2
    first = scores[0][2]
    parts = [
        text(end_text(scale.low, first), 10, 11, "start", "label end"),
        text(end_text(scale.high, first), WIDTH - 10, 11, "end", "label end"),
    ]
    limit = enough_line(first)
    if limit is not None and math.isfinite(limit):
        parts.append(line("enough", (x(limit), TOP), (x(limit), height - 2)))
    for number, (style, name, score) in enumerate(scores):
        parts += _lane(score, (style, name), x, TOP + LANE * (number + 0.5))
    caption = "; ".join(f"{name}: {percent(score.value, score)}" for _, name, score in scores)
    return drawing("strip lanes", (WIDTH, height), caption, parts)


def _lane(score: Score, run: tuple[int, str], x: Place, middle: float) -> list[str]:
    style, name = run
    parts = [line("axis", (10, middle), (WIDTH - 10, middle))]
    if score.interval is not None:
        parts.append(interval_bar(x(score.interval.low), x(score.interval.high), middle))
    if score.null is not None and not math.isnan(score.null.value):
        parts.append(_upright("null", x(score.null.value), middle, 6))
    if not math.isnan(score.value):
        parts.append(mark(style, x(score.value), middle, f"{name}: {percent(score.value, score)}"))
    return parts
