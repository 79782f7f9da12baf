"""Figures as SVG: drawn here, so that they are sharp, small, and follow the page's colours."""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from markupsafe import Markup, escape

from theodolite.report.chapters.clean import accepted_line, looks_for_a_fault
from theodolite.report.svg import Number, line, px, round_scale, shortened
from theodolite.results import Detail, Score
from theodolite.verdicts.rules import enough_line, percent

FAR = 3.0
"""A null that lies so many times farther out than what must be seen is a tip at the end."""


def ends_of(score: Score) -> tuple[float, float]:
    """Ends of a scale for the score: its bounds, or round numbers around what is shown."""
    if all(math.isfinite(end) for end in score.bounds):
        return score.bounds
    shown = [score.value, score.best, *(null.value for null in score.nulls[:1])]
    if score.interval is not None:
        shown += [score.interval.low, score.interval.high]
    shown = [v for v in shown if math.isfinite(v)]
    if shown:  # a null that is far off would squeeze what matters into a corner
        reach = FAR * max(max(shown) - min(shown), 1e-9)
        near = (min(shown) - reach, max(shown) + reach)
        shown += [null.value for null in score.nulls if near[0] <= null.value <= near[1]]
    scale = round_scale(shown, score.bounds)
    return scale.low, scale.high


class _Scale:
    """Where numbers of a score's range lie on a drawing."""

    def __init__(self, score: Score, width: float, middle: float) -> None:
        self.low, self.high = ends_of(score)
        self.left, self.right, self.middle = 6.0, width - 6.0, middle

    def x(self, value: float) -> float:
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.left + (self.right - self.left) * share

    def mark(self, css: str, value: float, reach: float, says: str = "") -> str:
        """An upright line at a value."""
        if math.isnan(value):
            return ""
        at, up, down = px(self.x(value)), px(self.middle - reach), px(self.middle + reach)
        title = f"<title>{escape(says)}</title>" if says else ""
        return f'<line class="{css}" x1="{at}" x2="{at}" y1="{up}" y2="{down}">{title}</line>'

    def is_beyond(self, value: float) -> bool:
        """Whether a value lies off the scale."""
        slack = 1e-6 * (self.high - self.low)
        return value < self.low - slack or value > self.high + slack

    def tip(self, value: float, says: str) -> str:
        """A tip at the end of the scale for a null that lies farther out."""
        way = 1 if value > self.high else -1
        d = f"M{px(self.x(value) + 5 * way)} {px(self.middle)}l{-6 * way} -4v8z"
        return f'<path class="farther" d="{d}"><title>{escape(says)}</title></path>'

    def text(self, css: str, value: float, y: float, says: str) -> str:
        share = (self.x(value) - self.left) / (self.right - self.left)
        anchor = "end" if share > 0.6 else "start" if share < 0.4 else "middle"
        place = f'x="{px(self.x(value))}" y="{px(y)}" text-anchor="{anchor}"'
        return f'<text class="{css}" {place}>{escape(says)}</text>'


def strip(score: Score, *, width: int = 260, labels: bool = False) -> Markup:
    """A score on its scale: a dot, its interval, a tick for each null, a line for enough.

    Where the score looks for a fault, the ticks are clean nulls and the line is what we accept.
    """
    height, middle = (58, 28.0) if labels else (22, 11.0)
    scale = _Scale(score, width, middle)
    parts = [f'<line class="axis" x1="6" x2="{width - 6}" y1="{middle}" y2="{middle}"/>']
    if scale.low < 0 < scale.high:
        parts.append(scale.mark("axis", 0.0, 4))
    parts += _limits(score, scale)
    if score.interval is not None:
        a, b = scale.x(score.interval.low), scale.x(score.interval.high)
        parts.append(
            f'<rect class="interval" x="{px(a)}" y="{px(middle - 4)}" '
            f'width="{px(max(b - a, 1.5))}" height="8" rx="2"/>'
        )
    if not math.isnan(score.value):
        parts.append(f'<circle class="dot" cx="{px(scale.x(score.value))}" cy="{middle}" r="4.5"/>')
    if labels:
        for end in ends_of(score):
            says = percent(end, score).replace(".0 %", " %").removesuffix(".00")
            parts.append(scale.text("label end", end, middle - 12, says))
        if score.null is not None and not math.isnan(score.null.value):
            parts.append(scale.text("label", score.null.value, middle + 22, score.null.name))
    ends = " to ".join(percent(end, score) for end in ends_of(score))
    said = f"{percent(score.value, score)} on a scale from {ends}"
    return Markup(  # noqa: S704  numbers and escaped names only
        f'<svg class="strip" role="img" aria-label="{escape(said)}" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}">{"".join(parts)}</svg>'
    )


