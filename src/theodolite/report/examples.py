"""Example cards: what was named for a picture, what is there, and where the model looked."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.errors import RefusedInput
from theodolite.evidence.files import load
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.io.paths import confined
from theodolite.io.pictures import read_picture
from theodolite.metrics.located.concept_location import inside_regions
from theodolite.metrics.shared.ranking import RankBy, importance, ranked
from theodolite.report.overlays import data_address, overlay
from theodolite.run_folder.run_file import ExampleRecord

NAMED = 5


@dataclass(frozen=True)
class NamedConcept:
    """One concept that an explanation names."""

    name: str
    there: bool | None
    """In the picture; None if not known."""
    inside: bool | None
    """Its place is in the top twelfth of its map; None if it has no visible place."""
    map: str | None


@dataclass(frozen=True)
class Example:
    """One picture."""

    sample: str
    picture: str
    label: str
    predicted: str
    right: bool
    named: tuple[NamedConcept, ...]


def examples(folder: Path, chosen: Sequence[ExampleRecord], seed: int) -> list[Example]:
    """Cards for the pictures that the run kept."""
    stored = folder / "evidence" / f"seed-{seed}"
    if not chosen:
        return []
    located = stored / "location" / "header.json"
    evidence = load(stored / ("location" if located.is_file() else "concept"))
    rows = np.array([one.row for one in chosen])
    if rows.max() >= len(evidence):
        raise RefusedInput("record 'made.json'", f"row {rows.max()}", f"rows below {len(evidence)}")
    shown = evidence[rows]
    return [_example(folder, shown, i, chosen[i]) for i in range(len(chosen))]


def _example(folder: Path, shown: Any, i: int, chosen: ExampleRecord) -> Example:
    said: ConceptEvidence = shown.explained if isinstance(shown, LocationEvidence) else shown
    picture = read_picture(confined(folder, chosen.file))
    by: RankBy = (
        "contribution" if said.weights is not None and said.predicted is not None else "value"
    )
    order = ranked(importance(said[i : i + 1], by, "signed"), min(NAMED, len(said.concepts)))[0]
    names, classes = said.concepts.names, said.classes.names
    label = "" if said.labels is None else classes[said.labels[i]]
    predicted = "" if said.predicted is None else classes[said.predicted[i]]
    return Example(
        sample=chosen.sample,
        picture=data_address(picture),
        label=label,
        predicted=predicted,
        right=label == predicted,
        named=tuple(
            NamedConcept(names[j], _there(said, i, j), *_located(shown, i, j, picture))
            for j in order.tolist()
        ),
    )


def _there(said: ConceptEvidence, i: int, j: int) -> bool | None:
    if said.truth is None or (said.known is not None and not said.known[i, j]):
        return None
    return bool(said.truth[i, j])


def _located(shown: Any, i: int, j: int, picture: Any) -> tuple[bool | None, str | None]:
    if not isinstance(shown, LocationEvidence):
        return None, None
    places: list[tuple[float, float]] = []
    inside = None
    part = shown.part_of[j]
    if shown.points is not None and part >= 0:
        points = shown.points[i, part]
        seen = points[~np.isnan(points).any(axis=1)] / shown.sizes[i]
        places = [(float(row), float(column)) for row, column in seen]
        if places:
            credit, visible = inside_regions(
                shown[i : i + 1], np.array([[j]]), np.array([1 / 12]), "stable"
            )
            inside = bool((credit[0, 0, 0] * visible[0, 0]).any())
    return inside, data_address(overlay(picture, shown.maps[i, j], places))
