"""Helpers that all figures share: scales with round ends, histograms, and names cut to fit.

Used by the chapters of the report and by the modules of this folder that draw.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from theodolite.report.figures.svg import Number, line, text
from theodolite.results import Detail

BINS = 20
NAN = math.nan
UNLIMITED = (-math.inf, math.inf)


def truncate_end(name: str, max_chars: int = 28) -> str:
    """Return a name cut at its end."""
    max_chars = max(max_chars, 3)
    return name if len(name) <= max_chars else name[: max_chars - 1].rstrip() + "…"


def truncate_middle(name: str, max_chars: int) -> str:
    """Return a name cut in its middle: names of concepts often begin alike."""
    if len(name) <= max_chars:
        return name
    head = max(max_chars // 3, 1)
    return f"{name[:head].rstrip()}…{name[len(name) - (max_chars - head - 1) :].lstrip()}"


def wrap_name(name: str, max_chars: int) -> list[str]:
    """Wrap a name between words to at most two lines; cut it in its middle if that does not fit.

    >>> wrap_name("has_bill_shape::curved", 18)
    ['has_bill_shape::', 'curved']
    """
    if len(name) <= max_chars:
        return [name]
    ends = " _:-/"
    breaks = [i for i in range(1, max_chars + 1) if name[i - 1] in ends and name[i] not in ends]
    fitting = [i for i in breaks if len(name) - i <= max_chars]
    if not fitting:
        return [truncate_middle(name, max_chars)]
    at = min(fitting, key=lambda i: (name[i - 1] != ":", abs(2 * i - len(name))))
    return [name[:at].rstrip(), name[at:]]


@dataclass(frozen=True)
class Scale:
    """Range from ``low`` to ``high`` with round numbers as ticks."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def share(self, value: Number) -> float:
        """Return the position of a value from 0 to 1, clipped to the range."""
        inside = min(max(float(value), self.low), self.high)
        return (inside - self.low) / (self.high - self.low)

    def between(self, start: float, end: float) -> Callable[[Number], float]:
        """Return a function from values to coordinates between ``start`` and ``end``."""
        return lambda value: start + (end - start) * self.share(value)


def round_scale(
    values: Sequence[Number] | np.ndarray, bounds: tuple[float, float], *, zero: bool = True
) -> Scale:
    """Return a scale with round ends that covers the values, within their possible bounds."""
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


def _round_step(least: float) -> float:
    size = 10.0 ** math.floor(math.log10(least))
    return next(size * by for by in (1, 2, 2.5, 5, 10) if size * by >= least * (1 - 1e-9))


@dataclass(frozen=True)
class PlotFrame:
    """Position of a plot in its drawing, and the scale of its vertical axis."""

    left: float
    right: float
    top: float
    base: float
    up: Scale

    def y(self, value: Number) -> float:
        """Return the vertical coordinate of a value."""
        return self.base - (self.base - self.top) * self.up.share(value)

    def rules(self, label: Callable[[float], str]) -> str:
        """Draw a grid line and a label for each tick."""
        return "".join(
            line("grid", (self.left, self.y(t)), (self.right, self.y(t)))
            + text(label(t), self.left - 6, self.y(t) + 4, "end")
            for t in self.up.ticks
        )


def get_item_interval(detail: Detail, item: int) -> tuple[float, float] | None:
    """Return the interval of one concept, class, unit or pair; None where it has none."""
    if detail.low is None or detail.high is None:
        return None
    low, high = float(detail.low[item]), float(detail.high[item])
    return None if math.isnan(low) or math.isnan(high) else (low, high)


def tick_text(value: float, bounds: tuple[float, float]) -> str:
    """Format a tick; as a percentage if the bounds are 0 and 1."""
    if bounds == (0.0, 1.0):
        return f"{round(100 * value, 6):g} %"
    return f"{round(value, 8) + 0.0:g}".replace("-", "−")


@dataclass(frozen=True)
class Histogram:
    """Counts in bins of equal width; the SVG, page and paper figures draw the same ones."""

    edges: Float[np.ndarray, " edges"]
    counts: Int[np.ndarray, " bins"]

    @classmethod
    def of(cls, values: Float[np.ndarray, " n"], bounds: tuple[float, float]) -> "Histogram":
        """Count the values that are not NaN."""
        edges = np.linspace(*bounds, BINS + 1)
        return cls(edges, np.histogram(values[~np.isnan(values)], edges)[0])
