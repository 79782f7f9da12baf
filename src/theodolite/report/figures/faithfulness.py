"""Figures of faithfulness: errors by class, outputs against outputs, what a concept adds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from markupsafe import Markup

from theodolite.report.figures.scales import Scale, squeezed, tick_text
from theodolite.report.figures.svg import box, drawing, line, points, text

UNLIMITED = (-math.inf, math.inf)
DOT, DIAMOND = "h0", "m0-3l3 3l-3 3l-3-3z"
NAME = 20
"""How many letters of a class's name fit beside its bar."""


@dataclass(frozen=True)
class Pairs:
    """Outputs that are explained and those of an explanation, of the same samples and classes."""

    network: Float[np.ndarray, " n"]
    explanation: Float[np.ndarray, " n"]
    own: Bool[np.ndarray, " n"]
    """Whether the output is that of the sample's true class."""


def class_bars(
    names: Sequence[str],
    errors: Float[np.ndarray, " n"],
    nulls: Float[np.ndarray, " n"],
    scale: Scale,
    caption: str,
) -> Markup:
    """A bar per class with its number, and a tick for the error without any explanation."""
    left, right, top, row = 158.0, 326.0, 4.0, 19.0
    base = top + row * len(names)
    x = scale.between(left, right)
    parts = []
    for t in scale.ticks:
        parts.append(line("grid", (x(t), top), (x(t), base)))
        parts.append(text(tick_text(t, UNLIMITED), x(t), base + 16))
    for i, name in enumerate(names):
        y, error, null = top + i * row, float(errors[i]), float(nulls[i])
        title = f"{name}: {error:.2f}; constant mean: {null:.2f}"
        css = "bar down" if error > null else "bar"
        parts.append(text(squeezed(name, NAME), left - 8, y + 13, "end"))
        parts.append(box(css, (left, y + 3), (max(x(error) - left, 0.8), 12), title))
        parts.append(line("null", (x(null), y + 1), (x(null), y + 17)))
        parts.append(text(f"{error:,.2f}", 372, y + 13, "end", "label strong"))
    return drawing("panel", (376, base + 22), caption, parts)


def scatter(pairs: Pairs, scale: Scale, caption: str, axis: str = "outputs explained") -> Markup:
    """Outputs of an explanation over those that it explains, on one scale; equal on the diagonal.

    What lies beyond the scale is drawn at the edge.
    """
    left, right, top, base = 44.0, 290.0, 20.0, 266.0

    def place(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        inside = np.clip(values, scale.low, scale.high)
        return np.asarray((inside - scale.low) / (scale.high - scale.low))

    across = left + (right - left) * place(pairs.network)
    up = base - (base - top) * place(pairs.explanation)
    spots = np.c_[across, up]
    parts = [box("cell", (left, top), (right - left, base - top))]
    for t in scale.ticks:
        share = scale.share(t)
        x, y = left + (right - left) * share, base - (base - top) * share
        parts.append(line("grid", (x, top), (x, base)) + line("grid", (left, y), (right, y)))
        parts.append(text(tick_text(t, UNLIMITED), x, base + 16))
        parts.append(text(tick_text(t, UNLIMITED), left - 6, y + 4, "end"))
    parts.append(points("points other dots", spots[~pairs.own], DOT))
    parts.append(line("diagonal", (left, base), (right, top)))
    parts.append(points("points c0", spots[pairs.own], DIAMOND))
    parts.append(text("explanation puts out", 2, 12, "start"))
    parts.append(text(axis, right, base + 33, "end"))
    return drawing("panel", (302, 304), caption, parts)


def dot_swatch(*, own: bool) -> Markup:
    """A point of the scatter, for its key."""
    css, shape = ("points c0", DIAMOND) if own else ("points other dots", DOT)
    return drawing("swatch", (16, 14), "", [points(css, [(8, 7)], shape)], fixed=True)
