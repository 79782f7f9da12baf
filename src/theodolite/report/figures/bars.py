"""Draw counts and values as bars: upright, in rows, or to both sides of an axis."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from markupsafe import Markup

from theodolite.report.figures.scales import (
    NAN,
    UNLIMITED,
    Histogram,
    Scale,
    round_scale,
    tick_text,
    wrap_name,
)
from theodolite.report.figures.svg import Number, box, drawing, filling, line, polyline, text

TICKS = ((0, "start", -1), (0.25, "middle", 0), (0.5, "middle", 0), (0.75, "middle", 0),
         (1, "end", 1))  # fmt: skip
"""Share of the axis, anchor and side: the outermost may be long and end with the figure."""
REACH = 72.0
"""Height in pixels of the tallest bar on one side of an axis."""
NAME = 20
"""Letters of a name that fit on a line."""


def histogram(
    values: Float[np.ndarray, " n"],
    over: str,
    bounds: tuple[float, float],
    caption: str,
    paper: Sequence[int] = (),
) -> Markup:
    """Draw how values are spread; ``over`` names their items, ``paper`` counts are an outline."""
    width, left, base = 300, 16, 118
    bins = Histogram.of(values, bounds)
    ours, theirs = _shares(bins.counts), _shares(np.asarray(paper, float))
    if len(theirs) != len(ours):
        theirs = np.zeros(0)
    tallest = max(float(ours.max(initial=0)), float(theirs.max(initial=0)), 1e-9)
    step = (width - 2 * left) / len(ours)

    def y(share: Number) -> float:
        return base - 92 * float(share) / tallest

    zero = left + (width - 2 * left) * -bounds[0] / (bounds[1] - bounds[0])
    parts = [line("zero", (zero, 14), (zero, base))]
    for i in np.flatnonzero(ours):
        title = f"{bins.edges[i]:.2f} to {bins.edges[i + 1]:.2f}: {bins.counts[i]} {over}"
        corner = (left + i * step + 0.7, y(ours[i]))
        parts.append(box("bar", corner, (step - 1.4, base - corner[1]), title))
    if len(theirs):
        steps = [(left + (i + end) * step, y(s)) for i, s in enumerate(theirs) for end in (0, 1)]
        parts.append(polyline("paper", [(left, base), *steps, (width - left, base)]))
    parts.append(line("axis", (left, base), (width - left, base)))
    for share, anchor, side in TICKS:
        at = left + (width - 2 * left) * share
        label = f"{bounds[0] + share * (bounds[1] - bounds[0]):.3g}"
        parts.append(line("axis", (at, base), (at, base + 4)))
        parts.append(text(label, at + 12 * side, base + 17, anchor))
    return drawing("histogram", (width, 150), caption, parts)


def _shares(counts: np.ndarray) -> Float[np.ndarray, " bins"]:
    return np.asarray(counts / max(counts.sum(), 1))


def columns(labels: Sequence[str], counts: Float[np.ndarray, " n"], caption: str) -> Markup:
    """Draw counts as upright bars, each with its number."""
    width, left, base, top = 340, 14, 150, 20
    step = (width - 2 * left) / max(len(labels), 1)
    tallest = max(float(counts.max(initial=0.0)), 1.0)
    parts = [line("axis", (left, base), (width - left, base))]
    for i, (label, count) in enumerate(zip(labels, counts, strict=True)):
        tall = (base - top) * float(count) / tallest
        middle = left + (i + 0.5) * step
        parts.append(box("bar", (left + i * step + 2, base - tall), (step - 4, tall)))
        parts.append(text(label, middle, base + 16))
        if count:
            parts.append(text(f"{int(count)}", middle, base - tall - 5))
    return drawing("curve", (width, 180), caption, parts)


@dataclass(frozen=True)
class Bar:
    """A bar from zero to a value, with its interval and what it must beat where known."""

    css: str
    value: float
    title: str = ""
    low: float = NAN
    high: float = NAN
    null: float = NAN
    number: str = ""
    """Text at the right end of the row."""


def bar_rows(
    rows: Sequence[tuple[str, Sequence[Bar]]],
    scale: Scale,
    caption: str,
    bounds: tuple[float, float] = UNLIMITED,
) -> Markup:
    """Draw rows of bars, each with its name; ticks are percentages where ``bounds`` are 0 and 1."""
    left, right, width, top = 156.0, 330.0, 376.0, 6.0
    most = max((len(bars) for _, bars in rows), default=1)
    thick = 13.0 if most == 1 else 9.0
    labels = [wrap_name(name, NAME) for name, _ in rows]
    tall = max(thick * most + 6.0, 29.0 if any(len(label) > 1 for label in labels) else 0.0)
    base = top + tall * len(rows)
    x = scale.between(left, right)
    parts = [] if 0.0 in scale.ticks else [line("zero", (x(0.0), top), (x(0.0), base))]
    for t in scale.ticks:
        parts.append(line("grid", (x(t), top), (x(t), base)))
        parts.append(text(tick_text(t, bounds), x(t), base + 16))
    for i, (label, (_, bars)) in enumerate(zip(labels, rows, strict=True)):
        middle = top + (i + 0.5) * tall
        first = middle + 4 - 6.5 * (len(label) - 1)
        parts += [text(part, left - 8, first + 13 * n, "end") for n, part in enumerate(label)]
        for number, bar in enumerate(bars):
            parts += _bar(bar, x, middle + (number - most / 2) * thick, thick)
            if bar.number:
                parts.append(text(bar.number, width - 4, middle + 4, "end", "label strong"))
    return drawing("panel", (width, base + 22), caption, parts)


def _bar(bar: Bar, x: Callable[[Number], float], y: float, thick: float) -> list[str]:
    if math.isnan(bar.value):
        return [text("undefined", x(0.0) + 4, y + thick - 2, "start", "label end")]
    start, end = sorted((x(0.0), x(bar.value)))
    parts = [box(bar.css, (start, y), (max(end - start, 0.8), thick - 2), bar.title)]
    if not math.isnan(bar.low):
        middle = y + (thick - 2) / 2
        parts.append(line("whisker", (x(bar.low), middle), (x(bar.high), middle)))
    if not math.isnan(bar.null):
        parts.append(line("null", (x(bar.null), y - 2), (x(bar.null), y + thick)))
    return parts


def small_bar(value: float, low: float, high: float) -> Markup:
    """Draw a bar from zero for a table cell, on an axis from ``low`` to ``high``."""
    width = 120.0
    x = Scale(low, high if high > low else low + 1.0, ()).between(2, width - 2)
    start, end = sorted((x(0.0), x(value)))
    bar = box("bar down" if value < 0 else "bar", (start, 2), (max(end - start, 1.0), 10))
    zero = line("middle", (x(0.0), 0), (x(0.0), 14))
    return drawing("added", (width, 14), "", [bar, zero], fixed=True)


@dataclass(frozen=True)
class BinCounts:
    """Number of samples of one kind in each bin, with the concept and without."""

    name: str
    style: int
    there: Int[np.ndarray, " bins"]
    not_there: Int[np.ndarray, " bins"]


@dataclass(frozen=True)
class Bins:
    """Start and end of each bar."""

    edges: Float[np.ndarray, "bins 2"]
    scale: Scale


@dataclass(frozen=True)
class Heights:
    """Heights of counts, the same in all panels that are compared."""

    most: float
    ticks: tuple[float, ...]
    logarithmic: bool

    @classmethod
    def up_to(cls, tallest: int, *, logarithmic: bool) -> "Heights":
        """Return a scale of counts with round ones to label."""
        if logarithmic:
            tens = tuple(10.0**power for power in range(7) if 10**power <= tallest)
            return cls(max(float(tallest), 1.0), tens, logarithmic)
        scale = round_scale([tallest], (0.0, math.inf))
        return cls(max(scale.high, 1.0), scale.ticks[1:], logarithmic)

    def of(self, count: Number) -> float:
        """Return a height in pixels."""
        if self.logarithmic:
            return REACH * math.log1p(float(count)) / math.log1p(self.most)
        return REACH * float(count) / self.most


def two_sided_histogram(
    groups: Sequence[BinCounts], bins: Bins, heights: Heights, caption: str
) -> Markup:
    """Draw values of a concept: samples that have it upwards, samples without it downwards."""
    left, right, middle = 40.0, 258.0, 20 + REACH
    x = bins.scale.between(left, right)
    parts = []
    for tick in heights.ticks:
        for y in (middle - heights.of(tick), middle + heights.of(tick)):
            parts.append(line("grid", (left, y), (right, y)))
            parts.append(text(f"{tick:,g}", left - 6, y + 4, "end"))
    for i, (low, high) in enumerate(bins.edges):
        start, width = x(low) + 0.4, max(x(high) - x(low) - 0.8, 0.8)
        for side, up in (("there", True), ("not there", False)):
            counts = [(int((g.there if up else g.not_there)[i]), g) for g in groups]
            for count, group in sorted(counts, key=lambda pair: -pair[0]):
                if count:
                    title = f"{group.name}, {side}, {low:.3g} to {high:.3g}: {count:,}"
                    height = max(heights.of(count), 0.6)
                    y = middle - height if up else middle
                    parts.append(box(filling(group.style), (start, y), (width, height), title))
    parts.append(line("axis strong", (left, middle), (right, middle)))
    for t in bins.scale.ticks:
        parts.append(text(tick_text(t, UNLIMITED), x(t), middle + REACH + 19))
    parts.append(text("concept there", left, 12, "start"))
    parts.append(text("concept not there", left, middle + REACH + 37, "start"))
    return drawing("panel outlines", (270, 206), caption, parts)
