"""Scores one under the other as Vega-Lite: a plain specification with its data in it.

Names of scores and nulls are data, never expressions.
"""

import math
from collections.abc import Sequence
from typing import Any

from theodolite._verdicts.words import interval_text, percent
from theodolite.report.figures.score_strip import end_text, strip_marks
from theodolite.report.palette import palette
from theodolite.report.words import full_title
from theodolite.results import Score

COLORS = palette()
"""Of the page's light style: figures of matplotlib and altair have a white ground."""
SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
STEP = 36
"""Height of a strip in pixels."""
BAND = 10
"""Height of its band."""
ZONES = ("no", "partly", "yes")


def chart_spec(scores: Sequence[Score]) -> dict[str, Any]:
    """One strip per score, with what each mark is when it is pointed at."""
    rows = [row for n, score in enumerate(scores) for row in _rows(n, score)]
    titles = _distinct([full_title(score) for score in scores])
    rows = [{**row, "score": titles[row["place"]]} for row in rows]
    return {
        "$schema": SCHEMA,
        "data": {"values": rows},
        "width": 420,
        "height": {"step": STEP},
        "layer": [
            _layer("axis", _bar("zone", BAND), wide=True),
            *(_layer(answer, _bar(f"zone-{answer}", BAND), wide=True) for answer in ZONES),
            _layer("null", _tick("null", 2 * BAND, yOffset=BAND / 2)),
            _layer("interval", _bar("score", BAND, minBandSize=4), wide=True),
            _layer("quoted", {"type": "text", "align": "left", "dx": 14}, text=True),
            _layer("value", {"type": "point", "shape": "triangle-down", "filled": True, "size": 70,
                             "opacity": 1, "color": COLORS["ink"], "yOffset": -BAND}),
        ],
        "config": {"view": {"stroke": None}, "axis": {"domain": False, "ticks": False}},
    }  # fmt: skip


def _bar(color: str, size: int, **style: Any) -> dict[str, Any]:
    return {"type": "bar", "color": COLORS[color], "size": size, **style}


def _tick(color: str, size: float, **style: Any) -> dict[str, Any]:
    base = {"type": "tick", "color": COLORS[color], "size": size, "thickness": 2, "opacity": 1}
    return base | style


def _distinct(titles: Sequence[str]) -> list[str]:
    """A second score of one title is numbered: each has a strip of its own."""
    return [
        title if title not in titles[:place] else f"{title} ({titles[:place].count(title) + 1})"
        for place, title in enumerate(titles)
    ]


def _layer(
    mark: str, style: dict[str, Any], *, wide: bool = False, text: bool = False
) -> dict[str, Any]:
    x = {"field": "x", "type": "quantitative", "scale": {"domain": [0, 1]}, "axis": None}
    y = {
        "field": "score", "type": "nominal", "sort": None, "title": None,
        "axis": {"labelLimit": 360, "labelPadding": 12},
    }  # fmt: skip
    says = {"field": "says", "type": "nominal"}
    encoding: dict[str, Any] = {"x": x, "y": y, ("text" if text else "tooltip"): says}
    return {
        "transform": [{"filter": {"field": "mark", "equal": mark}}],
        "mark": style,
        "encoding": encoding | ({"x2": {"field": "x2"}} if wide else {}),
    }


def _rows(place: int, score: Score) -> list[dict[str, Any]]:
    """The marks of one score as shares of its axis, and what each says."""
    marks = strip_marks(score)
    x = marks.axis.share
    ends = " to ".join(end_text(end, score) for end in (marks.axis.worst, marks.axis.best))
    quoted = percent(score.value, score) + interval_text(score)
    axis = f"axis {ends}, right is better"
    rows: list[dict[str, Any]] = [{"mark": "axis", "x": 0.0, "x2": 1.0, "says": axis}]
    rows += [{"mark": z.answer, "x": z.start, "x2": z.end, "says": z.answer} for z in marks.zones]
    if marks.null is not None:
        says = f"{marks.null.name}: {percent(marks.null.value, score)}"
        rows.append({"mark": "null", "x": x(marks.null.value), "says": says})
    if marks.interval is not None:
        start, end = sorted(map(x, marks.interval))
        rows.append({"mark": "interval", "x": start, "x2": end, "says": quoted})
    if not math.isnan(marks.value):
        rows.append({"mark": "value", "x": x(marks.value), "says": quoted})
        rows.append({"mark": "quoted", "x": 1.0, "says": quoted})
    return [{**row, "place": place} for row in rows]