def _limits(score: Score, scale: _Scale) -> list[str]:
    """The nulls, and from where on or up to where we would rely on the score."""
    clean = looks_for_a_fault(score)
    limit = accepted_line(score) if clean else enough_line(score)
    parts = []
    if limit is not None and clean and score.null is not None:
        a, b = scale.x(score.null.value), scale.x(limit)
        parts.append(
            f'<rect class="accepted" x="{px(a)}" y="{px(scale.middle - 9)}" '
            f'width="{px(b - a)}" height="18"/>'
        )
    if limit is not None:
        says = f"{'accepted up to' if clean else 'enough:'} {percent(limit, score)}"
        parts.append(scale.mark("enough", limit, 9, says))
    for null in score.nulls:
        says = f"{null.name}: {percent(null.value, score)}"
        if scale.is_beyond(null.value):
            parts.append(scale.tip(null.value, says))
        else:
            parts.append(scale.mark("null clean" if clean else "null", null.value, 7, says))
    return parts


def beside_zero(value: float | None, low: float | None, high: float | None, reach: float) -> Markup:
    """A difference or a correlation with its interval, on a line from minus to plus ``reach``."""
    width, middle = 150, 11.0

    def x(number: float) -> float:
        return 75 + 69 * min(max(number / reach, -1.0), 1.0)

    parts = [line("axis", (6, middle), (144, middle)), line("middle", (75, 2), (75, 20))]
    if low is not None and high is not None:
        parts.append(
            f'<rect class="interval" x="{px(x(low))}" y="7" '
            f'width="{px(max(x(high) - x(low), 1.5))}" height="8" rx="2"/>'
        )
    if value is not None:
        parts.append(f'<circle class="dot" cx="{px(x(value))}" cy="{middle}" r="4.5"/>')
    return Markup(  # noqa: S704  numbers only
        f'<svg class="strip" aria-hidden="true" width="{width}" height="22" '
        f'viewBox="0 0 {width} 22">{"".join(parts)}</svg>'
    )


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
    width, height, left, base = 300, 150, 16, 118
    bins = np.linspace(*bounds, 21)
    counts, _ = np.histogram(values[~np.isnan(values)], bins)
    ours = counts / max(counts.sum(), 1)
    theirs = np.asarray(paper, float)
    theirs = theirs / max(theirs.sum(), 1) if len(theirs) == len(ours) else np.zeros(0)
    tallest = max(float(ours.max(initial=0)), float(theirs.max(initial=0)), 1e-9)
    step = (width - 2 * left) / len(ours)

    def y(share: Number) -> float:
        return base - 92 * float(share) / tallest

    bars = "".join(
        f'<rect class="bar" x="{px(left + i * step + 0.7)}" y="{px(y(share))}" '
        f'width="{px(step - 1.4)}" height="{px(base - y(share))}">'
        f"<title>{bins[i]:.2f} to {bins[i + 1]:.2f}: {counts[i]} {escape(over)}</title></rect>"
        for i, share in enumerate(ours)
        if share
    )
    outline = ""
    if len(theirs):
        points: list[tuple[float, float]] = [(left, base)]
        for i, share in enumerate(theirs):
            points += [(left + i * step, y(share)), (left + (i + 1) * step, y(share))]
        points.append((width - left, base))
        joined = " ".join(f"{px(a)},{px(b)}" for a, b in points)
        outline = f'<polyline class="paper" points="{joined}"/>'
    ticks = "".join(
        f'<line class="axis" x1="{px(at)}" x2="{px(at)}" y1="{base}" y2="{base + 4}"/>'
        f'<text class="label" x="{px(at + 12 * beside)}" y="{base + 17}" '
        f'text-anchor="{anchor}">{mark:.3g}</text>'
        # the outermost may be long: they begin and end with the figure
        for share, anchor, beside in (
            (0, "start", -1),
            (0.25, "middle", 0),
            (0.5, "middle", 0),
            (0.75, "middle", 0),
            (1, "end", 1),
        )
        for mark in [bounds[0] + share * (bounds[1] - bounds[0])]
        for at in [left + (width - 2 * left) * share]
    )
    zero = px(left + (width - 2 * left) * -bounds[0] / (bounds[1] - bounds[0]))
    return Markup(  # noqa: S704
        f'<svg class="histogram" role="img" aria-label="{escape(caption)}" '
        f'viewBox="0 0 {width} {height}">'
        f'<line class="zero" x1="{zero}" x2="{zero}" y1="14" y2="{base}"/>{bars}{outline}'
        f'<line class="axis" x1="{left}" x2="{width - left}" y1="{base}" y2="{base}"/>{ticks}</svg>'
    )


