"""Method notes: what a reader must know to check how a score was made, from its card."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from theodolite.metrics.base import Metric
from theodolite.metrics.cards import card
from theodolite.metrics.catalogue import catalogue
from theodolite.questions import QUESTIONS
from theodolite.report.citations import references
from theodolite.report.formulas import blocks, documented, formula, marked_up
from theodolite.report.words import option_text, options_text
from theodolite.results import Score

ASIDE = "``given``"
"""How a paragraph begins that is for those who call the function."""


def note(entry: Metric) -> dict[str, Any]:
    """Everything about a score that does not depend on a run.

    >>> told = note(catalogue()["concept_existence"])
    >>> told["title"], told["cited"], len(told["formulas"])
    ('Concept existence (CEM)', 'Aysel et al. (2025)', 1)
    """
    told = card(entry)
    paper = references().get(entry.cite)
    says, about = _described(entry)
    return {
        "id": anchor(entry.name),
        "name": entry.name,
        "version": entry.version,
        "title": entry.title,
        "question": entry.question,
        "asked": entry.asked_as or QUESTIONS[entry.question],
        "asks": entry.card.asks,
        "says": says,
        "about": about,
        "formulas": [text for kind, text in about if kind == "math"],
        "range": f"{told['range']}, {told['direction']}".replace("inf", "∞").replace("-", "−"),
        "decides": _role(entry),
        "read": entry.card.read,
        "misleads": entry.card.misleads,
        "nulls": [(null.name, null.says, null.clean) for null in entry.baselines],
        "needs": told["needs"],
        "options": told["options"],
        "cost": entry.card.cost,
        "size": told["size"],
        "cited": entry.cite if paper is None else paper.short,
        "reference": entry.cite if paper is None else paper.full,
    }


def notes_of(scores: Sequence[Score], deciding: Iterable[str] = ()) -> list[dict[str, Any]]:
    """A note for each metric of a run, in the order of the questions, deciding ones first."""
    first = set(deciding)
    names = dict.fromkeys(score.metric for score in scores if score.metric in catalogue())
    places = list(QUESTIONS)
    ordered = sorted(names, key=lambda n: (places.index(catalogue()[n].question), n not in first))
    found = []
    for name in ordered:
        own = [score for score in scores if score.metric == name]
        used = {"used": _used(own), "undefined": _undefined(own), "first": name in first}
        found.append(note(catalogue()[name]) | used)
    return found


def anchor(name: str) -> str:
    """Where on a page the note of a metric is.

    >>> anchor("unit_iou"), anchor('a"b')
    ('method-unit-iou', 'method-a-b')
    """
    return "method-" + re.sub(r"[^a-z0-9]+", "-", name.lower())


def _described(entry: Metric) -> tuple[Any, list[tuple[str, Any]]]:
    """The first sentence of the docstring, and what follows it."""
    parts = list(blocks(documented(entry)))
    if not parts:
        return "", []
    about: list[tuple[str, Any]] = []
    for kind, text in parts[1:]:
        if kind == "math":
            about.append((kind, formula(text)))
        elif kind == "list":
            about.append((kind, [marked_up(item) for item in text.splitlines()]))
        elif not text.startswith(ASIDE):
            about.append((kind, marked_up(text)))
    return marked_up(parts[0][1]), about


def _role(entry: Metric) -> str:
    """What part the score has in a verdict."""
    if not entry.decides:
        return "It decides nothing; it tells more about other scores."
    if entry.looks_for_a_fault:
        return (
            "A verdict may be read from it: it must not exceed its clean null by more than "
            f"{entry.tolerance or 0:g}, by our convention."
        )
    if entry.enough is None:
        return "A verdict may be read from it: partly at most."
    return (
        "A verdict may be read from it: it must beat every null, and reach "
        f"{entry.enough:g} of the best possible, by our convention."
    )


def _used(scores: Sequence[Score]) -> list[str]:
    """The options of each score of this run, in words; what has no words as name and value."""
    return list(dict.fromkeys(options_text(score) or _plainly(score.options) for score in scores))


def _plainly(options: Mapping[str, object]) -> str:
    said = (option_text(name, value) for name, value in options.items())
    return ", ".join(text for text in said if text) or "the defaults"


def _undefined(scores: Sequence[Score]) -> str:
    """How much of what was asked could not be answered."""
    most = max(scores, key=lambda score: score.n_undefined)
    if not most.n_undefined:
        return "Nothing was undefined in this run."
    total = most.n + most.n_undefined
    return f"Up to {most.n_undefined:,} of {total:,} {most.n_of} were undefined, and left out."
