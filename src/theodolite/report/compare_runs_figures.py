"""Runs beside each other on one scale."""

import math
from collections.abc import Callable, Sequence

from markupsafe import Markup

from theodolite.report.figures import ends_of
from theodolite.report.svg import Scale, drawing, line, mark, px, text
from theodolite.results import Score
from theodolite.verdicts.rules import enough_line, percent

WIDTH, LANE, TOP = 340, 18, 16
Place = Callable[[float], float]


def lanes(scores: Sequence[tuple[int, str, Score]]) -> Markup:
    """One lane a run: its mark, its interval, a tick for its null. All share one scale."""
    ends = [ends_of(score) for _, _, score in scores]
    scale = Scale(min(low for low, _ in ends), max(high for _, high in ends), ())

    def x(value: float) -> float:
        return 10 + (WIDTH - 20) * scale.share(value)

    height = TOP + LANE * len(scores) + 2
    first = scores[0][2]
    parts = []
    for anchor, end in (("start", scale.low), ("end", scale.high)):
        said = percent(end, first).replace(".0 %", " %").removesuffix(".00")
        parts.append(text(said, 10 if anchor == "start" else WIDTH - 10, 11, anchor, "label end"))
    limit = enough_line(first)
    if limit is not None and math.isfinite(limit):
        parts.append(line("enough", (x(limit), TOP), (x(limit), height - 2)))
    for number, (style, name, score) in enumerate(scores):
        parts += _lane(score, (style, name), x, TOP + LANE * (number + 0.5))
    said = "; ".join(f"{name}: {percent(score.value, score)}" for _, name, score in scores)
    return drawing("strip lanes", (WIDTH, height), said, parts)


def _lane(score: Score, named: tuple[int, str], x: Place, middle: float) -> list[str]:
    style, name = named
    parts = [line("axis", (10, middle), (WIDTH - 10, middle))]
    interval = score.interval
    if interval is not None:
        a, b = x(interval.low), x(interval.high)
        parts.append(
            f'<rect class="interval" x="{px(a)}" y="{px(middle - 4)}" '
            f'width="{px(max(b - a, 1.5))}" height="8" rx="2"/>'
        )
    if score.null is not None and not math.isnan(score.null.value):
        at = x(score.null.value)
        parts.append(line("null", (at, middle - 6), (at, middle + 6)))
    if not math.isnan(score.value):
        parts.append(mark(style, x(score.value), middle, f"{name}: {percent(score.value, score)}"))
    return parts
