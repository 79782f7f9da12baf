"""The part of a report on faithfulness: methods, classes, outputs and concepts."""

from collections.abc import Sequence
from typing import Any

from theodolite._runs.folder.run_records import ProducedRecord
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.report_material import RunMaterial
from theodolite._verdicts.scores_file import ComparedRecord
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.subject import Subject
from theodolite.report.chapters.faithfulness_samples import (
    class_panels,
    concept_cards,
    scatter_panels,
    stored_evidence,
)
from theodolite.report.chapters.faithfulness_tables import benchmark, benchmark_models, linear_score
from theodolite.report.tables import mean_over_seeds
from theodolite.report.words import method_text, metric_text
from theodolite.results import Score

ScatterExplanation = tuple[str, str, SurrogateEvidence]
"""An explanation in the scatter: its name, its scores in words, its evidence."""


def faithfulness_chapter(
    material: RunMaterial,
    spec: RunSpec,
    made_record: ProducedRecord,
    subject: Subject,
    scores: Sequence[Score],
    models: Sequence[ComparedRecord],
) -> dict[str, Any] | None:
    """All that the page shows of faithfulness; None if the run does not ask for it."""
    if not any(score.question == "faithful" for score in scores):
        return None
    evidence = stored_evidence(material, spec)
    chosen = benchmark_models(models, spec)
    parts = {
        "benchmark": benchmark(chosen, models[0], spec) if models else None,
        "classes": None if evidence is None else class_panels(evidence),
        "scatter": scatter_panels(
            [*_main(evidence, models, spec), *_ends(material, models, chosen, spec)],
            subject.wording,
        ),
        "cards": concept_cards(material, made_record.concept_cards, evidence),
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
