"""What drawings share: numbers, short names, scales with round ends, marks that need no colour."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape

Number = float | np.floating
MARKS = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "M-3.6-3.6h7.2v7.2h-7.2z",
    "M0-4.8L4.6 3.4h-9.2z",
    "M0-5.2L5.2 0L0 5.2L-5.2 0z",
    "M0 4.8L4.6-3.4h-9.2z",
    "M-1.5-4.6h3v3.1h3.1v3h-3.1v3.1h-3v-3.1h-3.1v-3h3.1z",
)
"""Outlines around 0: circle, square, triangle, diamond, triangle on its tip, cross."""
STYLES = len(MARKS)
"""How many lines or groups are told apart: by outline or hatching, and by colour too."""


def px(number: Number) -> str:
    """A coordinate."""
    return f"{float(number):.1f}"


def shortened(name: str, most: int = 28) -> str:
    """A name cut to what fits."""
    most = max(most, 3)
    return name if len(name) <= most else name[: most - 1].rstrip() + "…"


def squeezed(name: str, most: int) -> str:
    """A name cut in its middle: names of concepts often begin alike."""
    if len(name) <= most:
        return name
    head = max(most // 3, 1)
    return f"{name[:head].rstrip()}…{name[len(name) - (most - head - 1) :].lstrip()}"


def on_two_lines(name: str, most: int) -> list[str]:
    """A name on one line or two, broken between words; cut in its middle where it is longer still.

    >>> on_two_lines("has_bill_shape::curved", 18)
    ['has_bill_shape::', 'curved']
    """
    if len(name) <= most:
        return [name]
    ends = " _:-/"
    breaks = [i for i in range(1, most + 1) if name[i - 1] in ends and name[i] not in ends]
    fitting = [i for i in breaks if len(name) - i <= most]
    if not fitting:
        return [squeezed(name, most)]
    at = min(fitting, key=lambda i: (name[i - 1] != ":", abs(2 * i - len(name))))
    return [name[:at].rstrip(), name[at:]]


def text(says: str, x: Number, y: Number, anchor: str = "middle", css: str = "label") -> str:
    """A piece of text, escaped."""
    place = f'x="{px(x)}" y="{px(y)}" text-anchor="{anchor}"'
    return f'<text class="{css}" {place}>{escape(says)}</text>'


def line(css: str, start: tuple[Number, Number], end: tuple[Number, Number]) -> str:
    """A straight line."""
    return (
        f'<line class="{css}" x1="{px(start[0])}" y1="{px(start[1])}" '
        f'x2="{px(end[0])}" y2="{px(end[1])}"/>'
    )


def mark(style: int, x: Number, y: Number, says: str = "") -> str:
    """The mark of a line or group, which tells what it stands for when pointed at."""
    title = f"<title>{escape(says)}</title>" if says else ""
    return (
        f'<path class="mark c{style % STYLES}" transform="translate({px(x)} {px(y)})" '
        f'd="{MARKS[style % STYLES]}">{title}</path>'
    )


def drawing(css: str, size: tuple[Number, Number], caption: str, parts: Iterable[str]) -> Markup:
    """The whole drawing; its parts are numbers and escaped names only."""
    width, height = (math.ceil(float(side)) for side in size)
    return Markup(  # noqa: S704  numbers and escaped names only
        f'<svg class="{css}" role="img" aria-label="{escape(caption)}" '
        f'viewBox="0 0 {width} {height}">{"".join(parts)}</svg>'
    )


def swatch(style: int, *, filled: bool = False) -> Markup:
    """A line's mark, or a group's filling, for a key."""
    if filled:
        inside = f'<rect class="f{style % STYLES}" x="1" y="1" width="14" height="12"/>'
    else:
        inside = mark(style, 8, 7)
    return Markup(  # noqa: S704
        f'<svg class="swatch" aria-hidden="true" width="16" height="14">{inside}</svg>'
    )


@dataclass(frozen=True)
class Scale:
    """Numbers from ``low`` to ``high``, with round ones to label."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def share(self, value: Number) -> float:
        """How far along a value lies, 0 to 1."""
        inside = min(max(float(value), self.low), self.high)
        return (inside - self.low) / (self.high - self.low)


def round_scale(
    values: Sequence[Number] | np.ndarray, bounds: tuple[float, float], *, zero: bool = True
) -> Scale:
    """A scale with round ends that holds the values, within the bounds of what they can be."""
    known = [float(v) for v in values if not math.isnan(float(v))]
    if zero:
        known.append(min(max(0.0, bounds[0]), bounds[1]))
    finite = all(math.isfinite(end) for end in bounds)
    least = 0.02 * (bounds[1] - bounds[0]) if finite else 1e-9
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    low, high = max(low, bounds[0]), min(high, bounds[1])
    if high - low < least:
        high = min(low + least, bounds[1])
        low = min(low, high - least)
    step = _round_step((high - low) / 4)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = [round(i * step, 10) + 0.0 for i in range(first, last + 1)]
    low, high = max(ticks[0], bounds[0]), min(ticks[-1], bounds[1])
    return Scale(low, high, tuple(t for t in ticks if low - 1e-9 <= t <= high + 1e-9))


def _round_step(about: float) -> float:
    size = 10.0 ** math.floor(math.log10(about))
    return next(size * by for by in (1, 2, 2.5, 5, 10) if size * by >= about * (1 - 1e-9))


@dataclass(frozen=True)
class PlotFrame:
    """Where a plot lies in its drawing, and how its values go up."""

    left: float
    right: float
    top: float
    base: float
    up: Scale

    def y(self, value: Number) -> float:
        """The height of a value."""
        return self.base - (self.base - self.top) * self.up.share(value)

    def rules(self, said: Callable[[float], str]) -> str:
        """A faint line and a label for each round value."""
        return "".join(
            line("grid", (self.left, self.y(t)), (self.right, self.y(t)))
            + text(said(t), self.left - 6, self.y(t) + 4, "end")
            for t in self.up.ticks
        )


def tick_text(value: float, bounds: tuple[float, float]) -> str:
    """A round number on an axis: per cent where the score is a share."""
    if bounds == (0.0, 1.0):
        return f"{round(100 * value, 6):g} %"
    return f"{round(value, 8) + 0.0:g}".replace("-", "−")
