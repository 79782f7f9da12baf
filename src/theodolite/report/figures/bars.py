"""Counts and values as bars: histograms, columns, bars from zero."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from markupsafe import Markup

from theodolite.report.figures.scales import Histogram, shortened
from theodolite.report.figures.svg import Number, box, drawing, line, polyline, text
from theodolite.results import Detail

TICKS = ((0, "start", -1), (0.25, "middle", 0), (0.5, "middle", 0), (0.75, "middle", 0),
         (1, "end", 1))  # fmt: skip
"""Share of the axis, anchor and side: the outermost may be long and end with the figure."""


def histogram(
    detail: Detail, bounds: tuple[float, float], caption: str, paper: Sequence[int] = ()
) -> Markup:
    """How the scores of concepts or classes are spread; the paper's counts as an outline."""
    return spread(detail.values, detail.over, bounds, caption, paper)


def spread(
    values: Float[np.ndarray, " n"],
    over: str,
    bounds: tuple[float, float],
    caption: str,
    paper: Sequence[int] = (),
) -> Markup:
    """The same of any values; ``over`` says what they belong to."""
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


def bars(names: Sequence[str], values: Float[np.ndarray, " n"]) -> Markup:
    """A few named values between -1 and 1, as bars from zero."""
    zero, reach, height = 262, 80, 8 + 18 * len(names)
    caption = ", ".join(f"{name} {value:.2f}" for name, value in zip(names, values, strict=True))
    parts = [line("zero", (zero, 2), (zero, height - 2))]
    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        y = 4 + i * 18
        start = zero + reach * min(float(value), 0.0)
        size = (max(reach * abs(float(value)), 1), 11)
        parts += [
            text(shortened(name), 172, y + 11, "end"),
            box(f"bar {'down' if value < 0 else 'up'}", (start, y + 2), size),
            text(f"{value:+.2f}", 372, y + 11, "end"),
        ]
    return drawing("bars", (376, height), caption, parts)


def columns(labels: Sequence[str], counts: Float[np.ndarray, " n"], caption: str) -> Markup:
    """Counts as upright bars, each with its number."""
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


def added(value: float, low: float, high: float) -> Markup:
    """What a concept adds, as a bar from zero on a line that holds all of them."""
    width = 120.0
    span = high - low or 1.0

    def x(number: float) -> float:
        return 2 + (width - 4) * (number - low) / span

    start, end = sorted((x(0.0), x(value)))
    css = "bar down" if value < 0 else "bar"
    bar = box(css, (start, 2), (max(end - start, 1.0), 10))
    zero = line("middle", (x(0.0), 0), (x(0.0), 14))
    return drawing("added", (width, 14), "", [bar, zero], fixed=True)
