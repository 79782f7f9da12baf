"""A validation record of older code, for code that gives the same numbers.

Kernels are rewritten and modules move without any number changing. Putting all scores through the
whole grid again takes days; some of its conditions, drawn again, show whether the numbers are the
same. They are compared to the last digit that the record has.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from theodolite._planted.conditions import Condition
from theodolite._planted.validation.code_digest import compute_code_digest, compute_planted_digest
from theodolite._planted.validation.metric_validation import validate_metric
from theodolite._planted.validation.subjects import MetricSubject
from theodolite._planted.validation.validation_record import (
    build_cell_record,
    find_stale_reasons,
    replace_undefined,
    write_validation_record,
)
from theodolite.evidence.workers import Workers
from theodolite.metrics.catalogue import catalogue

NOT_COMPARED = ("seconds", "failures")
"""Time is the machine's; failures follow from the rest."""
MOST_SECONDS = 30.0
"""A condition that took longer is not drawn again, unless all did: then the shortest is."""


@dataclass(frozen=True)
class Renewal:
    """What came of one validation record."""

    metric: str
    conditions: int
    """So many were drawn again."""
    differences: tuple[str, ...]
    """Of numbers that are not the same, in words."""

    @property
    def holds(self) -> bool:
        """Whether the record is one of today's code."""
        return self.conditions > 0 and not self.differences


def renew_record(
    path: Path, date: str, *, conditions: int = 3, workers: Workers | None = None
) -> Renewal | None:
    """Draw some conditions of a validation record again; where the numbers are the same, renew it.

    Args:
        path: A validation record of a score of the catalogue; it is written where it holds.
        date: The day, as people write it: 2026-01-31.
        conditions: How many to draw again, spread over the grid.
        workers: Whoever does the work; here and now if not given.

    Returns:
        What came of it; none if the record is of today's code already.
    """
    content = json.loads(path.read_text(encoding="utf-8"))
    if not find_stale_reasons(content):
        return None
    subject = MetricSubject(content["metric"])
    usual = subject.generator.usual
    chosen = choose_cells(content["cells"], conditions)
    differences = []
    for cell in chosen:
        condition = Condition(**(usual.describe() | cell["condition"]))
        again = validate_metric(
            subject, content["size"], draws=cell["draws"], cells=[condition],
            seed=content["seed"], workers=workers,
        ).cells[0]  # fmt: skip
        differences += _list_differences(cell, replace_undefined(build_cell_record(again, usual)))
    renewal = Renewal(content["metric"], len(chosen), tuple(differences))
    if renewal.holds:
        content["digest"] = compute_code_digest(content["metric"])
        content["planted_digest"] = compute_planted_digest(subject.generator)
        content["theodolite"] = version("theodolite")
        content["renewed"] = {"date": date, "conditions": [cell["condition"] for cell in chosen]}
        write_validation_record(path, content)
    return renewal


def choose_cells(cells: list[dict[str, Any]], number: int) -> list[dict[str, Any]]:
    """Spread evenly over those that do not take long.

    >>> cells = [{"seconds": s, "draws": 40} for s in (0.1, 0.2, 9.0, 0.3, 0.4)]
    >>> [cell["seconds"] for cell in choose_cells(cells, 3)]
    [0.1, 0.3, 0.4]
    """
    quick = [cell for cell in cells if _estimate_seconds(cell) <= MOST_SECONDS]
    quick = quick or sorted(cells, key=_estimate_seconds)[:1]
    number = min(number, len(quick))
    places = [round(i * (len(quick) - 1) / max(number - 1, 1)) for i in range(number)]
    return [quick[place] for place in places]


def _estimate_seconds(cell: Mapping[str, Any]) -> float:
    return float(cell["seconds"] * cell["draws"])


def _list_differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Numbers of a condition that are not the same."""
    return [
        f"{before['condition'] or 'as usual'}: {name} {before[name]}, now {after[name]}"
        for name in before
        if name not in NOT_COMPARED and before[name] != after[name]
    ]


def list_records(folder: Path) -> list[Path]:
    """List the records of a folder that are of the current versions of all metrics."""
    paths = [folder / f"{name}-{metric.version}.json" for name, metric in catalogue().items()]
    return [path for path in paths if path.is_file()]
