"""Scores one under the other as Vega-Lite: a plain specification with its data in it.

Names of scores and nulls are data, never expressions.
"""

import math
from collections.abc import Sequence
from typing import Any

from theodolite.report.figures.score_strip import ScoreStrip, end_text, score_strip
from theodolite.report.palette import palette
from theodolite.report.words import full_title
from theodolite.results import Score
from theodolite.verdicts.words import interval_text, percent

COLOURS = palette() | {"clean": palette()["yes"]}
"""Of the page's light style: figures of matplotlib and altair have a white ground."""
SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
STEP = 30
"""Height of a strip in pixels."""


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
            _layer("scale", {"type": "rule", "color": COLOURS["line"]}, wide=True),
            _layer("accepted", _bar("clean", 18, opacity=0.22), wide=True),
            _layer("interval", _bar("band", 9), wide=True),
            _layer("limit", _tick("soft", 20)),
            _layer("best", {"type": "point", "shape": "diamond", "color": COLOURS["soft"]}),
            _layer("null", _tick("null", 15)),
            _layer("clean null", _tick("clean", 15)),
            _layer("quoted", {"type": "text", "align": "left", "dx": 14}, text=True),
            _layer("value", {"type": "circle", "size": 80, "opacity": 1,
                             "color": COLOURS["score"]}),
        ],
        "config": {"view": {"stroke": None}, "axis": {"domain": False, "ticks": False}},
    }  # fmt: skip


def _bar(colour: str, size: int, **style: Any) -> dict[str, Any]:
    return {"type": "bar", "color": COLOURS[colour], "size": size, **style}


def _tick(colour: str, size: int) -> dict[str, Any]:
    return {"type": "tick", "color": COLOURS[colour], "size": size, "thickness": 2, "opacity": 1}


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
    """The marks of one score as shares of its scale, and what each says."""
    marks = score_strip(score)
    x = marks.scale.share
    ends = " to ".join(end_text(end, score) for end in (marks.scale.low, marks.scale.high))
    quoted = percent(score.value, score) + interval_text(score)
    rows: list[dict[str, Any]] = [
        {"mark": "scale", "x": 0.0, "x2": 1.0, "says": f"scale from {ends}"}
    ]
    spans = {"accepted": marks.accepted, "interval": marks.interval}
    for name, span in spans.items():
        if span is not None:
            says = quoted if name == "interval" else marks.limit_title
            rows.append({"mark": name, "x": x(span[0]), "x2": x(span[1]), "says": says})
    spots = [("limit", marks.limit, marks.limit_title), ("best", marks.best, _best(marks, score)),
             ("value", marks.value, quoted), ("quoted", marks.scale.high, quoted)]  # fmt: skip
    kind = "clean null" if marks.clean else "null"
    spots += [(kind, null.value, null.title) for null in marks.nulls]
    for name, value, says in spots:
        if value is not None and not math.isnan(value):
            rows.append({"mark": name, "x": x(value), "says": says})
    return [{**row, "place": place} for row in rows]


def _best(marks: ScoreStrip, score: Score) -> str:
    return "" if marks.best is None else f"best possible: {percent(marks.best, score)}"
