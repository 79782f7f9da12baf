"""Example cards: what was named for a picture, what is there, and where the model looked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from theodolite.errors import RefusedInput
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.explainers.concept_maps import class_activation_maps
from theodolite.metrics.located.concept_location import inside_regions
from theodolite.metrics.shared.ranking import RankBy, importance, ranked
from theodolite.report.material import RunMaterial
from theodolite.report.overlays import data_address, overlay
from theodolite.run_folder.run_file import ExampleRecord
from theodolite.verdicts.answers import by_kind

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
    class_map: str | None
    """Where the explanation sees the predicted class; None without maps or weights."""
    named: tuple[NamedConcept, ...]


def examples(material: RunMaterial, records: Sequence[ExampleRecord], seed: int) -> list[Example]:
    """Cards for the pictures that the run kept."""
    if not records:
        return []
    run_evidence = material.evidence("location", seed)
    if run_evidence is None:
        run_evidence = material.evidence("concept", seed)
    if run_evidence is None:
        raise RefusedInput("evidence", "none of the pictures that were stored", "some")
    rows = np.array([record.row for record in records])
    if rows.max() >= len(run_evidence):
        raise RefusedInput(
            "record 'produced.json'", f"row {rows.max()}", f"rows below {len(run_evidence)}"
        )
    evidence = run_evidence[rows]
    return [_example(material, evidence, i, records[i]) for i in range(len(records))]


def _example(material: RunMaterial, evidence: Any, i: int, record: ExampleRecord) -> Example:
    concept_evidence: Any = by_kind([evidence])[ConceptEvidence]
    picture = material.picture(record.file)
    by: RankBy = (
        "contribution"
        if concept_evidence.weights is not None and concept_evidence.predicted is not None
        else "value"
    )
    order = ranked(
        importance(concept_evidence[i : i + 1], by, "signed"),
        min(NAMED, len(concept_evidence.concepts)),
    )[0]
    names, classes = concept_evidence.concepts.names, concept_evidence.classes.names
    label = "" if concept_evidence.labels is None else classes[concept_evidence.labels[i]]
    predicted = "" if concept_evidence.predicted is None else classes[concept_evidence.predicted[i]]
    return Example(
        sample=record.sample,
        picture=data_address(picture),
        label=label,
        predicted=predicted,
        right=label == predicted,
        class_map=class_map(evidence, i, picture),
        named=tuple(
            NamedConcept(
                names[j], _there(concept_evidence, i, j), *_located(evidence, i, j, picture)
            )
            for j in order.tolist()
        ),
    )


def _there(evidence: ConceptEvidence, i: int, j: int) -> bool | None:
    if evidence.truth is None or (evidence.known is not None and not evidence.known[i, j]):
        return None
    return bool(evidence.truth[i, j])


def class_map(evidence: Any, i: int, picture: Any) -> str | None:
    """The map of the predicted class over a picture; None without maps or weights."""
    explained: Any = by_kind([evidence])[ConceptEvidence]
    mapped = LocationEvidence in by_kind([evidence])
    if not mapped or explained.weights is None or explained.predicted is None:
        return None
    weights = np.asarray(explained.weights)[:, explained.predicted[i]]
    whole = class_activation_maps(evidence.maps[i : i + 1], weights[None])[0]
    return data_address(overlay(picture, whole, ()))


def _located(evidence: Any, i: int, j: int, picture: Any) -> tuple[bool | None, str | None]:
    if LocationEvidence not in by_kind([evidence]):
        return None, None
    places: list[tuple[float, float]] = []
    inside = None
    part = evidence.part_of[j]
    if evidence.points is not None and part >= 0:
        points = evidence.points[i, part]
        seen = points[~np.isnan(points).any(axis=1)] / evidence.sizes[i]
        places = [(float(row), float(column)) for row, column in seen]
        if places:
            credit, visible = inside_regions(
                evidence[i : i + 1], np.array([[j]]), np.array([1 / 12]), "stable"
            )
            inside = bool((credit[0, 0, 0] * visible[0, 0]).any())
    return inside, data_address(overlay(picture, evidence.maps[i, j], places))
