"""Table with one row for each concept, unit or method, the worst first, with small strips."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from markupsafe import Markup

from theodolite._runs.report_material import RunMaterial
from theodolite._verdicts.scores_file import ComparedRecord, score_named, score_of
from theodolite._verdicts.words import percent
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics.catalogue import catalogue
from theodolite.metrics.shared.ranking import (
    compute_importance,
    find_eligible,
    get_population_mask,
    select_top_eligible,
)
from theodolite.report.figures.scales import get_item_interval
from theodolite.report.figures.score_strip import end_text, strip_axis
from theodolite.report.figures.strips import item_strips, shared_strips
from theodolite.report.sentences import CONCEPTS
from theodolite.report.words import full_title, method_text, unbroken, value_text, worst_first
from theodolite.results import Detail, Interval, Null, Score, Verdict

COLUMNS = 3
FIRST_ROWS, FIRST_ROWS_ALONE = 15, 10
"""Number of rows that are shown, with images and without; the others are folded."""
MOST_ROWS = 200
"""More are in the explorer, page by page."""
AXES = (CONCEPTS, "units", "latents", "features", "attributes", "classes")
"""What a row may be, the most telling first."""
NAMED = "present when named"


@dataclass(frozen=True)
class ItemColumn:
    """Score of every single item."""

    title: str
    hint: str
    ends: tuple[str, str]
    """Of the axis that all its strips share: worst and best."""
    scores: Mapping[str, Score]
    """By the item's name."""
    strips: Mapping[str, Markup]
    counts: Mapping[str, int] | None = None
    """Of how many samples each is."""


def _column(title: str, scores: Mapping[str, Score], **more: Any) -> ItemColumn:
    """Return strips on one axis, each with its own baseline."""
    some = list(scores.values())
    axis = strip_axis(some)
    ends = end_text(axis.worst, some[0]), end_text(axis.best, some[0])
    strips = dict(zip(scores, shared_strips(some), strict=True))
    return ItemColumn(title, some[0].metric, ends, scores, strips, **more)


def one_by_one(
    material: RunMaterial,
    scores: Sequence[Score],
    verdicts: Sequence[Verdict],
    models: Sequence[ComparedRecord],
    noun: str,
) -> dict[str, Any] | None:
    """The rows of the page; None if no score was had of single items."""
    deciding = [v.score for v in worst_first(verdicts) if v.score is not None]
    beside = {name for score in deciding for name in catalogue()[score.metric].judged_with}
    read = [*deciding, *(score for score in scores if score.metric in beside)]
    axis, columns = _of_items(material, read, scores)
    if not columns and len(models) > 1:
        axis, columns = "methods", _of_models(models, deciding)
    if not columns:
        return None
    names = list(dict.fromkeys(name for column in columns for name in column.scores))
    names = _ordered(names, columns)
    rows = [_row(name, columns, axis) for name in names[:MOST_ROWS]]
    what = noun if axis == CONCEPTS else axis
    first = FIRST_ROWS if material.made_record.examples else FIRST_ROWS_ALONE
    return {
        "title": f"{_one(what).capitalize()} by {_one(what)}",
        "what": what,
        "one": _one(what),
        "columns": columns,
        "lede": f"{_listed(columns)}. Worst first; in all columns right is better.",
        "rows": rows[:first],
        "more": rows[first:],
        "left_out": len(names) - len(rows),
    }


def _one(noun: str) -> str:
    return "class" if noun == "classes" else noun.removesuffix("s")


def _listed(columns: Sequence[ItemColumn]) -> str:
    titles = "; ".join(column.title for column in columns)
    return f"{titles[:1].upper()}{titles[1:]}"


def _of_items(
    material: RunMaterial, deciding: Sequence[Score], scores: Sequence[Score]
) -> tuple[str, list[ItemColumn]]:
    """Scores with detail on one axis: those that decide first, one of each metric."""
    detailed = [s for s in (*deciding, *scores) if s.detail is not None and len(s.detail.names) > 1]
    named = _named_column(material, deciding)
    axes = [s.detail.over for s in detailed if s.detail is not None]
    axis = min(dict.fromkeys(axes), key=_rank, default="")
    if named is not None and _rank(axis) > 0:
        axis = CONCEPTS
    own = {
        s.metric: s for s in reversed(detailed) if s.detail is not None and s.detail.over == axis
    }
    chosen = [own[name] for name in dict.fromkeys(s.metric for s in detailed) if name in own]
    columns = [_detail_column(s, s.detail) for s in chosen if s.detail is not None]
    if named is not None and axis == CONCEPTS:
        columns.insert(0, named)
    if not any(s.metric in own for s in deciding) and named is None:
        return "", []  # nothing that an answer was read from
    return axis, columns[:COLUMNS]


