"""Models that are equally accurate and fare differently when corrected: scores and curves."""

from collections.abc import Sequence
from typing import Any

from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.report_material import RunMaterial
from theodolite._verdicts.scores_file import ComparedRecord, score_of
from theodolite.report.chapters.leakage import concept_figures, correction_curves
from theodolite.report.chapters.leakage_models import ReportModel
from theodolite.report.figures.strips import difference_strip
from theodolite_reproductions.chapters.findings import difference_text, reach_of, title_of
from theodolite_reproductions.findings.leakage import StudyRecord
from theodolite_reproductions.findings.pairs import APART, LookalikeRecord, LookalikesRecord

MOST_PAIRS = 3
"""Of which curves and concepts are drawn; all are in the table."""


def lookalikes_chapter(
    studies: Sequence[StudyRecord], material: RunMaterial, models: Sequence[ComparedRecord]
) -> list[dict[str, Any]]:
    """Return one part for each study of pairs."""
    spec = material.record.spec
    pairs = [study for study in studies if isinstance(study, LookalikesRecord)]
    return [_study(study, material, spec, models) for study in pairs]


def _study(
    study: LookalikesRecord, material: RunMaterial, spec: RunSpec, models: Sequence[ComparedRecord]
) -> dict[str, Any]:
    pairs = sorted(study.pairs, key=_apart, reverse=True)
    differences = [d for pair in pairs for d in pair.differences]
    reach = reach_of(differences)
    return {
        "title": study.title,
        "paper": study.paper,
        "compared": study.compared,
        "alike": f"{100 * study.alike:g}",
        "apart": f"{100 * study.apart:g}",
        "scores": [title_of(d.metric) for d in pairs[0].differences] if pairs else [],
        "pairs": [
            (pair.more, pair.less,
             [(difference_strip(d.value, d.low, d.high, reach, better=None), difference_text(d))
              for d in pair.differences])
            for pair in pairs
        ],
        "drawn": [_figures(pair, material, spec, models) for pair in pairs[:MOST_PAIRS]],
    }  # fmt: skip


def _figures(
    pair: LookalikeRecord, material: RunMaterial, spec: RunSpec, models: Sequence[ComparedRecord]
) -> dict[str, Any]:
    """Curves and concepts of both, the one that fares worse first."""
    by_name = {model.name: model for model in models}
    both = [
        ReportModel(
            name, style,
            tuple(s for s in spec.seeds if material.has_seed(s, _place(name, models))),
            tuple(map(score_of, by_name[name].scores)), material, _place(name, models),
        )
        for style, name in enumerate((pair.more, pair.less))
    ]  # fmt: skip
    curves, bars = correction_curves(both, spec.resampling.level), concept_figures(both)
    parts = [] if curves is None else [{"key": curves["key"], "figures": curves["panels"]}]
    return {
        "names": f"{pair.more} and {pair.less}",
        "parts": parts + ([] if bars is None else [bars]),
    }


def _place(name: str, models: Sequence[ComparedRecord]) -> str:
    """Return where the evidence lies: that of the first model has no name of its own."""
    return "" if name == models[0].name else name


def _apart(pair: LookalikeRecord) -> float:
    return next((d.value or 0.0 for d in pair.differences if d.metric == APART), 0.0)
