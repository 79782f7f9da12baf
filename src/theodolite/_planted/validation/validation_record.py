"""A validation record as a file: what was tried, what holds, in which range, in which version."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from theodolite._planted.conditions import Condition
from theodolite._planted.registry import find_generator_for
from theodolite._planted.validation.characteristics import Characteristics
from theodolite._planted.validation.code_digest import compute_code_digest, compute_planted_digest
from theodolite._planted.validation.metric_validation import MetricValidation
from theodolite._planted.validation.overall_checks import select_plain_cells
from theodolite._planted.validation.subjects import MetricSubject
from theodolite.metrics.catalogue import catalogue
from theodolite.metrics.validation import get_validation

FORMAT, FORMAT_VERSION = "theodolite-certificate", 2


def build_validation_record(validation: MetricValidation, date: str) -> dict[str, Any]:
    """Return the record as plain JSON, with null for what is undefined.

    Args:
        validation: What came out.
        date: The day, as people write it: 2026-01-31.
    """
    subject = validation.subject
    catalogued = isinstance(subject, MetricSubject)
    content = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        **subject.identity(),
        "digest": compute_code_digest(subject.name) if catalogued else None,
        "planted_digest": compute_planted_digest(subject.generator) if catalogued else None,
        "resampled": "as an audit does" if catalogued else "by computing it again",
        "theodolite": version("theodolite"),
        "date": date,
        "size": validation.size,
        "seed": validation.seed,
        "planted": subject.generator.says,
        "truth": subject.how,
        "summary": summarize_validation(validation),
        "range": find_validated_range(validation),
        "failures": validation.failures,
        "power": [asdict(power) for power in validation.powers],
        "cost": validation.recorded,
        "lines": [asdict(line) for line in validation.lines],
        "usual": subject.generator.usual.describe(),
        "cells": [build_cell_record(cell, subject.generator.usual) for cell in validation.cells],
    }
    return replace_undefined(content)  # type: ignore[no-any-return]


def build_cell_record(cell: Characteristics, usual: Condition) -> dict[str, Any]:
    """Return the record of one condition, with the settings that differ from ``usual`` only."""
    record = asdict(cell)
    record["condition"] = Condition(**cell.condition).changed_from(usual)
    return {k: round(v, 6) if isinstance(v, float) else v for k, v in record.items()}


def replace_undefined(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: replace_undefined(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [replace_undefined(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def find_validated_range(validation: MetricValidation) -> dict[str, Any]:
    """Within what all lines hold: from so many samples and clusters on, up to so many labels."""
    subject, cells = validation.subject, validation.cells
    plain = select_plain_cells(subject, cells)
    holding = {n: all(not cell.failures for cell in row) for n, row in plain.items()}
    bundled = _group_passing(
        validation, {"clusters", "rows", "within"}, lambda c: c.clusters, rows=True
    )
    usual = subject.generator.usual
    kinds = _group_passing(validation, {"values"}, lambda c: c.values)
    by_labels = {"labels", "clusters", "concepts"}
    labels = _group_passing(validation, by_labels, lambda c: c.labels, least="labels")
    per_label = _group_rarest_label(validation, by_labels | {"balance"})
    concepts = _group_passing(
        validation, {"concepts", "clusters"}, lambda c: c.concepts, least="concepts"
    )
    single = all(line.holds for line in validation.lines)
    least, up_to = find_longest_run(holding)
    return {
        "samples": [least, max(plain, default=None)],
        "holds_up_to": up_to,
        "least_clusters": _find_lower_limit(bundled),
        "most_labels": (
            _find_upper_limit({usual.labels: any(holding.values()), **labels}) if labels else None
        ),
        "least_per_label": _find_lower_limit(per_label),
        "most_concepts": (
            _find_upper_limit({usual.concepts: any(holding.values()), **concepts})
            if concepts
            else None
        ),
        "representations": ["float64", *(kind for kind, holds in kinds.items() if holds)],
        "unknown": all(_group_passing(validation, {"unknown"}, lambda c: c.unknown).values()),
        "copies": all(_group_passing(validation, {"clusters", "rows"}, lambda c: c.rows).values()),
        "unequal_clusters": all(
            _group_passing(
                validation, {"clusters", "rows", "within", "unequal", "mixed"}, lambda c: c.unequal,
                unequal=True,
            ).values()
        ),
        "lines": single,
    }  # fmt: skip


def _group_rarest_label(validation: MetricValidation, changes: set[str]) -> dict[int, bool]:
    """Group by the samples of the rarest label; empty if labels were the same everywhere."""
    usual = validation.subject.generator.usual
    varied = [set(Condition(**cell.condition).changed_from(usual)) for cell in validation.cells]
    if not any(changed <= changes and changed & {"labels", "balance"} for changed in varied):
        return {}
    return _group_passing(validation, changes, lambda condition: condition.rarest_label)


def _group_passing(
    validation: MetricValidation,
    changes: set[str],
    by: Callable[[Condition], Any],
    *,
    rows: bool = False,
    unequal: bool = False,
    least: str = "",
) -> dict[Any, bool]:
    """Return whether all cells hold in which nothing but these (and the dial) is not as usual.

    With ``least`` of the cells in which that is not as usual, at the largest number of samples at
    which each was tried.
    """
    usual = validation.subject.generator.usual
    held_by: dict[Any, bool] = {}
    sizes: dict[Any, int] = {}
    if least:
        for cell in validation.cells:
            condition = Condition(**cell.condition)
            if condition.dial == 0:
                sizes[by(condition)] = max(sizes.get(by(condition), 0), condition.clusters)
    for cell in validation.cells:
        condition = Condition(**cell.condition)
        changed = set(condition.changed_from(usual)) - {"dial"}
        if not changed or not changed <= changes or changed == {"clusters"}:
            continue
        if (rows and condition.within == 0) or (unequal and not condition.unequal):
            continue
        if least and least not in changed:
            continue
        key = by(condition)
        if least and condition.clusters < sizes.get(key, 0):
            continue
        held_by[key] = held_by.get(key, True) and not cell.failures
    return held_by


def find_longest_run(holding: dict[int, bool]) -> tuple[int | None, int | None]:
    """Return the first and last number of the longest run that passes; None for no upper end.

    >>> find_longest_run({30: False, 100: True, 300: True})
    (100, None)
    >>> find_longest_run({30: True, 100: True, 300: False})
    (30, 100)
    """
    runs: list[list[int]] = [[]]
    for n in sorted(holding):
        if holding[n]:
            runs[-1].append(n)
        else:
            runs.append([])
    longest = max(runs, key=lambda run: (len(run), run))
    if not longest:
        return None, None
    return longest[0], None if longest[-1] == max(holding) else longest[-1]


def _find_lower_limit(holding: dict[int, bool]) -> int | None:
    """The least from which on all hold."""
    least = None
    for n in sorted(holding, reverse=True):
        if not holding[n]:
            break
        least = n
    return least


def _find_upper_limit(holding: dict[int, bool]) -> int | None:
    """The most up to which all hold."""
    most = None
    for n in sorted(holding):
        if not holding[n]:
            break
        most = n
    return most


def summarize_validation(validation: MetricValidation) -> str:
    """One line for cards and pages."""
    cells = validation.cells
    worthless = [cell for cell in cells if cell.condition["dial"] == 0]
    has_truth = validation.subject.generator.has_truth
    with_interval = [c for c in cells if c.intervals and has_truth(Condition(**c.condition))]
    alarms, draws = sum(c.alarms for c in worthless), sum(c.draws for c in worthless)
    failed = sum(bool(cell.failures) for cell in cells)
    parts = [f"{failed} of {len(cells)} conditions fail"] if failed else []
    parts += [f"false alarms {100 * alarms / max(draws, 1):.1f} % of 2.5 allowed"]
    if with_interval:
        shares = sorted(cell.covered / cell.intervals for cell in with_interval)
        low = shares[len(shares) // 10]
        parts.append(f"covers {100 * low:.0f}–{100 * shares[-1]:.0f} %")
    seen = [power for power in validation.powers if power.dial is not None]
    if seen:
        parts.append(f"sees {seen[-1].dial:.2g} on the dial at N = {seen[-1].samples}")
    sizes = list(select_plain_cells(validation.subject, cells))
    if sizes:
        parts.append(f"tried from {min(sizes):,} to {max(sizes):,} samples")
    if not failed:
        parts.append(f"all {len(cells)} conditions hold")
    return "; ".join(parts)


def write_validation_record(path: Path, content: dict[str, Any]) -> None:
    """Write a record, one line per condition."""
    rest = {key: value for key, value in content.items() if key != "cells"}
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in rest.items()]
    cells = ",\n".join(json.dumps(cell) for cell in content["cells"])
    lines.append(f'"cells": [\n{cells}\n]')
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def get_record_name(content: dict[str, Any]) -> str:
    """Return the name of the record in the package.

    >>> get_record_name({"metric": "acceptance", "version": 2})
    'acceptance-2.json'
    """
    return f"{content['metric']}-{content['version']}.json"


def find_stale_reasons(content: dict[str, Any]) -> Sequence[str]:
    """Return why a validation record is not one of the code as it is now."""
    reasons = []
    if content.get("format_version") != FORMAT_VERSION:
        reasons.append("of another format")
    if content["digest"] != compute_code_digest(content["metric"]):
        reasons.append("the code has changed since")
    if content.get("planted_digest") != compute_planted_digest(
        find_generator_for(content["metric"])
    ):
        reasons.append("the planted evidence has changed since")
    return reasons


def list_unvalidated_metrics(path: Path | None = None) -> list[str]:
    """Return the deciding metrics without a validation of the current code, with the reason.

    For the test of a release: records of other code say nothing.
    """
    lines = []
    for name, metric in catalogue().items():
        known = get_validation(name, metric.version, path) if metric.decides else None
        if metric.decides and known is None:
            lines.append(f"{name}: no validation record of version {metric.version}")
        elif known is not None and known.digest != compute_code_digest(name):
            lines.append(f"{name}: the code has changed since")
    return lines
