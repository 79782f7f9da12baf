"""The part of a report on faithfulness: methods, measures, classes, outputs, concepts, layers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.findings.faithfulness import CurveLine, CurveRecord, LayersRecord, SanityRecord
from theodolite.metrics.catalogue import catalogue
from theodolite.report.chapters.compared import mean_over_seeds
from theodolite.report.chapters.decisions import points, power_text
from theodolite.report.chapters.faithfulness_measures import sanity_table
from theodolite.report.chapters.faithfulness_samples import (
    class_panels,
    concept_cards,
    scatter_panels,
    stored_evidence,
)
from theodolite.report.chapters.faithfulness_tables import (
    benchmark,
    benchmark_models,
    layers_table,
    linear_score,
)
from theodolite.report.figures.lines import NAN, PlotLine, Point, chart
from theodolite.report.figures.svg import STYLES, swatch
from theodolite.report.material import RunMaterial
from theodolite.report.words import method_text, metric_text
from theodolite.results import Score
from theodolite.run_folder.run_file import MadeRecord
from theodolite.run_folder.scores_file import ComparedRecord
from theodolite.run_folder.spec import RunSpec
from theodolite.subject import Subject

ScatterExplanation = tuple[str, str, SurrogateEvidence]
"""An explanation in the scatter: its name, its scores in words, its evidence."""


def faithfulness_chapter(
    material: RunMaterial,
    spec: RunSpec,
    made_record: MadeRecord,
    subject: Subject,
    scores: Sequence[Score],
    models: Sequence[ComparedRecord],
) -> dict[str, Any] | None:
    """All that the page shows of faithfulness; None if the run does not ask for it."""
    if not any(score.question == "faithful" for score in scores):
        return None
    studies = material.studies()
    evidence = stored_evidence(material, spec)
    chosen = benchmark_models(models, spec)
    sanity_tables = [sanity_table(study) for study in studies if isinstance(study, SanityRecord)]
    layer_tables = [layers_table(study) for study in studies if isinstance(study, LayersRecord)]
    curves = [curve_part(study) for study in studies if isinstance(study, CurveRecord)]
    parts = {
        "benchmark": benchmark(chosen, models[0], spec) if models else None,
        "sanity": [table for table in sanity_tables if table is not None],
        "classes": None if evidence is None else class_panels(evidence),
        "scatter": scatter_panels(
            [*_main(evidence, models, spec), *_ends(material, models, chosen, spec)],
            subject.wording,
        ),
        "cards": concept_cards(material, made_record.concept_cards, evidence),
        "curves": [curve for curve in curves if curve is not None],
        "layers": [table for table in layer_tables if table is not None],
    }
    return parts if any(parts.values()) else None


def _main(
    evidence: SurrogateEvidence | None, models: Sequence[ComparedRecord], spec: RunSpec
) -> list[ScatterExplanation]:
    """The explanation of the verdicts, which needs no name where there are no others."""
    if evidence is None:
        return []
    if not models:
        return [("", "", evidence)]
    return [(_name(models[0]), _scores_text(models[0], spec), evidence)]


def _ends(
    material: RunMaterial,
    models: Sequence[ComparedRecord],
    chosen: Sequence[ComparedRecord],
    spec: RunSpec,
) -> list[ScatterExplanation]:
    """The best and the worst method, if they are others than that of the verdicts."""
    explanations: list[ScatterExplanation] = []
    for model, rank in zip([*chosen[:1], *chosen[1:][-1:]], ("best", "worst"), strict=False):
        evidence = None
        if model is not models[0]:
            evidence = stored_evidence(material, spec, model.name)
        if evidence is not None:
            explanations.append(
                (f"{_name(model)}, the {rank}", _scores_text(model, spec), evidence)
            )
    return explanations


def _name(model: ComparedRecord) -> str:
    return method_text(str(model.about["method"])) if "method" in model.about else model.name


def _scores_text(model: ComparedRecord, spec: RunSpec) -> str:
    titles = {"surrogate_distance": "SURF distance", "surrogate_error": "SURF error"}
    scores = {name: linear_score(model, name) for name in titles}
    return ", ".join(
        f"{titles[name]} {metric_text(mean_over_seeds(score, spec.resampling.level)[0], name)}"
        for name, score in scores.items()
        if score is not None
    )


def curve_part(record: CurveRecord) -> dict[str, Any] | None:
    """A line per method over the number of concepts, and what its knee says."""
    if not record.lines:
        return None
    across = sorted({n for line in record.lines for n in line.concepts})
    metric = catalogue().get(record.metric)
    bounds = (-np.inf, np.inf) if metric is None else metric.bounds
    name = record.metric if metric is None else metric.title
    values = [s.value for line in record.lines for s in line.scores if s.value is not None]
    figures = []
    for start in range(0, len(record.lines), STYLES):
        batch = record.lines[start : start + STYLES]
        lines = [_line(line, style, across, record.metric) for style, line in enumerate(batch)]
        svg = chart(lines, [f"{n}" for n in across], bounds, name, within=values)
        key = [(swatch(style), method_text(line.method)) for style, line in enumerate(batch)]
        figures.append({"svg": svg, "key": key})
    better = "lower" if metric is None else metric.better
    return {
        "title": record.title,
        "name": name,
        "better": better,
        "figures": figures,
        "says": [knee_text(line, better, record.metric) for line in record.lines],
        "has_knee": any(line.knee is not None for line in record.lines),
    }


def _line(line: CurveLine, style: int, across: Sequence[int], metric: str) -> PlotLine:
    points = []
    for n, score in zip(line.concepts, line.scores, strict=True):
        value, low, high = (
            NAN if v is None else float(v) for v in (score.value, score.low, score.high)
        )
        says = f"{line.method}, {n}: {metric_text(score.value, metric)}"
        points.append(Point(across.index(n), value, low, high, says=says, ringed=n == line.knee))
    return PlotLine(line.method, style, tuple(points))


def knee_text(line: CurveLine, better: str, metric_name: str = "") -> str:
    """What more concepts gain by a method, in a sentence."""
    name = method_text(line.method)
    if line.knee is not None:
        return f"Beyond {line.knee:g} concepts {name} gains little.{_doubt(line, metric_name)}"
    known = [s.value for s in line.scores if s.value is not None]
    if len(known) < max(len(line.scores), 3):
        return f"{name}: too few numbers of concepts to find a knee."
    gain = known[-1] - known[0] if better == "higher" else known[0] - known[-1]
    if gain <= 0:
        text = f"{name} gains nothing by more concepts."
        return text + _doubt(line, metric_name)
    text = f"{name} has no knee: it goes on gaining up to {line.concepts[-1]} concepts."
    return text + _doubt(line, metric_name)


def _doubt(line: CurveLine, metric_name: str) -> str:
    """Whether the gain from the fewest to the most concepts is sure, where it was looked at."""
    if line.decision is None:
        return ""
    power = power_text(line.decision, points(metric_name))
    return (
        f" A gain from {line.concepts[0]} to {line.concepts[-1]}: {line.decision.answer} ({power})."
    )
