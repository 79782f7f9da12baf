"""Figures of leakage: what values are like, concept by concept, and how vectors lie."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from markupsafe import Markup

from theodolite.report.figures.scales import (
    Scale,
    on_two_lines,
    round_scale,
    squeezed,
    tick_text,
)
from theodolite.report.figures.svg import (
    STYLES,
    Number,
    box,
    drawing,
    line,
    outline,
    points,
    px,
    text,
)

REST = -1
"""The style of samples that belong to no group."""
REACH = 72.0
"""How tall the tallest bar of a histogram is."""
BATCHES = 12
NAME = 20
"""How many letters of a concept's name fit on a line."""
MARK = ("h0", "m-2-2h4v4h-4z", "m0-2.9l2.7 4.7h-5.4z", "m0-3l3 3l-3 3l-3-3z")
"""A sample in a cloud: dot, square, triangle, diamond."""


@dataclass(frozen=True)
class BinCounts:
    """How many samples of one kind lie in each bin, with the concept and without."""

    name: str
    style: int
    there: Int[np.ndarray, " bins"]
    not_there: Int[np.ndarray, " bins"]


@dataclass(frozen=True)
class Bins:
    """Where bars stand: from, to."""

    edges: Float[np.ndarray, "bins 2"]
    scale: Scale


def filling(style: int) -> str:
    """The class that fills a bar."""
    return "rest" if style == REST else f"f{style % STYLES}"


@dataclass(frozen=True)
class Heights:
    """How tall a count is drawn, the same in all panels that are compared."""

    most: float
    marks: tuple[float, ...]
    logarithmic: bool

    def of(self, count: Number) -> float:
        """In pixels."""
        if self.logarithmic:
            return REACH * math.log1p(float(count)) / math.log1p(self.most)
        return REACH * float(count) / self.most


def heights(tallest: int, *, logarithmic: bool) -> Heights:
    """A scale of counts up to the tallest, with round ones to label."""
    if logarithmic:
        tens = tuple(10.0**power for power in range(7) if 10**power <= tallest)
        return Heights(max(float(tallest), 1.0), tens, logarithmic)
    scale = round_scale([tallest], (0.0, math.inf))
    return Heights(max(scale.high, 1.0), scale.ticks[1:], logarithmic)


def activations(groups: Sequence[BinCounts], bins: Bins, tall: Heights, caption: str) -> Markup:
    """A concept's values: samples with it upwards, without it downwards, in outlines."""
    left, right, middle = 40.0, 258.0, 20 + REACH
    x = bins.scale.between(left, right)
    parts = []
    for mark in tall.marks:
        for y in (middle - tall.of(mark), middle + tall.of(mark)):
            parts.append(line("grid", (left, y), (right, y)))
            parts.append(text(f"{mark:,g}", left - 6, y + 4, "end"))
    for i, (low, high) in enumerate(bins.edges):
        at = (x(low) + 0.4, max(x(high) - x(low) - 0.8, 0.8))
        between = f"{low:.3g} to {high:.3g}"
        for side, up in (("there", True), ("not there", False)):
            own = [(int((g.there if up else g.not_there)[i]), g) for g in groups]
            for count, group in sorted(own, key=lambda pair: -pair[0]):
                if count:
                    title = f"{group.name}, {side}, {between}: {count:,}"
                    height = max(tall.of(count), 0.6)
                    y = middle - height if up else middle
                    parts.append(box(filling(group.style), (at[0], y), (at[1], height), title))
    parts.append(line("axis strong", (left, middle), (right, middle)))
    for t in bins.scale.ticks:
        parts.append(text(tick_text(t, (0, 2)), x(t), middle + REACH + 19))
    parts.append(text("concept there", left, 12, "start"))
    parts.append(text("concept not there", left, middle + REACH + 37, "start"))
    return drawing("panel outlines", (270, 206), caption, parts)


@dataclass(frozen=True)
class Bars:
    """A model's value of each concept, with intervals where known."""

    name: str
    style: int
    values: Float[np.ndarray, " n"]
    low: Float[np.ndarray, " n"]
    high: Float[np.ndarray, " n"]


def concept_bars(
    names: Sequence[str], models: Sequence[Bars], bounds: tuple[float, float], caption: str
) -> Markup:
    """A bar per concept and model from zero, its interval across its end."""
    left, right, top = 156.0, 344.0, 8.0
    thick = 13.0 if len(models) == 1 else 9.0
    labels = [on_two_lines(name, NAME) for name in names]
    row = max(thick * len(models) + 7.0, 29.0 if any(len(label) > 1 for label in labels) else 0.0)
    scale = round_scale(np.concatenate([np.r_[m.values, m.high] for m in models]), bounds)
    base = top + row * len(names)
    x = scale.between(left, right)
    parts = []
    for t in scale.ticks:
        parts.append(line("grid", (x(t), top), (x(t), base)))
        parts.append(text(tick_text(t, bounds), x(t), base + 16))
    for i, name in enumerate(names):
        y = top + i * row
        first = y + row / 2 + 4 - 6.5 * (len(labels[i]) - 1)
        for number, part in enumerate(labels[i]):
            parts.append(text(part, left - 8, first + 13 * number, "end"))
        upper = y + (row - thick * len(models)) / 2
        for number, model in enumerate(models):
            parts.append(_bar(model, i, name, x, (upper + number * thick, thick)))
    return drawing("panel", (372, base + 22), caption, parts)


