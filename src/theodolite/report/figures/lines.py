"""Lines over models and over corrections, each with a mark of its own besides its color."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from markupsafe import Markup

from theodolite.report.figures.scales import (
    PlotFrame,
    Scale,
    round_scale,
    shortened,
    squeezed,
    tick_text,
)
from theodolite.report.figures.svg import (
    STYLES,
    band,
    dot,
    drawing,
    line,
    mark,
    polyline,
    text,
)

NAN = float("nan")
Place = Callable[[int], float]
LETTER = 7.0
"""About how wide a letter of a label is."""
END = 18
"""The longest name beside a line's end."""
TOPS = (0.02, 0.04, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Where the scale of a curve may end."""


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
    for number, each in enumerate(lines):
        aside = (number - (len(lines) - 1) / 2) * apart
        parts.append(_line(each, frame, aside, step))
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
        label = squeezed(name, most)
        half = len(label) * LETTER / 2
        parts.append(text(label, min(max(x, half), frame.right + 8 - half), y))
    return "".join(parts)


def _crowded(across: Sequence[str], step: float) -> bool:
    return any(len(name) * LETTER > step - 8 for name in across)


def _line(plotted: PlotLine, frame: PlotFrame, aside: float, step: float) -> str:
    """One line's marks, a little aside so that lines do not hide each other."""

    def place(x: int) -> float:
        return frame.left + (x + 0.5) * step + aside

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
        if not math.isnan(p.low):
            parts.append(line(f"reach {plotted.css}", (x, frame.y(p.low)), (x, frame.y(p.high))))
        if p.ringed:
            parts.append(dot(x, frame.y(p.value), 8, css="ring"))
        parts.append(mark(plotted.style, x, frame.y(p.value), p.says))
    return "".join(parts)


def accuracies(lines: Iterable[PlotLine]) -> Scale:
    """A scale that holds all these lines, so that panels can be compared."""
    values = []
    for each in lines:
        values += [v for p in each.points for v in (p.value, p.low, p.high)] + [each.reference]
    return round_scale(values, (0.0, 1.0), zero=False)


def curves(lines: Sequence[PlotLine], steps: int, up: Scale, caption: str) -> Markup:
    """Accuracy over corrections: a band per line, its name at its end, references dashed."""
    longest = min(max(len(each.name) for each in lines), END)
    room = longest * LETTER + 12 if len(lines) > 1 else 8.0
    frame = PlotFrame(52.0, 392.0 - room, 12.0, 186.0, up)
    step = (frame.right - frame.left) / max(steps - 1, 1)

    def place(x: int) -> float:
        return frame.left + x * step

    parts = [frame.rules(lambda t: tick_text(t, (0.0, 1.0)))]
    every = max(math.ceil(steps / 12), 1)
    for x in range(0, steps, every):
        parts.append(text(f"{x}", place(x), frame.base + 17))
    parts.append(text("concepts corrected", (frame.left + frame.right) / 2, frame.base + 34))
    for level, css in _references(lines):
        y = frame.y(level)
        parts.append(line(f"reference{css}", (frame.left, y), (frame.right, y)))
    parts += [_band(each, frame, place) for each in lines]
    parts += [_curve(each, frame, place, every) for each in lines]
    if len(lines) > 1:
        parts.append(_ends(lines, frame))
    return drawing("chart", (400, 226), caption, parts)


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


def _curve(plotted: PlotLine, frame: PlotFrame, place: Place, every: int) -> str:
    path = polyline(f"path {plotted.css}", [(place(p.x), frame.y(p.value)) for p in plotted.points])
    marks = [
        mark(plotted.style, place(p.x), frame.y(p.value), p.says)
        for p in plotted.points
        if p.x % every == 0
    ]
    return path + "".join(marks)


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
        text(shortened(each.name, END), frame.right + 10, y + 4, "start", f"label {each.css}")
        for each, y in zip(order, heights, strict=True)
    )


def curve(
    x: Float[np.ndarray, " n"],
    middle: Float[np.ndarray, " n"],
    spread: Float[np.ndarray, " n"],
    caption: str,
) -> Markup:
    """A line with a band around it, on a scale from 0 to 100 % or less."""
    tallest = float(np.nanmax(middle + spread, initial=0.0))
    most = next((top for top in TOPS if tallest <= top), 1.0)
    frame = PlotFrame(40.0, 326.0, 12.0, 150.0, Scale(0.0, most, (0.0, 0.5 * most, most)))
    step = (frame.right - frame.left) / max(len(x) - 1, 1)
    parts = [frame.rules(lambda t: f"{100 * t:.0f} %")]
    parts += [text(f"{x[i]:g}", frame.left + i * step, frame.base + 16) for i in range(len(x))]
    known = [i for i in range(len(x)) if not math.isnan(middle[i])]

    def path(values: Float[np.ndarray, " n"]) -> list[tuple[float, float]]:
        return [(frame.left + i * step, frame.y(values[i])) for i in known]

    parts.append(band("band", path(middle + spread), path(middle - spread)))
    parts.append(polyline("line", path(middle)))
    for i, (across, up) in zip(known, path(middle), strict=True):
        parts.append(dot(across, up, 2.6, f"{x[i]:g}: {100 * middle[i]:.1f} %"))
    return drawing("curve", (340, 180), caption, parts)
