"""Method notes: what a reader must know to check how a score was made, from its card."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from theodolite._stats.draws import ENOUGH
from theodolite.metrics.base import Metric
from theodolite.metrics.cards import format_card
from theodolite.metrics.catalogue import catalogue
from theodolite.questions import QUESTIONS
from theodolite.report.citations import references
from theodolite.report.formulas import blocks, formula, marked_up, metric_docstring
from theodolite.report.words import option_text, options_text
from theodolite.results import Score

ASIDE = "``arrays``"
"""How a paragraph begins that is for those who call the function."""


def note(metric: Metric, scores: Sequence[Score] = ()) -> dict[str, Any]:
    """Return what is known of a metric, and how the scores of a run used it.

    >>> parts = note(catalogue()["concept_existence"])
    >>> parts["title"], len(parts["formulas"]), dict(parts["facts"])["Name"]
    ('Concept existence (CEM)', 1, Markup('<code>concept_existence</code>, version 2'))
    """
    known = format_card(metric)
    paper = references().get(metric.cite)
    summary, details = _docstring_parts(metric)
    values = f"{known['range']}, {known['direction']}".replace("inf", "∞").replace("-", "−")
    used = [("In this run", f"{'; '.join(_used(scores))}. {_undefined(scores)}")] if scores else []
    return {
        "id": anchor(metric.name),
        "title": metric.title,
        "asks": metric.card.question,
        "says": summary,
        "about": details,
        "formulas": [text for kind, text in details if kind == "math"],
        "facts": [
            ("How to read it", f"{metric.card.interpretation} From {values}."),
            ("Limitations", metric.card.limitations),
            ("In a verdict", _role(metric)),
            ("Validation", known["validation"]),
            *(
                (f"{'Clean null' if null.is_reference else 'Null'}: {null.label}", null.description)
                for null in metric.nulls
            ),
            *used,
            ("Needs", known["needs"]),
            ("Cost", f"{metric.card.cost}; {known['size']}"),
            ("Name", Markup("<code>{}</code>, version {}").format(metric.name, metric.version)),
            ("Reference", metric.cite if paper is None else paper.full),
        ],
    }


def method_notes(scores: Sequence[Score], deciding: Iterable[str] = ()) -> list[dict[str, Any]]:
    """Return a note for each metric of a run, by question, deciding ones first."""
    first = set(deciding)
    names = dict.fromkeys(score.metric for score in scores if score.metric in catalogue())
    order = list(QUESTIONS)
    metrics = sorted(
        (catalogue()[name] for name in names),
        key=lambda metric: (order.index(metric.question), metric.name not in first),
    )
    return [note(m, [score for score in scores if score.metric == m.name]) for m in metrics]


def anchor(name: str) -> str:
    """Return where on a page the note of a metric is.

    >>> anchor("unit_iou"), anchor('a"b')
    ('method-unit-iou', 'method-a-b')
    """
    return "method-" + re.sub(r"[^a-z0-9]+", "-", name.lower())


def _docstring_parts(metric: Metric) -> tuple[Any, list[tuple[str, Any]]]:
    parts = list(blocks(metric_docstring(metric)))
    if not parts:
        return "", []
    details: list[tuple[str, Any]] = []
    for kind, text in parts[1:]:
        if kind == "math":
            details.append((kind, formula(text)))
        elif kind == "list":
            details.append((kind, [marked_up(item) for item in text.splitlines()]))
        elif not text.startswith(ASIDE):
            details.append((kind, marked_up(text)))
    return marked_up(parts[0][1]), details


def _role(metric: Metric) -> str:
    if metric.item_tolerance is not None and not metric.decides:
        return (
            "The verdict reads its tests of single concepts: none may exceed "
            f"{metric.item_tolerance:g}, by our convention."
        )
    if not metric.decides:
        return "It does not decide a verdict. It helps to interpret other scores."
    if metric.is_defect_metric:
        return (
            "A verdict may be read from it: it must not exceed its clean null by more than "
            f"{metric.tolerance or 0:g}, by our convention."
        )
    draws = next((null.label for null in metric.nulls if null.draws_in), "")
    if metric.threshold is None and draws:
        return (
            f"A verdict may be read from it: it must exceed all draws of {draws}, {ENOUGH} at "
            "least, and significantly exceed their mean."
        )
    if metric.threshold is None:
        return "A verdict may be read from it: partly at most."
    every = f"every null, all draws of {draws} among them ({ENOUGH} at least)," if draws else ""
    return (
        f"A verdict may be read from it: it must beat {every or 'every null,'} and reach "
        f"{metric.threshold:g} of {_way(metric)}, by our convention."
    )


def _way(metric: Metric) -> str:
    if metric.threshold_from == "null":
        return "the way from the best null to the best possible"
    return "the best possible"


def _used(scores: Sequence[Score]) -> list[str]:
    """The options of each score of this run, in words; what has no words as name and value."""
    return list(
        dict.fromkeys(options_text(score) or _all_options_text(score.options) for score in scores)
    )


def _all_options_text(options: Mapping[str, object]) -> str:
    texts = (option_text(name, value) for name, value in options.items())
    return ", ".join(text for text in texts if text) or "the defaults"


def _undefined(scores: Sequence[Score]) -> str:
    most = max(scores, key=lambda score: score.n_undefined)
    if not most.n_undefined:
        return "No value was undefined in this run."
    total = most.n + most.n_undefined
    return f"Up to {most.n_undefined:,} of {total:,} {most.n_unit} were undefined, and left out."