def _bar(
    model: Bars, i: int, name: str, x: Callable[[Number], float], at: tuple[float, float]
) -> str:
    value, low, high = (float(part[i]) for part in (model.values, model.low, model.high))
    zero, (y, thick) = x(0.0), at
    if math.isnan(value):
        return text("undefined", zero + 4, y + thick - 2, "start", "label end")
    title = f"{name}, {model.name}: {value:.3f}"
    if not math.isnan(low):
        title += f" [{low:.3f}, {high:.3f}]"
    start, end = min(zero, x(value)), max(zero, x(value))
    bar = box(filling(model.style), (start, y), (max(end - start, 0.8), thick - 2), title)
    if math.isnan(low):
        return bar
    middle = y + (thick - 2) / 2
    return bar + line("whisker", (x(low), middle), (x(high), middle))


def triangle(
    values: Float[np.ndarray, " pairs"],
    names: Sequence[str],
    high: float,
    bounds: tuple[float, float],
    caption: str,
) -> Markup:
    """Every pair of concepts: a darker square for a higher value; each name on the diagonal."""
    k = len(names)
    named = k <= 40
    size = min(46.0, max(420.0 / k, 12.5 if named else 3.0))
    square = np.full((k, k), np.nan)
    square[np.triu_indices(k, 1)[::-1]] = values
    if not named:
        return _small_triangle(square, size, high, caption)
    parts, width = [], k * size + 150
    for i in range(k):
        for j in range(i):
            value = float(square[i, j])
            number = "undefined" if math.isnan(value) else f"{value:.3f}"
            title = f"{names[i]} × {names[j]}: {number}"
            corner, side = (j * size, i * size), (size, size)
            share = 0.0 if math.isnan(value) or not high else min(value / high, 1.0)
            parts.append(box("cell", corner, side))
            parts.append(box("heat", corner, side, title, opacity=f"{share:.2f}"))
            if size >= 42:
                css = "label end over" if share > 0.65 else "label end strong"
                label = "–" if math.isnan(value) else tick_text(round(value, 3), bounds)
                parts.append(text(label, (j + 0.5) * size, (i + 0.5) * size + 4, css=css))
        label = squeezed(names[i], int((width - i * size - 5) / 6.9))
        css = "label end" if size < 15 else "label"
        parts.append(text(label, i * size + 5, (i + 0.5) * size + 4, "start", css))
    return drawing("triangle", (width, k * size + 2), caption, parts)


def _small_triangle(
    square: Float[np.ndarray, "k k"], size: float, high: float, caption: str
) -> Markup:
    """Too many for names: eight shades, equal neighbors drawn as one."""
    k = len(square)
    shades = np.ceil(8 * np.clip(np.nan_to_num(square) / (high or 1.0), 0.0, 1.0)).astype(int)
    paths: dict[int, list[str]] = {}
    for i in range(1, k):
        starts = np.flatnonzero(np.diff(shades[i, :i], prepend=-1))
        for a, b in zip(starts, [*starts[1:], i], strict=True):
            if shades[i, a]:
                wide = f"h{px((b - a) * size)}v{px(size)}h-{px((b - a) * size)}z"
                paths.setdefault(int(shades[i, a]), []).append(
                    f"M{px(a * size)} {px(i * size)}{wide}"
                )
    edge = f"M0 {px(size)}L0 {px(k * size)}L{px((k - 1) * size)} {px(k * size)}z"
    parts = [outline("cell", edge)]
    for shade, squares in sorted(paths.items()):
        parts.append(outline("heat", "".join(squares), opacity=f"{shade / 8:.3f}"))
    return drawing("triangle", (k * size + 2, k * size + 2), caption, parts)


def shades(high: float, bounds: tuple[float, float]) -> Markup:
    """The legend of a triangle."""
    parts = []
    for i in range(5):
        parts.append(box("cell", (1 + i * 26, 1), (26, 12)))
        parts.append(box("heat", (1 + i * 26, 1), (26, 12), opacity=f"{i / 4}"))
    parts.append(text("0", 1, 27, "start"))
    parts.append(text(tick_text(high, bounds), 131, 27, "end"))
    caption = f"from 0 to {tick_text(high, bounds)}"
    return drawing("legend", (134, 32), caption, parts, fixed=True)


def cloud(
    places: Float[np.ndarray, "samples 2"], styles: Int[np.ndarray, " samples"], caption: str
) -> Markup:
    """Samples in a plane, a shape and color per group; in turn, so that none hides another."""
    low, high = places.min(axis=0), places.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    spots = 8 + (places - low) / span * np.array([284.0, 204.0])
    spots[:, 1] = 220 - spots[:, 1]
    parts = [box("cell", (0.5, 0.5), (299, 219))]
    for batch in range(BATCHES):
        for style in sorted(set(styles.tolist())):
            shape = MARK[0 if style == REST else style % len(MARK)]
            css = "rest" if style == REST else f"c{style % STYLES}"
            dots = " dots" if shape == MARK[0] else ""
            rows = np.flatnonzero(styles == style)[batch::BATCHES]
            parts.append(points(f"points {css}{dots}", spots[rows], shape))
    return drawing("panel", (300, 220), caption, parts)
