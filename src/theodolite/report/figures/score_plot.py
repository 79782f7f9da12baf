"""Scores one under the other, each on its own scale: with matplotlib, or as Vega-Lite."""

import io
import math
from collections.abc import Sequence
from typing import Any

from theodolite._storage.optional import require
from theodolite._verdicts.rules import question_text
from theodolite._verdicts.words import interval_text, percent
from theodolite.errors import EvidenceError
from theodolite.questions import QUESTIONS
from theodolite.report.figures.scales import truncate_end
from theodolite.report.figures.score_chart import COLORS, ZONES, chart_spec
from theodolite.report.figures.score_strip import StripMarks, end_text, strip_marks
from theodolite.report.words import options_text, title
from theodolite.results import Score

ROW = 0.5
"""Height of a strip in inches."""
HEAD = 1.1
"""Height of the key in inches, with what is left free."""
GAP = 1.9
"""Strips from the last of a question to the first of the next."""
BAND = 0.12
"""Half of the height of a band, of a row's."""
LEAST = 0.008
"""Share of the axis that an interval is wide at least."""
LONGEST = 48
"""Characters of a line beside a strip."""


def plot_scores(scores: Sequence[Score], by: str) -> Any:
    """A figure of matplotlib, or a chart of altair; scores in the order of the questions."""
    ordered = [s for question in QUESTIONS for s in scores if s.question == question]
    if not ordered:
        raise EvidenceError("plot", "no scores", "at least one")
    if by == "matplotlib":
        return _figure(ordered)
    if by == "altair":
        altair = require("altair", "plot('altair')", "notebook")
        return altair.Chart.from_dict(chart_spec(ordered))
    raise EvidenceError("plot", repr(by), "'matplotlib' or 'altair'")


def _figure(scores: Sequence[Score]) -> Any:
    """Made without pyplot, which would show it a second time at the end of a notebook's cell."""
    base = require("matplotlib.figure", "plot", "notebook").Figure
    heights = _heights(scores)
    figure = type("ScoreFigure", (base,), {"_repr_png_": _png})(
        figsize=(9.5, HEAD + ROW * (heights[-1] + 1)), layout="constrained"
    )
    axes = figure.subplots()
    axes.set(xlim=(-0.02, 1.02), ylim=(heights[-1] + 0.5, -GAP), xticks=[])
    axes.spines[:].set_visible(False)
    axes.set_yticks(heights, [_name(score) for score in scores], fontsize=8.5, linespacing=1.1)
    right = axes.secondary_yaxis("right")
    quoted = [percent(s.value, s) + interval_text(s) for s in scores]
    right.set_yticks(heights, quoted, fontsize=9)
    right.spines[:].set_visible(False)
    for side in (axes, right):
        side.tick_params(axis="y", length=0)
    for height, score in zip(heights, scores, strict=True):
        _draw(axes, strip_marks(score), score, height)
    for question in dict.fromkeys(score.question for score in scores):
        own = ((h, s) for h, s in zip(heights, scores, strict=True) if s.question == question)
        first, score = next(own)
        axes.text(0, first - 0.62, question_text(score), fontsize=9.5, fontweight="bold")
    _key(axes)
    return figure


def _heights(scores: Sequence[Score]) -> list[float]:
    heights, question = [], scores[0].question
    height = 0.0
    for score in scores:
        height += GAP - 1 if score.question != question else 0.0
        question = score.question
        heights.append(height)
        height += 1
    return heights


def _name(score: Score) -> str:
    lines = (title(score), options_text(score))
    return "\n".join(truncate_end(line, LONGEST) for line in lines if line)


def _png(figure: Any) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=110)
    return stream.getvalue()


def _draw(axes: Any, marks: StripMarks, score: Score, row: float) -> None:
    """As strips of the page: a band of zones, the interval over the null, the score above."""
    x = marks.axis.share
    _band(axes, (0.0, 1.0), row, "zone", 1)
    for zone in marks.zones:
        _band(axes, (zone.start, zone.end), row, f"zone-{zone.answer}", 2)
    if marks.null is not None:
        at = x(marks.null.value)
        axes.plot((at, at), (row - BAND, row + 2.4 * BAND), color=COLORS["null"], lw=2, zorder=3,
                  solid_capstyle="butt")  # fmt: skip
    if marks.interval is not None:
        start, end = sorted(map(x, marks.interval))
        missing = max(LEAST - (end - start), 0.0) / 2
        _band(axes, (start - missing, end + missing), row, "score", 4)
    if not math.isnan(marks.value):
        axes.plot(x(marks.value), row - 2.1 * BAND, marker="v", ms=7, color=COLORS["ink"], zorder=5)
    for end, side in ((marks.axis.worst, "left"), (marks.axis.best, "right")):
        axes.annotate(end_text(end, score), (x(end), row), (0, -10), textcoords="offset points",
                      ha=side, va="center", fontsize=6.5, color=COLORS["soft"])  # fmt: skip


def _band(axes: Any, ends: tuple[float, float], row: float, color: str, order: int) -> None:
    axes.fill_between(ends, row - BAND, row + BAND, color=COLORS[color], lw=0, zorder=order)


def _key(axes: Any) -> None:
    lines = require("matplotlib.lines", "plot", "notebook").Line2D
    marks: list[tuple[str, dict[str, Any]]] = [
        ("score", {"marker": "v", "color": COLORS["ink"], "ls": ""}),
        ("interval", {"color": COLORS["score"], "lw": 6}),
        ("strongest baseline",
         {"marker": "|", "ms": 11, "mew": 2, "color": COLORS["null"], "ls": ""}),
        *((zone, {"color": COLORS[f"zone-{zone}"], "lw": 6}) for zone in ZONES),
    ]  # fmt: skip
    handles = [lines([], [], label=label, **style) for label, style in marks]
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False,
                fontsize=8.5, borderaxespad=0, title="right is better →",
                title_fontsize=8.5)  # fmt: skip
