"""Measures of faithfulness put to the test: which of them know a faithful explanation?"""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from theodolite.metrics.catalogue import catalogue
from theodolite.report.words import metric_text
from theodolite_reproductions.chapters.decisions import points
from theodolite_reproductions.findings.faithfulness import SanityRecord, SanityRow, StepRecord
from theodolite_reproductions.findings.sanity import ORDER

SURROGATES = {
    "linear": "sum of concepts times importances, no parameter",
    "rebuilt": "last layer on reconstructed embeddings (ICE-Eval)",
    "learned": "fitted network in between (C-SHAP-Eval)",
    "linearized": "slope of the rest of the network",
    "": "no surrogate: concepts taken away or added one by one",
}
"""How a measure gets from concepts to outputs."""
UNSURE = ("not told apart", "too few repeats")


def sanity_table(record: SanityRecord) -> dict[str, Any] | None:
    """Which measures know a faithful explanation, by how they get from concepts to outputs."""
    if not record.rows:
        return None
    order = {name: number for number, name in enumerate(SURROGATES)}
    rows = sorted(record.rows, key=lambda row: order.get(row.surrogate, len(order)))
    groups: list[dict[str, Any]] = []
    for surrogate, together in itertools.groupby(rows, key=lambda row: row.surrogate):
        own = list(together)
        operations = next((row.operations for row in own if row.operations is not None), None)
        groups.append(
            {
                "name": _capital(SURROGATES.get(surrogate, surrogate)),
                "operations": "" if operations is None else f"{operations:,} operations a sample",
                "rows": [_measure(row, record) for row in own],
            }
        )
    return {
        "title": record.title,
        "says": tally(record.rows),
        "heads": [_capital(name) for name in ORDER],
        "groups": groups,
        "has_operations": any(group["operations"] for group in groups),
        "has_paper": any(c["paper"] for g in groups for row in g["rows"] for c in row["cells"]),
        "n": max(row.values[ORDER[0]].n for row in rows),
        "asked": "" if record.effect is None else f"{100 * record.effect:g} %",
    }


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def tally(rows: Sequence[SanityRow]) -> str:
    """Return how many measures pass, in a sentence."""
    passing = [row for row in rows if row.outcome == "passes"]
    n_undecided = sum(row.outcome == "undecided" for row in rows)
    of = f"{len(rows)} measures" if len(rows) != 1 else "1 measure"
    verb = "tells" if len(passing) <= 1 else "tell"
    sentence = f"{len(passing) or 'None'} of {of} {verb} a faithful explanation from a spoilt one"
    used = {row.surrogate for row in passing}
    if len(passing) > 1 and len(used) == 1 and len({row.surrogate for row in rows}) > 1:
        surrogate = used.pop()
        if surrogate:
            name = SURROGATES.get(surrogate, surrogate).partition(",")[0]
            sentence += f", all of them by the {name}"
    if n_undecided:
        sentence += f"; {n_undecided} {'is' if n_undecided == 1 else 'are'} undecided"
    return f"{sentence}."


def _measure(row: SanityRow, record: SanityRecord) -> dict[str, Any]:
    printed = record.paper.get(f"{row.metric} {row.surrogate}".strip(), [])
    paper = dict(zip(ORDER, printed, strict=False))
    metric = catalogue().get(row.metric)
    return {
        "title": row.metric if metric is None else metric.title,
        "better": row.better,
        "outcome": row.outcome,
        "missed": [text.replace("_", " ") for text in dict.fromkeys(_failures(row))],
        "cells": [
            {
                "value": metric_text(row.values[name].value, row.metric),
                "between": metric_interval(row.values[name].low, row.values[name].high, row.metric),
                "paper": metric_text(paper[name], row.metric) if name in paper else "",
            }
            for name in ORDER
        ],
    }


def _failures(row: SanityRow) -> Iterator[str]:
    """What a measure does not notice, or minds and should not."""
    blind = bool(row.order) and row.order[0].found == "the same"
    for step in (*row.order, *row.planted):
        if step.expected == "the same":
            if step.found in ("worse", "better"):
                yield "minds a change of notation"
        elif step.found == "better":
            yield f"finds {step.setting} better"
        elif step.found in UNSURE and (
            step.decision is not None or (row.outcome == "undecided" and step in row.order)
        ):
            yield _unsure(step, row.metric)
        elif step.found != "worse":
            of_importances = blind and step.setting.endswith("importances")
            yield "blind to importances" if of_importances else f"does not notice {step.setting}"


def _unsure(step: StepRecord, metric: str) -> str:
    """That seeds do not tell two settings apart, and what they would have told."""
    decision = step.decision
    text = f"seeds do not tell {step.setting} from {step.against}"
    if decision is None:
        return f"these {text}"
    if decision.min_detectable_effect is None or decision.repeats < 2:
        return f"one seed does not tell {step.setting} from {step.against}"
    size = points(metric)
    seen = (
        f"{size(decision.min_detectable_effect)} would be seen, {size(decision.effect)} asked for"
    )
    few = "too few: " if step.found == "too few repeats" else ""
    return f"{decision.repeats} {text} ({few}{seen})"


def metric_interval(low: float | None, high: float | None, name: str) -> str:
    """Return low to high in the unit of a metric, cut at its bounds: few seeds may go beyond.

    >>> metric_interval(-0.1, 0.25, "surrogate_distance")
    '0.0 to 25.0'
    """
    if low is None or high is None:
        return ""
    metric = catalogue().get(name)
    bounds = (-math.inf, math.inf) if metric is None else metric.bounds
    ends = (metric_text(min(max(v, bounds[0]), bounds[1]), name) for v in (low, high))
    return " to ".join(end.removesuffix(" %") for end in ends)
