"""Studies of faithfulness: curves over the number of concepts, and layers in the middle."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from theodolite.metrics.catalogue import catalogue
from theodolite.report.figures.lines import PlotLine, Point, chart
from theodolite.report.figures.scales import NAN
from theodolite.report.figures.svg import STYLES, swatch
from theodolite.report.words import method_text, metric_text
from theodolite_reproductions.chapters.decisions import points, power_text
from theodolite_reproductions.chapters.faithfulness_measures import metric_interval, sanity_table
from theodolite_reproductions.findings.faithfulness import (
    CurveLine,
    CurveRecord,
    LayerRow,
    LayersRecord,
    SanityRecord,
    ValueRecord,
)
from theodolite_reproductions.findings.leakage import StudyRecord


def faithfulness_studies(studies: Sequence[StudyRecord]) -> dict[str, Any] | None:
    """Return what the report shows of studies of faithfulness; None if there are none."""
    sanity = [sanity_table(study) for study in studies if isinstance(study, SanityRecord)]
    layers = [layers_table(study) for study in studies if isinstance(study, LayersRecord)]
    curves = [curve_part(study) for study in studies if isinstance(study, CurveRecord)]
    parts = {
        "sanity": [table for table in sanity if table is not None],
        "curves": [curve for curve in curves if curve is not None],
        "layers": [table for table in layers if table is not None],
    }
    return parts if any(parts.values()) else None


def curve_part(record: CurveRecord) -> dict[str, Any] | None:
    """A line per method over the number of concepts, and what its knee says."""
    if not record.lines:
        return None
    across = sorted({n for line in record.lines for n in line.concepts})
    metric = catalogue().get(record.metric)
    bounds = (-np.inf, np.inf) if metric is None else metric.bounds
    name = record.metric if metric is None else metric.title
    values = [s.value for line in record.lines for s in line.scores if s.value is not None]
    figures = []
    for start in range(0, len(record.lines), STYLES):
        batch = record.lines[start : start + STYLES]
        lines = [_line(line, style, across, record.metric) for style, line in enumerate(batch)]
        svg = chart(lines, [f"{n}" for n in across], bounds, name, within=values)
        key = [(swatch(style), method_text(line.method)) for style, line in enumerate(batch)]
        figures.append({"svg": svg, "key": key})
    better = "lower" if metric is None else metric.better
    return {
        "title": record.title,
        "name": name,
        "better": better,
        "figures": figures,
        "says": [knee_text(line, better, record.metric) for line in record.lines],
        "has_knee": any(line.knee is not None for line in record.lines),
    }


def _line(line: CurveLine, style: int, across: Sequence[int], metric: str) -> PlotLine:
    points = []
    for n, score in zip(line.concepts, line.scores, strict=True):
        value, low, high = (
            NAN if v is None else float(v) for v in (score.value, score.low, score.high)
        )
        says = f"{line.method}, {n}: {metric_text(score.value, metric)}"
        points.append(Point(across.index(n), value, low, high, says=says, ringed=n == line.knee))
    return PlotLine(line.method, style, tuple(points))


def knee_text(line: CurveLine, better: str, metric_name: str = "") -> str:
    """What more concepts gain by a method, in a sentence."""
    name = method_text(line.method)
    if line.knee is not None:
        return f"Beyond {line.knee:g} concepts {name} gains little.{_doubt(line, metric_name)}"
    known = [s.value for s in line.scores if s.value is not None]
    if len(known) < max(len(line.scores), 3):
        return f"{name}: too few numbers of concepts to find a knee."
    gain = known[-1] - known[0] if better == "higher" else known[0] - known[-1]
    if gain <= 0:
        text = f"{name} gains nothing by more concepts."
        return text + _doubt(line, metric_name)
    text = f"{name} has no knee: it goes on gaining up to {line.concepts[-1]} concepts."
    return text + _doubt(line, metric_name)


def _doubt(line: CurveLine, metric_name: str) -> str:
    """Whether the gain from the fewest to the most concepts is sure, where it was looked at."""
    if line.decision is None:
        return ""
    power = power_text(line.decision, points(metric_name))
    return (
        f" A gain from {line.concepts[0]} to {line.concepts[-1]}: {line.decision.answer} ({power})."
    )


def layers_table(record: LayersRecord) -> dict[str, Any] | None:
    """What the slope says of each layer, what it misses, and the last layer beside it."""
    if not record.rows:
        return None
    metric = catalogue().get(record.metric)
    rows = [
        {
            "layer": row.layer,
            "method": method_text(row.method),
            "cells": [
                _of_layer(row.by_slope, record.metric),
                _of_layer(row.rebuilt, record.metric),
                _of_layer(row.missed, "linearization_error"),
            ],
            "usable": row.usable,
            "judged": _slope_text(row),
            "power": power_text(row.decision, lambda share: f"{100 * share:.2g} %"),
        }
        for row in record.rows
    ]
    return {
        "title": record.title,
        "metric": record.metric if metric is None else metric.title,
        "rows": rows,
        "last": [
            (method_text(method), _of_layer(value, record.metric))
            for method, value in record.last.items()
        ],
    }


def _slope_text(row: LayerRow) -> tuple[str, str]:
    """Return whether the slope may be used: how it is marked, and in words."""
    if row.usable:
        return "yes", "✓ the slope may be used"
    answer = "contradicted" if row.decision is None else row.decision.answer
    if answer == "contradicted":
        return "no", "✗ do not use: the slope misses half of what it measures, or more"
    if answer == "not there":
        return "no", "✗ do not use: the slope misses about half of what it measures"
    return "inconclusive", f"? do not rely on it: {answer}, it may miss half of what it measures"


def _of_layer(value: ValueRecord, metric: str) -> tuple[str, str]:
    return metric_text(value.value, metric), metric_interval(value.low, value.high, metric)
