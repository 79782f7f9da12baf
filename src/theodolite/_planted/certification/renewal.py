"""A certificate of older code, for code that gives the same numbers.

Kernels are rewritten and modules move without any number changing. Putting all scores through the
whole grid again takes days; some of its conditions, drawn again, show whether the numbers are the
same. They are compared to the last digit that the certificate has.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from theodolite._planted.certification.certificate import (
    cell_record,
    plain_numbers,
    stale,
    write_certificate,
)
from theodolite._planted.certification.certify import certify
from theodolite._planted.certification.code_digest import code_digest, planted_digest
from theodolite._planted.certification.subjects import CatalogueSubject
from theodolite._planted.conditions import Condition
from theodolite.evidence.workers import Workers
from theodolite.metrics.catalogue import catalogue

NOT_COMPARED = ("seconds", "failures")
"""Time is the machine's; failures follow from the rest."""
MOST_SECONDS = 30.0
"""A condition that took longer is not drawn again, unless all did: then the shortest is."""


@dataclass(frozen=True)
class Renewal:
    """What came of one certificate."""

    metric: str
    conditions: int
    """So many were drawn again."""
    differences: tuple[str, ...]
    """Of numbers that are not the same, in words."""

    @property
    def holds(self) -> bool:
        """Whether the certificate is one of today's code."""
        return self.conditions > 0 and not self.differences


def renew(
    path: Path, date: str, *, conditions: int = 3, workers: Workers | None = None
) -> Renewal | None:
    """Draw some conditions of a certificate again; where the numbers are the same, renew it.

    Args:
        path: A certificate of a score of the catalogue; it is written where it holds.
        date: The day, as people write it: 2026-01-31.
        conditions: How many to draw again, spread over the grid.
        workers: Whoever does the work; here and now if not given.

    Returns:
        What came of it; none if the certificate is of today's code already.
    """
    content = json.loads(path.read_text(encoding="utf-8"))
    if not stale(content):
        return None
    subject = CatalogueSubject(content["metric"])
    usual = subject.generator.usual
    chosen = chosen_cells(content["cells"], conditions)
    differences = []
    for cell in chosen:
        condition = Condition(**(usual.describe() | cell["condition"]))
        again = certify(
            subject, content["size"], draws=cell["draws"], cells=[condition],
            seed=content["seed"], workers=workers,
        ).cells[0]  # fmt: skip
        differences += _differences(cell, plain_numbers(cell_record(again, usual)))
    renewal = Renewal(content["metric"], len(chosen), tuple(differences))
    if renewal.holds:
        content["digest"] = code_digest(content["metric"])
        content["planted_digest"] = planted_digest(subject.generator)
        content["theodolite"] = version("theodolite")
        content["renewed"] = {"date": date, "conditions": [cell["condition"] for cell in chosen]}
        write_certificate(path, content)
    return renewal


def chosen_cells(cells: list[dict[str, Any]], number: int) -> list[dict[str, Any]]:
    """Spread evenly over those that do not take long.

    >>> cells = [{"seconds": s, "draws": 40} for s in (0.1, 0.2, 9.0, 0.3, 0.4)]
    >>> [cell["seconds"] for cell in chosen_cells(cells, 3)]
    [0.1, 0.3, 0.4]
    """
    quick = [cell for cell in cells if _seconds(cell) <= MOST_SECONDS]
    quick = quick or sorted(cells, key=_seconds)[:1]
    number = min(number, len(quick))
    places = [round(i * (len(quick) - 1) / max(number - 1, 1)) for i in range(number)]
    return [quick[place] for place in places]


def _seconds(cell: Mapping[str, Any]) -> float:
    return float(cell["seconds"] * cell["draws"])


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Numbers of a condition that are not the same."""
    return [
        f"{before['condition'] or 'as usual'}: {name} {before[name]}, now {after[name]}"
        for name in before
        if name not in NOT_COMPARED and before[name] != after[name]
    ]


def certificates_of(folder: Path) -> list[Path]:
    """Of today's versions of all scores, those that a folder has."""
    paths = [folder / f"{name}-{metric.version}.json" for name, metric in catalogue().items()]
    return [path for path in paths if path.is_file()]