def _rank(axis: str) -> int:
    return AXES.index(axis) if axis in AXES else len(AXES)


def _detail_column(score: Score, detail: Detail) -> ItemColumn:
    items = item_strips(score)
    scores = {
        name: _item(score, float(detail.values[i]), get_item_interval(detail, i))
        for i, name in enumerate(detail.names)
    }
    strips = dict(zip(detail.names, items.strips, strict=True))
    return ItemColumn(_title(score), score.metric, items.ends, scores, strips)


def _title(score: Score) -> str:
    title = full_title(score)
    return title[:1].lower() + title[1:] if title[1:2].islower() else title


def _item(score: Score, value: float, ends: tuple[float, float] | None) -> Score:
    """The score of one item, on the scale of the score of all."""
    level = score.interval.level if score.interval is not None else 0.95
    intervals = () if ends is None else (Interval(*ends, level, "samples", "", 0),)
    return replace(score, value=value, intervals=intervals, nulls=score.nulls[:1], detail=None)


def _named_column(material: RunMaterial, deciding: Sequence[Score]) -> ItemColumn | None:
    """How often a concept is there when it is named; without knowledge, as often as it is there at
    all."""
    score = next((s for s in deciding if s.metric == "concept_existence"), None)
    if score is None:
        return None
    evidence: Any = material.evidence("concept", material.record.spec.seeds[0])
    if not isinstance(evidence, ConceptEvidence) or evidence.truth is None:
        return None
    defaults = catalogue()[score.metric].options()  # a stored score may know fewer
    named, there, common = named_and_there(evidence, defaults | score.options)
    names = evidence.concepts.names
    counted = [j for j in range(len(names)) if named[j]]
    scores = {
        names[j]: replace(
            score, value=float(there[j] / named[j]), best=1.0, intervals=(), detail=None,
            nulls=(Null("at the base rate", float(common[j]), None),),
        )
        for j in counted
    }  # fmt: skip
    counts = {name: int(n) for name, n in zip(names, named, strict=True)}
    return _column(NAMED, scores, counts=counts) if scores else None


def named_and_there(
    evidence: ConceptEvidence, options: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How often each concept is among those named first, how often it is then there, and in which
    share of all samples."""
    scores = compute_importance(evidence, options["rank_by"], options["order"])
    first, known = select_top_eligible(
        scores, find_eligible(evidence, options["named"]), int(options["top"])
    )
    if evidence.known is not None:
        known = known & np.take_along_axis(evidence.known, first, axis=1)
    known = known & get_population_mask(evidence, options["population"])[:, None]
    truth = np.asarray(evidence.truth, bool)
    there = np.take_along_axis(truth, first, axis=1) & known
    n = truth.shape[1]
    known_truth = truth if evidence.known is None else np.where(evidence.known, truth, np.nan)
    return (
        np.bincount(first[known], minlength=n),
        np.bincount(first[there], minlength=n),
        np.nanmean(np.asarray(known_truth, float), axis=0),
    )


def _of_models(models: Sequence[ComparedRecord], deciding: Sequence[Score]) -> list[ItemColumn]:
    columns = []
    for score in deciding:
        records = {m.name: score_named(m, score.metric, **score.options) for m in models}
        known = {name: score_of(record) for name, record in records.items() if record is not None}
        if len(known) > 1:
            columns.append(_column(_title(score), known))
    return columns[:COLUMNS]


def _ordered(names: Sequence[str], columns: Sequence[ItemColumn]) -> list[str]:
    """Worst first by the first score that has intervals; what has none of it last."""
    by = next((c for c in columns if c.counts is None), columns[0])

    def badness(name: str) -> tuple[bool, float]:
        score = by.scores.get(name)
        if score is None or math.isnan(score.value):
            return True, 0.0
        return False, score.value if score.better == "higher" else -score.value

    return sorted(names, key=badness)


def _row(name: str, columns: Sequence[ItemColumn], axis: str) -> dict[str, Any]:
    counted = next((column.counts for column in columns if column.counts is not None), None)
    return {
        "name": method_text(name) if axis == "methods" else name,
        "count": "" if counted is None else f"{counted.get(name, 0):,}",
        "cells": [_cell(column, name) for column in columns],
    }


def _cell(column: ItemColumn, name: str) -> dict[str, str | Markup]:
    score = column.scores.get(name)
    if score is None or math.isnan(score.value):
        return {"strip": "", "value": "–", "ends": ""}
    ends = ""
    if score.interval is not None:
        low, high = (value_text(v, score) for v in (score.interval.low, score.interval.high))
        ends = f"{low}–{high}"
    value = unbroken(percent(score.value, score))
    return {"strip": column.strips[name], "value": value, "ends": ends}
