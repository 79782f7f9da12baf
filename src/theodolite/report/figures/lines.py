"""Draw lines over models, corrections and lengths, each with its own mark and color."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from theodolite.report.figures.scales import (
    NAN,
    PlotFrame,
    Scale,
    round_scale,
    tick_text,
    truncate_end,
    truncate_middle,
)
from theodolite.report.figures.svg import STYLES, band, dot, drawing, line, mark, polyline, text

Place = Callable[[int], float]
LETTER = 7.0
"""About how wide a letter of a label is."""
END = 18
"""The longest name beside a line's end."""


@dataclass(frozen=True)
class Point:
    """A value with its interval, and the null it is to be compared with."""

    x: int
    value: float
    low: float
    high: float
    null: float = NAN
    says: str = ""
    ringed: bool = False
    """Whether the point is to be found at once."""


@dataclass(frozen=True)
class PlotLine:
    """Points that belong together."""

    name: str
    style: int
    points: tuple[Point, ...]
    reference: float = NAN
    """A level to compare all of them with."""

    @property
    def css(self) -> str:
        """The class of its color."""
        return f"c{self.style % STYLES}"


def chart(
    lines: Sequence[PlotLine],
    across: Sequence[str],
    bounds: tuple[float, float],
    caption: str,
    within: Sequence[float] = (),
) -> Markup:
    """A score over a few named positions: mark and interval per model, a thin tick for its null.

    The scale holds the values of ``within`` as well, so that several charts can be compared.
    """
    values = [v for each in lines for p in each.points for v in (p.value, p.low, p.high, p.null)]
    frame = PlotFrame(52.0, 312.0, 12.0, 150.0, round_scale([*values, *within], bounds))
    step = (frame.right - frame.left) / max(len(across), 1)
    apart = min(13.0, 0.8 * step / max(len(lines), 1))
    parts = [frame.rules(lambda t: tick_text(t, bounds)), _positions(across, frame, step)]

    def aside(number: int) -> Place:
        """Each line a little beside the others, so that none hides another."""
        first = frame.left + step / 2 + (number - (len(lines) - 1) / 2) * apart
        return lambda x: first + x * step

    parts += [_line(each, frame, aside(number)) for number, each in enumerate(lines)]
    crowded = _crowded(across, step)
    return drawing("chart", (320, 192 if crowded else 178), caption, parts)


def _positions(across: Sequence[str], frame: PlotFrame, step: float) -> str:
    """Names under their positions, on two lines in turn where one is too short."""
    crowded = _crowded(across, step)
    most = int((step * (2 if crowded else 1) - 8) / LETTER)
    parts = []
    for i, name in enumerate(across):
        y = frame.base + (32 if crowded and i % 2 else 17)
        x = frame.left + (i + 0.5) * step
        label = truncate_middle(name, most)
        half = len(label) * LETTER / 2
        parts.append(text(label, min(max(x, half), frame.right + 8 - half), y))
    return "".join(parts)


def _crowded(across: Sequence[str], step: float) -> bool:
    return any(len(name) * LETTER > step - 8 for name in across)


def _line(
    plotted: PlotLine, frame: PlotFrame, place: Place, every: int = 1, *, banded: bool = False
) -> str:
    known = [p for p in plotted.points if not math.isnan(p.value)]
    parts = []
    if len({p.x for p in known}) == len(known) > 1:  # several models in one place are not a path
        path = [(place(p.x), frame.y(p.value)) for p in known]
        parts.append(polyline(f"path {plotted.css}", path))
    for p in known:
        x = place(p.x)
        if not math.isnan(p.null):
            y = frame.y(p.null)
            parts.append(line("null thin", (x - 6, y), (x + 6, y)))
        if not (math.isnan(p.low) or banded):
            parts.append(line(f"reach {plotted.css}", (x, frame.y(p.low)), (x, frame.y(p.high))))
        if p.ringed:
            parts.append(dot(x, frame.y(p.value), 8, css="ring"))
        if p.x % every == 0:
            parts.append(mark(plotted.style, x, frame.y(p.value), p.says))
    return "".join(parts)


def accuracies(lines: Iterable[PlotLine]) -> Scale:
    """A scale that holds all these lines, so that panels can be compared."""
    values = []
    for each in lines:
        values += [v for p in each.points for v in (p.value, p.low, p.high)] + [each.reference]
    return round_scale(values, (0.0, 1.0), zero=False)


def curves(
    lines: Sequence[PlotLine], across: Sequence[str], up: Scale, caption: str, axis: str = ""
) -> Markup:
    """Draw shares over steps: a band per line, its name at its end, references dashed."""
    longest = min(max(len(each.name) for each in lines), END)
    room = longest * LETTER + 12 if len(lines) > 1 else 8.0
    frame = PlotFrame(52.0, 392.0 - room, 12.0, 186.0, up)
    step = (frame.right - frame.left) / max(len(across) - 1, 1)

    def place(x: int) -> float:
        return frame.left + x * step

    parts = [frame.rules(lambda t: tick_text(t, (0.0, 1.0)))]
    every = max(math.ceil(len(across) / 12), 1)
    for x in range(0, len(across), every):
        parts.append(text(across[x], place(x), frame.base + 17))
    if axis:
        parts.append(text(axis, (frame.left + frame.right) / 2, frame.base + 34))
    for level, css in _references(lines):
        y = frame.y(level)
        parts.append(line(f"reference{css}", (frame.left, y), (frame.right, y)))
    parts += [_band(each, frame, place) for each in lines]
    parts += [_line(each, frame, place, every, banded=True) for each in lines]
    if len(lines) > 1:
        parts.append(_ends(lines, frame))
    return drawing("chart", (400, 226 if axis else 209), caption, parts)


def _references(lines: Sequence[PlotLine]) -> list[tuple[float, str]]:
    """One line where all references are about the same, else one for each."""
    known = [each for each in lines if not math.isnan(each.reference)]
    levels = [each.reference for each in known]
    if levels and max(levels) - min(levels) <= 0.01:
        return [(sum(levels) / len(levels), "")]
    return [(each.reference, f" {each.css}") for each in known]


def _band(plotted: PlotLine, frame: PlotFrame, place: Place) -> str:
    known = [p for p in plotted.points if not math.isnan(p.low)]
    upper = [(place(p.x), frame.y(p.high)) for p in known]
    lower = [(place(p.x), frame.y(p.low)) for p in known]
    return band(f"around {plotted.css}", upper, lower)


def _ends(lines: Sequence[PlotLine], frame: PlotFrame) -> str:
    """Each line's name beside its end, moved apart where ends are close."""
    order = sorted(lines, key=lambda each: frame.y(each.points[-1].value))
    heights: list[float] = []
    for each in order:
        y = frame.y(each.points[-1].value)
        heights.append(max(y, heights[-1] + 14 if heights else y))
    lowest = frame.base + 6
    for i in reversed(range(len(heights))):
        heights[i] = min(heights[i], lowest)
        lowest = heights[i] - 14
    return "".join(
        text(truncate_end(each.name, END), frame.right + 10, y + 4, "start", f"label {each.css}")
        for each, y in zip(order, heights, strict=True)
    )
