"""Scores one under the other, each on its own scale: with matplotlib, or as Vega-Lite."""

import io
import math
from collections.abc import Sequence
from typing import Any

from theodolite.errors import EvidenceError
from theodolite.io.optional import require
from theodolite.questions import QUESTIONS
from theodolite.report.figures.scales import shortened
from theodolite.report.figures.score_chart import COLOURS, chart_spec
from theodolite.report.figures.score_strip import ScoreStrip, end_text, score_strip
from theodolite.report.words import options_text, title
from theodolite.results import Score
from theodolite.verdicts.words import interval_text, percent

ROW = 0.42
"""Height of a strip in inches."""
HEAD = 1.1
"""Height of the key in inches, with what is left free."""
GAP = 1.9
"""Strips from the last of a question to the first of the next."""
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
        _draw(axes, score_strip(score), score, height)
    for question in dict.fromkeys(score.question for score in scores):
        first = next(h for h, s in zip(heights, scores, strict=True) if s.question == question)
        axes.text(0, first - 0.62, QUESTIONS[question], fontsize=9.5, fontweight="bold")
    _key(axes, [score_strip(score) for score in scores])
    return figure


def _heights(scores: Sequence[Score]) -> list[float]:
    """Where each strip lies, with room above the first of each question."""
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
    return "\n".join(shortened(line, LONGEST) for line in lines if line)


def _png(figure: Any) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=110)
    return stream.getvalue()


def _draw(axes: Any, marks: ScoreStrip, score: Score, row: float) -> None:
    x = marks.scale.share
    axes.plot((0, 1), (row, row), color=COLOURS["line"], lw=1.2, zorder=1)
    if marks.accepted is not None:
        start, end = map(x, marks.accepted)
        axes.fill_between((start, end), row - 0.3, row + 0.3, color=COLOURS["clean"], alpha=0.22,
                          lw=0, zorder=1)  # fmt: skip
    if marks.limit is not None:
        _tick(axes, x(marks.limit), row, 0.3, color=COLOURS["soft"], ls=(0, (2, 2)), lw=1.2)
    if marks.best is not None:
        axes.plot(x(marks.best), row, marker="D", ms=6, mfc="none", mec=COLOURS["soft"], zorder=4)
    if marks.interval is not None:
        axes.plot([x(end) for end in marks.interval], (row, row), color=COLOURS["band"], lw=7,
                  solid_capstyle="butt", zorder=2)  # fmt: skip
    colour = COLOURS["clean" if marks.clean else "null"]
    for null in marks.nulls:
        if null.beyond:
            tip = ">" if null.beyond > 0 else "<"
            axes.plot(x(null.value), row, marker=tip, ms=6, color=colour, zorder=3)
        else:
            _tick(axes, x(null.value), row, 0.24, color=colour, lw=2)
    if not math.isnan(marks.value):
        axes.plot(x(marks.value), row, marker="o", ms=7, color=COLOURS["score"], zorder=5)
    for end, side in ((marks.scale.low, "left"), (marks.scale.high, "right")):
        axes.annotate(end_text(end, score), (x(end), row), (0, -9), textcoords="offset points",
                      ha=side, va="center", fontsize=6.5, color=COLOURS["soft"])  # fmt: skip


def _tick(axes: Any, x: float, row: float, reach: float, **style: Any) -> None:
    axes.plot((x, x), (row - reach, row + reach), zorder=3, solid_capstyle="butt", **style)


def _key(axes: Any, strips: Sequence[ScoreStrip]) -> None:
    """What the marks mean, of those that there are."""
    lines = require("matplotlib.lines", "plot", "notebook").Line2D
    clean, others = [m for m in strips if m.clean], [m for m in strips if not m.clean]
    soft = COLOURS["soft"]
    dashed = any(m.limit is not None for m in strips)
    marks: list[tuple[bool, str, dict[str, Any]]] = [
        (True, "score", {"marker": "o", "color": COLOURS["score"], "ls": ""}),
        (any(m.interval is not None for m in strips), "interval",
         {"color": COLOURS["band"], "lw": 7}),
        (any(len(m.nulls) > 0 for m in others), "null baseline",
         {"marker": "|", "ms": 11, "mew": 2, "color": COLOURS["null"], "ls": ""}),
        (any(len(m.nulls) > 0 for m in clean), "clean null, not to be exceeded",
         {"marker": "|", "ms": 11, "mew": 2, "color": COLOURS["clean"], "ls": ""}),
        (dashed, "enough, or most that we accept", {"color": soft, "ls": (0, (2, 2)), "lw": 1.2}),
        (any(m.best is not None for m in strips), "best possible",
         {"marker": "D", "mfc": "none", "mec": soft, "ls": ""}),
    ]  # fmt: skip
    handles = [lines([], [], label=label, **style) for there, label, style in marks if there]
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False,
                fontsize=8.5, borderaxespad=0)  # fmt: skip
