"""Lines over models and over corrections, each with a mark of its own besides its colour."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from theodolite.report.svg import (
    STYLES,
    PlotFrame,
    Scale,
    drawing,
    line,
    mark,
    px,
    round_scale,
    shortened,
    squeezed,
    text,
    tick_text,
)

NAN = float("nan")
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
    seen = [v for one in lines for p in one.points for v in (p.value, p.low, p.high, p.null)]
    seen += within
    frame = PlotFrame(52.0, 312.0, 12.0, 150.0, round_scale(seen, bounds))
    step = (frame.right - frame.left) / max(len(across), 1)
    apart = min(13.0, 0.8 * step / max(len(lines), 1))
    parts = [frame.rules(lambda t: tick_text(t, bounds)), _positions(across, frame, step)]
    for number, one in enumerate(lines):
        aside = (number - (len(lines) - 1) / 2) * apart
        parts.append(_line(one, frame, aside, step))
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
        said = squeezed(name, most)
        half = len(said) * LETTER / 2
        parts.append(text(said, min(max(x, half), frame.right + 8 - half), y))
    return "".join(parts)


def _crowded(across: Sequence[str], step: float) -> bool:
    return any(len(name) * LETTER > step - 8 for name in across)


def _line(one: PlotLine, frame: PlotFrame, aside: float, step: float) -> str:
    """One line's marks, a little aside so that lines do not hide each other."""
    css = _css(one)

    def place(x: int) -> float:
        return frame.left + (x + 0.5) * step + aside

    known = [p for p in one.points if not math.isnan(p.value)]
    parts = []
    if len({p.x for p in known}) == len(known) > 1:  # several models in one place are not a path
        joined = " ".join(f"{px(place(p.x))},{px(frame.y(p.value))}" for p in known)
        parts.append(f'<polyline class="path {css}" points="{joined}"/>')
    for p in known:
        x = place(p.x)
        if not math.isnan(p.null):
            y = frame.y(p.null)
            parts.append(line("null thin", (x - 6, y), (x + 6, y)))
        if not math.isnan(p.low):
            parts.append(line(f"reach {css}", (x, frame.y(p.low)), (x, frame.y(p.high))))
        if p.ringed:
            parts.append(f'<circle class="ring" cx="{px(x)}" cy="{px(frame.y(p.value))}" r="8"/>')
        parts.append(mark(one.style, x, frame.y(p.value), p.says))
    return "".join(parts)


def accuracies(lines: Iterable[PlotLine]) -> Scale:
    """A scale that holds all these lines, so that panels can be compared."""
    seen = []
    for one in lines:
        seen += [v for p in one.points for v in (p.value, p.low, p.high)] + [one.reference]
    return round_scale(seen, (0.0, 1.0), zero=False)


def curves(lines: Sequence[PlotLine], steps: int, up: Scale, caption: str) -> Markup:
    """Accuracy over corrections: a band per line, its name at its end, references dashed."""
    longest = min(max(len(one.name) for one in lines), END)
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
    parts += [_reference(level, css, frame) for level, css in _references(lines)]
    parts += [_band(one, frame, place) for one in lines]
    parts += [_curve(one, frame, place, every) for one in lines]
    if len(lines) > 1:
        parts.append(_ends(lines, frame))
    return drawing("chart", (400, 226), caption, parts)


def _references(lines: Sequence[PlotLine]) -> list[tuple[float, str]]:
    """One line where all references are about the same, else one for each."""
    levels = [one.reference for one in lines if not math.isnan(one.reference)]
    if not levels:
        return []
    if max(levels) - min(levels) <= 0.01:
        return [(sum(levels) / len(levels), "")]
    return [(one.reference, f" {_css(one)}") for one in lines
            if not math.isnan(one.reference)]  # fmt: skip


def _reference(level: float, css: str, frame: PlotFrame) -> str:
    y = frame.y(level)
    return line(f"reference{css}", (frame.left, y), (frame.right, y))


def _band(one: PlotLine, frame: PlotFrame, place: Place) -> str:
    known = [p for p in one.points if not math.isnan(p.low)]
    over = [f"{px(place(p.x))},{px(frame.y(p.high))}" for p in known]
    under = [f"{px(place(p.x))},{px(frame.y(p.low))}" for p in reversed(known)]
    return f'<polygon class="around {_css(one)}" points="{" ".join(over + under)}"/>'


def _curve(one: PlotLine, frame: PlotFrame, place: Place, every: int) -> str:
    joined = " ".join(f"{px(place(p.x))},{px(frame.y(p.value))}" for p in one.points)
    marks = [
        mark(one.style, place(p.x), frame.y(p.value), p.says)
        for p in one.points
        if p.x % every == 0
    ]
    return f'<polyline class="path {_css(one)}" points="{joined}"/>{"".join(marks)}'


def _ends(lines: Sequence[PlotLine], frame: PlotFrame) -> str:
    """Each line's name beside its end, moved apart where ends are close."""
    order = sorted(lines, key=lambda one: frame.y(one.points[-1].value))
    heights: list[float] = []
    for one in order:
        y = frame.y(one.points[-1].value)
        heights.append(max(y, heights[-1] + 14 if heights else y))
    lowest = frame.base + 6
    for i in reversed(range(len(heights))):
        heights[i] = min(heights[i], lowest)
        lowest = heights[i] - 14
    return "".join(
        text(shortened(one.name, END), frame.right + 10, y + 4, "start", f"label {_css(one)}")
        for one, y in zip(order, heights, strict=True)
    )


def _css(one: PlotLine) -> str:
    return f"c{one.style % STYLES}"
