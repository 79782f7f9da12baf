"""Figures of faithfulness: errors by class, outputs against outputs, what a concept adds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from markupsafe import Markup, escape

from theodolite.report.svg import Scale, drawing, line, px, squeezed, text, tick_text

UNLIMITED = (-math.inf, math.inf)
DOT, DIAMOND = "h0", "m0-3l3 3l-3 3l-3-3z"
NAME = 20
"""How many letters of a class's name fit beside its bar."""


@dataclass(frozen=True)
class Pairs:
    """Outputs of the network and of an explanation, of the same samples and classes."""

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

    def x(value: float) -> float:
        return left + (right - left) * scale.share(value)

    parts = []
    for t in scale.ticks:
        parts.append(line("grid", (x(t), top), (x(t), base)))
        parts.append(text(tick_text(t, UNLIMITED), x(t), base + 16))
    for i, name in enumerate(names):
        y, error, null = top + i * row, float(errors[i]), float(nulls[i])
        says = f"{name}: {error:.2f}; always the average: {null:.2f}"
        css = "bar down" if error > null else "bar"
        parts.append(text(squeezed(name, NAME), left - 8, y + 13, "end"))
        parts.append(
            f'<rect class="{css}" x="{px(left)}" y="{px(y + 3)}" '
            f'width="{px(max(x(error) - left, 0.8))}" height="12">'
            f"<title>{escape(says)}</title></rect>"
        )
        parts.append(line("null", (x(null), y + 1), (x(null), y + 17)))
        parts.append(text(f"{error:,.2f}", 372, y + 13, "end", "label strong"))
    return drawing("panel", (376, base + 22), caption, parts)


def scatter(pairs: Pairs, scale: Scale, caption: str) -> Markup:
    """Outputs of an explanation over those of the network, on one scale; equal on the diagonal.

    What lies beyond the scale is drawn at the edge.
    """
    left, right, top, base = 44.0, 290.0, 20.0, 266.0

    def place(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        inside = np.clip(values, scale.low, scale.high)
        return np.asarray((inside - scale.low) / (scale.high - scale.low))

    across = left + (right - left) * place(pairs.network)
    up = base - (base - top) * place(pairs.explanation)
    frame = f'x="{px(left)}" y="{px(top)}" width="{px(right - left)}" height="{px(base - top)}"'
    parts = [f'<rect class="cell" {frame}/>']
    for t in scale.ticks:
        share = scale.share(t)
        x, y = left + (right - left) * share, base - (base - top) * share
        parts.append(line("grid", (x, top), (x, base)) + line("grid", (left, y), (right, y)))
        parts.append(text(tick_text(t, UNLIMITED), x, base + 16))
        parts.append(text(tick_text(t, UNLIMITED), left - 6, y + 4, "end"))
    parts.append(_dots(across[~pairs.own], up[~pairs.own], "points other dots", DOT))
    parts.append(line("diagonal", (left, base), (right, top)))
    parts.append(_dots(across[pairs.own], up[pairs.own], "points c0", DIAMOND))
    parts.append(text("explanation puts out", 2, 12, "start"))
    parts.append(text("network puts out", right, base + 33, "end"))
    return drawing("panel", (302, 304), caption, parts)


def _dots(x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"], css: str, shape: str) -> str:
    if not len(x):
        return ""
    d = "".join(f"M{px(a)} {px(b)}{shape}" for a, b in zip(x, y, strict=True))
    return f'<path class="{css}" d="{d}"/>'


def dot_swatch(*, own: bool) -> Markup:
    """A point of the scatter, for its key."""
    css, shape = ("points c0", DIAMOND) if own else ("points other dots", DOT)
    return Markup(  # noqa: S704  numbers only
        '<svg class="swatch" aria-hidden="true" width="16" height="14">'
        f'<path class="{css}" d="M8 7{shape}"/></svg>'
    )


def added(value: float, low: float, high: float) -> Markup:
    """What a concept adds, as a bar from zero on a line that holds all of them."""
    width = 120.0
    span = high - low or 1.0

    def x(number: float) -> float:
        return 2 + (width - 4) * (number - low) / span

    start, end = sorted((x(0.0), x(value)))
    bar = (
        f'<rect class="bar{" down" if value < 0 else ""}" x="{px(start)}" y="2" '
        f'width="{px(max(end - start, 1.0))}" height="10"/>'
    )
    return Markup(  # noqa: S704  numbers only
        f'<svg class="added" aria-hidden="true" width="{width:.0f}" height="14">'
        f"{bar}{line('middle', (x(0.0), 0), (x(0.0), 14))}</svg>"
    )
