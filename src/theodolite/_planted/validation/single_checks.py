"""Single evidence looked at in several ways: other seeds, other orders, other forms, more rows."""

from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np

from theodolite._planted.generators import Planted
from theodolite._planted.validation.overall_checks import EXACT, OverallCheck
from theodolite._planted.validation.simulation import compute_draw_seed, describe_subject
from theodolite._planted.validation.subjects import (
    MetricSubject,
    ValidationSubject,
    get_default_resampling,
)
from theodolite.evidence.axes import NamedAxis
from theodolite.evidence.base import Evidence
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.evidence.workers import Arrays, SerialWorkers, Work, Workers

RESEEDED = 10
MOST_NOISE = 0.1
"""Of half an interval's width."""
AGAIN = 400
"""Resamples while seeds are varied; fewer are noisier than what an audit draws."""
SIZES = (100, 400, 1600)
SCALED: dict[type[Evidence], tuple[str, ...]] = {
    ConceptEvidence: ("values",), EmbeddingEvidence: ("vectors", "positive", "negative"),
    SaliencyEvidence: ("maps",), LocationEvidence: ("maps",),
}  # fmt: skip
"""Arrays whose unit no score may depend on."""
IN_UNITS = ("concept_prediction",)
"""Scores that compare values with a threshold."""
CHECKS = ("reseeded", "invariances", "cost")


def run_single_checks(
    subject: ValidationSubject, *, seed: int = 0, workers: Workers | None = None
) -> tuple[list[OverallCheck], dict[str, Any]]:
    """Lines, and what is only recorded."""
    work = Work(
        what=f"checks of {subject.name}",
        do=partial(_run_check, subject, seed),
        items=CHECKS,
        digests=CHECKS,
        about=describe_subject(subject, seed),
    )
    results = dict(zip(CHECKS, (workers or SerialWorkers()).each(work), strict=True))
    lines: list[OverallCheck] = []
    if (noise := results["reseeded"]) is not None:
        share = float(noise["noise"])
        because = f"{share:.3f} of half an interval over {RESEEDED} seeds"
        lines.append(OverallCheck("reseed noise", not share > MOST_NOISE, because))
    for name, off in (results["invariances"] or {}).items():
        lines.append(
            OverallCheck(f"the same for {name}", bool(off <= EXACT), f"differs by {float(off):.2g}")
        )
    recorded = {name: float(v) for name, v in (results["cost"] or {}).items()}
    return lines, recorded


def _run_check(subject: ValidationSubject, seed: int, what: str) -> Arrays:
    return {
        "reseeded": _measure_seed_noise,
        "invariances": _measure_invariances,
        "cost": _measure_cost,
    }[what](subject, seed)


def _draw_reference(subject: ValidationSubject, seed: int, **changes: Any) -> Planted:
    condition = replace(subject.generator.usual, dial=subject.generator.reference, **changes)
    return subject.draw(condition, compute_draw_seed(condition, 0, seed))


def _measure_seed_noise(subject: ValidationSubject, seed: int) -> Arrays:
    """How far value and ends of the interval move with the seed of resamples and nulls alone."""
    planted = _draw_reference(subject, seed, clusters=100)
    rows = []
    for number in range(RESEEDED if subject.generator.name != "impure values" else 2):
        resampling = replace(get_default_resampling(number), resamples=AGAIN)
        outcome = subject.outcome(planted, resampling)
        rows.append((outcome.value, outcome.low, outcome.high))
    spread = np.array(rows).std(axis=0, ddof=1)
    half = float(np.mean([high - low for _, low, high in rows])) / 2
    noise = float(spread.max()) / half if half > 0 else 0.0 if not spread[0] > 0 else np.inf
    return {"noise": np.array(noise)}


def _measure_invariances(subject: ValidationSubject, seed: int) -> Arrays:
    """By how much the value differs where it should not."""
    evidence = _draw_reference(subject, seed, clusters=100).evidence[0]
    plain = subject.value(evidence)
    changes = dict(_list_equivalent_forms(evidence))
    if subject.name in IN_UNITS:
        changes.pop("another unit", None)
    off = {
        name: _compute_distance(plain, subject.value(changed)) for name, changed in changes.items()
    }
    if isinstance(subject, MetricSubject):
        off["shards"] = _compute_distance(plain, subject.of_shards([evidence[:37], evidence[37:]]))
    return {name: np.array(number) for name, number in off.items()}


def _compute_distance(a: float, b: float) -> float:
    return 0.0 if np.isnan(a) and np.isnan(b) else abs(a - b)


def _list_equivalent_forms(evidence: Evidence) -> list[tuple[str, Evidence]]:
    """The same evidence in another order, under other names, as other numbers."""
    order = np.random.default_rng(0).permutation(len(evidence))
    forms = [("another order of rows", evidence[order]), ("other names", _rename_axes(evidence))]
    arrays = [name for name in SCALED.get(type(evidence), ()) if evidence.has(name)]
    if arrays:
        single = _replace_arrays(evidence, arrays, lambda a: a.astype(np.float32))
        forms.append(("float32", single))
        forms.append(("another unit", _replace_arrays(evidence, arrays, lambda a: 8.0 * a)))
    return forms


def _replace_arrays(
    evidence: Evidence, arrays: list[str], change: Callable[[np.ndarray], np.ndarray]
) -> Evidence:
    changed: dict[str, Any] = {name: change(np.asarray(getattr(evidence, name))) for name in arrays}
    return replace(evidence, **changed)


def _rename_axes(evidence: Evidence) -> Evidence:
    """Other names for whatever has names; those inside another bundle too."""
    changed: dict[str, Any] = {}
    for field in fields(evidence):
        member = getattr(evidence, field.name)
        if isinstance(member, NamedAxis) and len(member) and not member.fixed:
            changed[field.name] = replace(
                member, names=tuple(f"other {i}" for i in range(len(member)))
            )
        elif isinstance(member, Evidence):
            changed[field.name] = _rename_axes(member)
    return replace(evidence, **changed)


def _measure_cost(subject: ValidationSubject, seed: int) -> Arrays:
    """Seconds by number of samples, and the exponent that fits them."""
    sizes = SIZES[:1] if subject.generator.name == "impure values" else SIZES
    seconds = []
    for n in sizes:
        planted = _draw_reference(subject, seed, clusters=n)
        seconds.append(
            min(subject.outcome(planted, get_default_resampling()).seconds for _ in range(2))
        )
    logs = np.log(np.maximum(seconds, 1e-4))
    exponent = float(np.polyfit(np.log(sizes), logs, 1)[0]) if sizes[1:] else np.nan
    return {"exponent": np.array(exponent), f"seconds at {sizes[-1]}": np.array(seconds[-1])}
