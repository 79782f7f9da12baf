"""The part of a report about saliency maps: methods ranked, and their maps."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.report_material import RunMaterial
from theodolite._verdicts.scores_file import ComparedRecord, score_of
from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.metrics.catalogue import catalogue
from theodolite.report.overlays import (
    Annotation,
    EmbeddedImage,
    data_address,
    definitions,
    mask_path,
    relevance_overlay,
    tile,
)
from theodolite.report.tables import Row, Table, score_cell
from theodolite.report.words import option_text
from theodolite.results import Score

SORTED_BY = "removal_faithfulness"
MAIN = {
    "removal_faithfulness": "faithful when pixels are removed",
    "relevance_mass": "relevance on the object (%)",
    "relevance_peak": "peak on the object (%)",
    "max_sensitivity": "change under noise",
    "randomization_similarity": "similarity to the map of a random model",
    "sparseness": "sparseness (%)",
}
"""Columns of the ranking, in words that fit a narrow head."""
OWN, NULL = "this one decides the verdicts", "uninformative baseline"
FIRST_METHODS = 4
"""Whose maps are seen at once: the one of the verdicts and the best others."""


def saliency_chapter(
    material: RunMaterial, spec: RunSpec, models: Sequence[ComparedRecord]
) -> dict[str, Any] | None:
    """All that the page shows of maps; None if the run has none."""
    model_scores = [(m, _scores(m)) for m in models if m.about.get("kind") == "saliency"]
    if not model_scores:
        return None
    ordered = sorted(model_scores, key=lambda pair: _place(pair[1]))
    seconds = _seconds(material)
    return {
        "ranking": _ranking(ordered, models[0], spec, seconds),
        "removals": _by_removal(ordered, models[0], spec),
        "maps": _maps(material, [m for m, _ in ordered], models[0], spec),
        "level": f"{100 * spec.resampling.level:g} %",
    }


def _scores(model: ComparedRecord) -> list[Score]:
    return [score_of(record) for record in model.scores]


def _place(scores: Sequence[Score]) -> float:
    """The best first, by the first score of the metric that sorts."""
    first = next((s for s in scores if s.metric == SORTED_BY), None)
    return math.inf if first is None or math.isnan(first.value) else -first.value


def _ranking(
    ordered: Sequence[tuple[ComparedRecord, list[Score]]],
    main: ComparedRecord,
    spec: RunSpec,
    seconds: Mapping[str, float],
) -> Table:
    scores_by_model = [{s.metric: s for s in reversed(scores)} for _, scores in ordered]
    columns = [name for name in MAIN if any(name in scores for scores in scores_by_model)]
    rows = []
    for (model, _), scores in zip(ordered, scores_by_model, strict=True):
        duration = seconds.get(str(model.about["method"]))
        notes = _notes(model, main)
        if duration is not None and NULL not in notes:
            notes = (*notes, _duration_text(duration))
        cells = (score_cell(scores.get(name), spec.resampling.level) for name in columns)
        rows.append(Row((_title(model),), tuple(cells), _css(model, main), notes))
    better = tuple(f"{catalogue()[name].better} is better" for name in columns)
    names = tuple(MAIN[name] for name in columns)
    return Table(("method",), names, tuple(rows), css="methods", better=better)


def _by_removal(
    ordered: Sequence[tuple[ComparedRecord, list[Score]]], main: ComparedRecord, spec: RunSpec
) -> Table | None:
    """The ranking again for each way to remove pixels, where there are several."""
    sorting = [[s for s in scores if s.metric == SORTED_BY] for _, scores in ordered]
    by_way = [
        {str(s.options["removal"]): s for s in scores if "removal" in s.options}
        for scores in sorting
    ]
    ways = list(dict.fromkeys(way for scores in by_way for way in scores))
    if len(ways) < 2:
        return None
    rows = []
    for (model, _), scores in zip(ordered, by_way, strict=True):
        cells = (score_cell(scores.get(way), spec.resampling.level) for way in ways)
        rows.append(Row((_title(model),), tuple(cells), _css(model, main)))
    names = tuple(option_text("removal", way) for way in ways)
    return Table(("method",), names, tuple(rows), css="methods")


def _title(model: ComparedRecord) -> str:
    return str(model.about.get("title") or model.name)


def _notes(model: ComparedRecord, main: ComparedRecord) -> tuple[str, ...]:
    notes = {OWN: model.name == main.name, NULL: model.about.get("functioning") == "none"}
    return tuple(note for note, holds in notes.items() if holds)


def _css(model: ComparedRecord, main: ComparedRecord) -> str:
    css = {OWN: "own", NULL: "null"}
    return " ".join(css[note] for note in _notes(model, main))


def _seconds(material: RunMaterial) -> dict[str, float]:
    columns = material.table("methods")
    if columns is None:
        return {}
    pairs = zip(columns["method"], columns["seconds"], strict=True)
    return {str(method): float(duration) for method, duration in pairs}


def _duration_text(seconds: float) -> str:
    return f"{seconds:.1f} s of one core per image" if seconds >= 0.05 else "negligible time"


# the maps themselves


def _maps(
    material: RunMaterial, models: Sequence[ComparedRecord], main: ComparedRecord, spec: RunSpec
) -> dict[str, Any] | None:
    files = material.sample_images()
    rows = [int(Path(file).stem.rpartition("-")[2]) for file in files]
    if not files:
        return None
    images = [material.image(file) for file in files]
    method_rows, first_evidence = [], None
    for model in models:
        name = "" if model.name == main.name else model.name
        evidence = material.evidence(SaliencyEvidence.kind, spec.seeds[0], name)
        if not isinstance(evidence, SaliencyEvidence) or max(rows) >= len(evidence):
            continue
        first_evidence = evidence if first_evidence is None else first_evidence
        maps = [
            data_address(relevance_overlay(image, np.asarray(evidence.maps[row], float)))
            for image, row in zip(images, rows, strict=True)
        ]
        notes = _notes(model, main)
        method_rows.append(
            {"method": _title(model), "notes": notes, "css": _css(model, main), "maps": maps}
        )
    if first_evidence is None:
        return None
    embedded = [EmbeddedImage.of(p, f"sample-{r}") for p, r in zip(images, rows, strict=True)]
    own_first = sorted(method_rows, key=lambda method: OWN not in method["notes"])
    return {
        "definitions": definitions(embedded),
        "images": [_image(first_evidence, p, r) for p, r in zip(embedded, rows, strict=True)],
        "first": own_first[:FIRST_METHODS],
        "more": own_first[FIRST_METHODS:],
    }


def _image(evidence: SaliencyEvidence, image: EmbeddedImage, row: int) -> dict[str, Any]:
    outlined = evidence.objects is not None
    objects = [np.asarray(evidence.objects[row])] if evidence.objects is not None else []
    annotation = Annotation(masks=[mask_path(o, (image.width, image.height)) for o in objects])
    words = f"Image {evidence.samples.name(row)}" + (" with the object outlined" * outlined)
    name = (
        "" if evidence.predicted is None else evidence.classes.names[int(evidence.predicted[row])]
    )
    sure = "" if evidence.clean is None else f"{100 * float(evidence.clean[row]):.0f} %"
    drawing = tile(image, f"sample-tile-{row}", words, annotation=annotation)
    return {"tile": drawing, "predicted": name, "sure": sure}