def bars(names: Sequence[str], values: Float[np.ndarray, " n"]) -> Markup:
    """A few named values between -1 and 1, as bars from zero."""
    said = ", ".join(f"{name} {value:.2f}" for name, value in zip(names, values, strict=True))
    rows = []
    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        y = 4 + i * 18
        zero, reach = 262, 80
        start = zero + reach * min(float(value), 0.0)
        sign = "down" if value < 0 else "up"
        rows.append(
            f'<text class="label" x="172" y="{y + 11}" text-anchor="end">'
            f"{escape(shortened(name))}</text>"
            f'<rect class="bar {sign}" x="{px(start)}" y="{y + 2}" '
            f'width="{px(max(reach * abs(float(value)), 1))}" height="11"/>'
            f'<text class="label" x="372" y="{y + 11}" text-anchor="end">{value:+.2f}</text>'
        )
    height = 8 + 18 * len(names)
    return Markup(  # noqa: S704
        f'<svg class="bars" role="img" aria-label="{escape(said)}" viewBox="0 0 376 {height}">'
        f'<line class="zero" x1="262" x2="262" y1="2" y2="{height - 2}"/>{"".join(rows)}</svg>'
    )


def curve(
    x: Float[np.ndarray, " n"],
    middle: Float[np.ndarray, " n"],
    spread: Float[np.ndarray, " n"],
    caption: str,
) -> Markup:
    """A line with a band around it, on a scale from 0 to 100 %."""
    width, height, left, base, top = 340, 180, 40, 150, 12
    step = (width - left - 14) / max(len(x) - 1, 1)
    tallest = float(np.nanmax(middle + spread, initial=0.0))
    most = next((nice for nice in (0.02, 0.04, 0.1, 0.2, 0.4, 0.6, 0.8) if tallest <= nice), 1.0)

    def place(i: int, value: Number) -> str:
        share = min(max(float(value), 0.0), most) / most
        return f"{px(left + i * step)},{px(base - (base - top) * share)}"

    there = [i for i in range(len(x)) if not math.isnan(middle[i])]
    over = [place(i, middle[i] + spread[i]) for i in there]
    under = [place(i, middle[i] - spread[i]) for i in reversed(there)]
    joined = " ".join(place(i, middle[i]) for i in there)
    marks = "".join(
        f'<circle class="dot" cx="{p.split(",")[0]}" cy="{p.split(",")[1]}" r="2.6">'
        f"<title>{x[i]:g}: {100 * middle[i]:.1f} %</title></circle>"
        for i in there
        for p in [place(i, middle[i])]
    )
    across = "".join(
        f'<text class="label" x="{px(left + i * step)}" y="{base + 16}" text-anchor="middle">'
        f"{x[i]:g}</text>"
        for i in range(len(x))
    )
    up = "".join(
        f'<line class="grid" x1="{left}" x2="{width - 14}" y1="{px(y)}" y2="{px(y)}"/>'
        f'<text class="label" x="{left - 6}" y="{px(y + 4)}" text-anchor="end">'
        f"{100 * share * most:.0f} %</text>"
        for share in (0, 0.5, 1)
        for y in [base - (base - top) * share]
    )
    return Markup(  # noqa: S704
        f'<svg class="curve" role="img" aria-label="{escape(caption)}" '
        f'viewBox="0 0 {width} {height}">{up}{across}'
        f'<polygon class="band" points="{" ".join(over + under)}"/>'
        f'<polyline class="line" points="{joined}"/>{marks}</svg>'
    )


def columns(labels: Sequence[str], counts: Float[np.ndarray, " n"], caption: str) -> Markup:
    """Counts as upright bars, each with its number."""
    width, left, base, top = 340, 14, 150, 20
    step = (width - 2 * left) / max(len(labels), 1)
    tallest = max(float(counts.max(initial=0.0)), 1.0)
    bars = ""
    for i, (label, number) in enumerate(zip(labels, counts, strict=True)):
        tall = (base - top) * float(number) / tallest
        middle = px(left + (i + 0.5) * step)
        bars += (
            f'<rect class="bar" x="{px(left + i * step + 2)}" y="{px(base - tall)}" '
            f'width="{px(step - 4)}" height="{px(tall)}"/>'
            f'<text class="label" x="{middle}" y="{base + 16}" text-anchor="middle">'
            f"{escape(label)}</text>"
        )
        if number:
            bars += (
                f'<text class="label" x="{middle}" y="{px(base - tall - 5)}" text-anchor="middle">'
                f"{int(number)}</text>"
            )
    return Markup(  # noqa: S704
        f'<svg class="curve" role="img" aria-label="{escape(caption)}" viewBox="0 0 {width} 180">'
        f'<line class="axis" x1="{left}" x2="{width - left}" y1="{base}" y2="{base}"/>{bars}</svg>'
    )
