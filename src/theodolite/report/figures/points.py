"""Draw samples as points: in a plane, or one output against another."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from markupsafe import Markup

from theodolite.report.figures.scales import UNLIMITED, PlotFrame, Scale, tick_text
from theodolite.report.figures.svg import REST, STYLES, box, drawing, line, points, text

BATCHES = 12
SHAPES = ("h0", "m-2-2h4v4h-4z", "m0-2.9l2.7 4.7h-5.4z", "m0-3l3 3l-3 3l-3-3z")
"""Dot, square, triangle, diamond."""
DOT, DIAMOND = SHAPES[0], SHAPES[3]


@dataclass(frozen=True)
class Pairs:
    """Outputs that are explained and those of an explanation, of the same samples and classes."""

    network: Float[np.ndarray, " n"]
    explanation: Float[np.ndarray, " n"]
    own: Bool[np.ndarray, " n"]
    """Whether the output is that of the sample's true class."""


def cloud(
    places: Float[np.ndarray, "samples 2"], styles: Int[np.ndarray, " samples"], caption: str
) -> Markup:
    """Draw samples in a plane, a shape and color per group; in turn, so that none hides another."""
    low, high = places.min(axis=0), places.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    spots = 8 + (places - low) / span * np.array([284.0, 204.0])
    spots[:, 1] = 220 - spots[:, 1]
    parts = [box("cell", (0.5, 0.5), (299, 219))]
    for batch in range(BATCHES):
        for style in sorted(set(styles.tolist())):
            shape = DOT if style == REST else SHAPES[style % len(SHAPES)]
            css = "rest" if style == REST else f"c{style % STYLES}"
            dots = " dots" if shape == DOT else ""
            rows = np.flatnonzero(styles == style)[batch::BATCHES]
            parts.append(points(f"points {css}{dots}", spots[rows], shape))
    return drawing("panel", (300, 220), caption, parts)


def scatter(pairs: Pairs, scale: Scale, caption: str, axis: str = "outputs explained") -> Markup:
    """Draw outputs of an explanation over those that it explains; equal ones are on the diagonal.

    Values beyond the scale are drawn at the edge.
    """
    frame = PlotFrame(44.0, 290.0, 20.0, 266.0, scale)
    left, right, top, base = frame.left, frame.right, frame.top, frame.base
    ends = (scale.low, scale.high)
    across = np.interp(pairs.network, ends, (left, right))
    spots = np.c_[across, np.interp(pairs.explanation, ends, (base, top))]
    parts = [box("cell", (left, top), (right - left, base - top))]
    for t in scale.ticks:
        x, y, label = left + (right - left) * scale.share(t), frame.y(t), tick_text(t, UNLIMITED)
        parts.append(line("grid", (x, top), (x, base)) + line("grid", (left, y), (right, y)))
        parts.append(text(label, x, base + 16) + text(label, left - 6, y + 4, "end"))
    parts.append(points("points other dots", spots[~pairs.own], DOT))
    parts.append(line("diagonal", (left, base), (right, top)))
    parts.append(points("points c0", spots[pairs.own], DIAMOND))
    parts.append(text("output of the explanation", 2, 12, "start"))
    parts.append(text(axis, right, base + 33, "end"))
    return drawing("panel", (302, 304), caption, parts)


def dot_swatch(*, own: bool) -> Markup:
    """Draw a point of the scatter for its key."""
    css, shape = ("points c0", DIAMOND) if own else ("points other dots", DOT)
    return drawing("swatch", (16, 14), "", [points(css, [(8, 7)], shape)], fixed=True)
