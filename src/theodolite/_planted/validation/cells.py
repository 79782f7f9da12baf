"""The conditions that a score is put through, and how often each."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from theodolite._planted.conditions import Condition
from theodolite._planted.generators import Generator
from theodolite._planted.validation.subjects import ValidationSubject

Size = Literal["ci", "release"]
SMALL = 60
SIDES: dict[str, tuple[dict[str, Any], ...]] = {
    "values": tuple(
        {"values": kind}
        for kind in (
            "float32", "three digits", "two digits", "percent", "int8", "uint16", "saturated",
            "binary", "constant",
        )
    ),
    "concepts": ({"concepts": 12}, {"concepts": 40}),
    "labels": ({"labels": 10, "clusters": 1000}, {"labels": 200, "clusters": 1000}),
    "prevalence": ({"prevalence": 0.05}, {"prevalence": 0.8}),
    "unknown": ({"unknown": 0.2},),
    "seeds": ({"seeds": 3},),
    "form": ({"form": "square", "concepts": 2},),
    "mixed": (
        {"clusters": 60, "rows": 5, "within": 1.0, "mixed": True},
        {"clusters": 100, "rows": 3, "within": 1.0, "unequal": True, "mixed": True},
    ),
}  # fmt: skip
"""What a generator may vary besides rows and clusters."""
CLUSTERS: tuple[dict[str, Any], ...] = (
    {"clusters": 150, "rows": 2},
    {"clusters": 30, "rows": 10},
    {"clusters": 60, "rows": 5, "within": 0.33},
    {"clusters": 100, "rows": 5, "within": 0.1},
    {"clusters": 30, "rows": 10, "within": 1.0},
    {"clusters": 10, "rows": 30, "within": 0.33},
    {"clusters": 5, "rows": 20, "within": 1.0},
    {"clusters": 100, "rows": 3, "within": 0.33, "unequal": True},
)
UNDECLARED: tuple[dict[str, Any], ...] = (
    {"clusters": 150, "rows": 2, "declared": False},
    {"clusters": 30, "rows": 10, "declared": False},
)
MAPS = ("saturated", "binary", "constant")
"""Ways to store values that only values of concepts have."""
SLOW = {
    "concept_location": 8, "embedding_task_leakage_given_concept": 2,
    "concept_global_importance": 4, "detection_and_accuracy": 4,
    "surrogate_rank_correlation": 2, "predictive_task_leakage": 2,
    "predictive_interconcept_leakage": 4, "predictive_embedding_leakage": 4, "splitting": 2,
    "joint_task_leakage": 16, "attribution_fit": 4, "ranking_fit": 4,
}  # fmt: skip
"""How many times as long as others these take."""
TOO_SLOW = ("niche_impurity", "oracle_impurity")
"""Seconds an evaluation: a few cells of few draws."""
FEWEST = 20
MORE_AT_TOLERANCE = 6
"""As many times the draws where as much leaks as is accepted: their pooled rate is the smallest
that a validation has to tell."""


def list_cells(subject: ValidationSubject, size: Size) -> list[Condition]:
    """Every condition, at each setting of the dial that it is asked at."""
    generator = subject.generator
    if generator.cells is not None:
        return generator.cells(size)
    if size == "ci" or subject.name in TOO_SLOW:
        few = replace(generator.usual, clusters=SMALL)
        cells = [replace(few, dial=dial) for dial in generator.dials]
        if subject.name not in TOO_SLOW:
            bundled = replace(generator.usual, clusters=SMALL, rows=5, within=0.33)
            cells += [replace(bundled, dial=dial) for dial in (0.0, generator.reference)]
        return list(dict.fromkeys(cells + _add_accepted_defect(subject, few)))
    return list(dict.fromkeys(_list_release_cells(subject, generator)))


def _list_release_cells(subject: ValidationSubject, generator: Generator) -> Iterator[Condition]:
    usual = generator.usual
    for n in (100, 300):
        for dial in generator.dials:
            yield replace(usual, clusters=n, dial=dial)
        yield from _add_accepted_defect(subject, replace(usual, clusters=n))
    for changes in _changes(generator):
        changed = replace(usual, **changes)
        yield changed
        yield replace(changed, dial=generator.reference)
        yield from _add_accepted_defect(subject, changed)


def _add_accepted_defect(subject: ValidationSubject, condition: Condition) -> list[Condition]:
    """With a fault as large as is accepted, where the score looks for one."""
    if subject.tolerance is None or not subject.is_defect_metric:
        return []
    return [replace(condition, dial=subject.generator.dial_at(subject.name, subject.tolerance))]


def _changes(generator: Generator) -> Iterator[dict[str, Any]]:
    for n in (30, 1000, 5000):
        yield {"clusters": n}
    yield from CLUSTERS
    leaks = "seeds" in generator.varies
    if leaks:
        yield from UNDECLARED
    for name in generator.varies:
        for changes in SIDES[name]:
            if changes.get("values") in MAPS and not leaks:
                continue
            if changes.get("concepts") != generator.usual.concepts:
                yield changes


def choose_repetitions(
    subject: ValidationSubject, condition: Condition, size: Size, *, decides: bool
) -> int:
    """Draws of a cell: fewer where they are slow, and where no verdict is read from them."""
    if subject.name in TOO_SLOW:
        return FEWEST
    if size == "ci":
        return max(40 // SLOW.get(subject.name, 1), FEWEST)
    rows = condition.clusters * condition.rows * max(condition.concepts / 12, 1.0)
    base = (400 if decides else 120) / SLOW.get(subject.name, 1)
    if subject.generator.cells is not None and condition.dial == subject.tolerance:
        base *= MORE_AT_TOLERANCE
        rows *= max(condition.labels / 2, 1.0)
    return max(int(base / max(rows / 500, 1.0)) // FEWEST, 1) * FEWEST
