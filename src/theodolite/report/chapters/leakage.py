"""The part of a report that shows leakage: what values, corrections, pairs and vectors tell."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.special import ndtri

from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.report_material import RunMaterial
from theodolite._stats.resampling import mean_interval
from theodolite._verdicts.scores_file import ComparedRecord
from theodolite._verdicts.words import percent
from theodolite.evidence.kinds.intervention import InterventionEvidence
from theodolite.report.chapters.leakage_models import ReportModel, shown_models
from theodolite.report.chapters.leakage_samples import activation_panels, vector_panels
from theodolite.report.figures.bars import Bar, bar_rows
from theodolite.report.figures.grid import shades, triangle
from theodolite.report.figures.lines import PlotLine, Point, accuracies, curves
from theodolite.report.figures.scales import Scale, get_item_interval, round_scale
from theodolite.report.figures.svg import Figure, filling, swatch
from theodolite.report.words import title, value_text
from theodolite.results import Detail, Score

MOST_CONCEPTS = 20
MOST_MODELS = 6
WORST_PAIRS = 10
PAIRED = ("interconcept_leakage", "interconcept_leakage_given_concepts")
SCORES = {
    "published": ("concept_task_leakage", "interconcept_leakage"),
    "mended": ("task_leakage_given_concept", "interconcept_leakage_given_concepts"),
}
"""The two scores of leakage that are drawn concept by concept: as published, and as corrected."""
MENDED_TASK = SCORES["mended"][0]


def leakage_chapter(
    material: RunMaterial, spec: RunSpec, scores: Sequence[Score], models: Sequence[ComparedRecord]
) -> dict[str, Any] | None:
    """All that the page shows of leakage; None if the run does not look for any."""
    if not any(score.question == "leak_free" for score in scores):
        return None
    report_models, missing = shown_models(material, spec, scores, models)
    few = report_models[:MOST_MODELS]
    parts = {
        "activations": activation_panels(report_models, _worst_first(report_models[0])[:2]),
        "interventions": correction_curves(few, spec.resampling.level),
        "bars": concept_figures(few),
        "pairs": [part for metric in PAIRED for part in _pair_panels(metric, report_models)],
        "vectors": vector_panels(report_models),
    }
    if not any(parts.values()):
        return None
    return parts | {
        "alone": len(report_models) == 1,
        "missing": missing,
        "left_out": [model.name for model in report_models[MOST_MODELS:]],
    }


def _worst_first(model: ReportModel) -> list[str]:
    """Concepts by how much they tell beside themselves, where a score says so; else in order."""
    for metric in (MENDED_TASK, *SCORES["published"]):
        detail = model.detail(metric, "concepts")
        if detail is not None:
            order = np.argsort(-np.nan_to_num(detail.values, nan=-1.0), kind="stable")
            return [detail.names[j] for j in order.tolist()]
    evidence = model.concepts()
    return [] if evidence is None else list(evidence.concepts.names)


def _key(models: Sequence[ReportModel], *, filled: bool) -> list[Any]:
    if len(models) < 2:
        return []
    return [(swatch(model.style, filled=filled), model.name) for model in models]


# corrections


def correction_curves(models: Sequence[ReportModel], level: float) -> dict[str, Any] | None:
    """Accuracy while concepts are corrected, a panel an order; None without such evidence."""
    candidates = [(model, _intervention_evidence(model)) for model in models]
    model_bundles = [(model, bundles) for model, bundles in candidates if bundles]
    if not model_bundles:
        return None
    policies = list(
        dict.fromkeys(p for _, bundles in model_bundles for p in bundles[0].policies.names)
    )
    lines = {
        policy: [
            _intervention_line(model, bundles, bundles[0].policies.names.index(policy), level)
            for model, bundles in model_bundles
            if policy in bundles[0].policies.names
        ]
        for policy in policies
    }
    if len(model_bundles) == 1:  # one model: its policies in one panel
        own = [_rename_line(lines[p][0], p, i) for i, p in enumerate(policies)]
        lines = {"": own} if len(own) > 1 else {policies[0]: own}
    up = accuracies(line for some in lines.values() for line in some)
    n_seeds = max(len(bundles) for _, bundles in model_bundles)
    return {
        "panels": [_panel(policy, some, up) for policy, some in lines.items()],
        "key": _key([model for model, _ in model_bundles], filled=False),
        "band": f"{100 * level:g} % interval over " + ("seeds" if n_seeds > 1 else "samples"),
        "has_reference": any(not math.isnan(o.reference) for some in lines.values() for o in some),
    }


def _intervention_evidence(model: ReportModel) -> list[InterventionEvidence]:
    bundles = [model.evidence(InterventionEvidence, seed) for seed in range(len(model.seeds))]
    return [bundle for bundle in bundles if bundle is not None]


def _rename_line(line: PlotLine, name: str, style: int) -> PlotLine:
    return PlotLine(name, style, line.points, line.reference if style == 0 else math.nan)


def _panel(policy: str, lines: Sequence[PlotLine], up: Scale) -> Figure:
    caption = f"Correction order: {policy}" if policy else "By correction order"
    steps = [f"{step}" for step in range(max(len(line.points) for line in lines))]
    return Figure(curves(lines, steps, up, caption, "concepts corrected"), caption=caption)


def _intervention_line(
    model: ReportModel, bundles: Sequence[InterventionEvidence], policy: int, level: float
) -> PlotLine:
    seed_accuracies = np.stack(
        [np.asarray(bundle.right_after)[:, policy].mean(axis=0) for bundle in bundles]
    )
    n = len(bundles[0])
    points = []
    for step in range(seed_accuracies.shape[1]):
        value = float(seed_accuracies[:, step].mean())
        low, high = value, value
        if len(bundles) == 1:
            low, high = wilson(value, n, level)
        else:
            interval = mean_interval(seed_accuracies[:, step], level, "seeds")
            if interval is not None:
                low, high = interval.low, interval.high
        says = f"{model.name}, {step} corrected: {100 * value:.1f} %"
        points.append(Point(step, value, low, high, says=says))
    honest = [bundle.right_reference for bundle in bundles if bundle.right_reference is not None]
    level_line = float(np.mean([part.mean() for part in honest])) if honest else math.nan
    return PlotLine(model.name, model.style, tuple(points), level_line)


def wilson(share: float, n: int, level: float) -> tuple[float, float]:
    """Wilson's interval for a share of n samples.

    >>> [round(end, 4) for end in wilson(0.9, 50, 0.95)]
    [0.7864, 0.9565]
    """
    z = float(ndtri((1 + level) / 2))
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return middle - half, middle + half


# concept by concept, pair by pair


def concept_figures(models: Sequence[ReportModel]) -> dict[str, Any] | None:
    """Scores concept by concept; None where no score has such."""
    metrics = [m for pair in zip(*SCORES.values(), strict=True) for m in pair]
    figures = []
    worst = _worst_first(models[0])
    names = worst[:MOST_CONCEPTS]
    for metric in metrics:
        candidates = [(model, model.score(metric, "concepts")) for model in models]
        model_scores = [(model, score) for model, score in candidates if score is not None]
        if model_scores:
            figures.append(_concept_figure(names, model_scores))
    if not figures:
        return None
    note = f"{len(names)} of {len(worst)} concepts shown" if len(worst) > len(names) else ""
    return {"figures": figures, "key": _key(models, filled=True), "note": note}


def _concept_figure(
    names: Sequence[str], model_scores: Sequence[tuple[ReportModel, Score]]
) -> Figure:
    first = model_scores[0][1]
    details = [(model, score.detail) for model, score in model_scores if score.detail]
    rows = [(name, [_concept_bar(name, *pair) for pair in details]) for name in names]
    ends = [end for _, bars in rows for bar in bars for end in (bar.value, bar.high)]
    svg = bar_rows(rows, round_scale(ends, first.bounds), title(first), first.bounds)
    return Figure(svg, title(first))


def _concept_bar(name: str, model: ReportModel, detail: Detail) -> Bar:
    """A model's value of a concept; NaN if it does not have it."""
    css = filling(model.style)
    if name not in detail.names:
        return Bar(css, math.nan)
    row = detail.names.index(name)
    value, text = float(detail.values[row]), f"{name}, {model.name}: {detail.values[row]:.3f}"
    ends = get_item_interval(detail, row)
    if ends is None:
        return Bar(css, value, text)
    return Bar(css, value, f"{text} [{ends[0]:.3f}, {ends[1]:.3f}]", *ends)


def _pair_panels(metric: str, models: Sequence[ReportModel]) -> Iterator[dict[str, Any]]:
    """One score's triangles, all on one scale, and the worst pairs of the first model."""
    candidates = [(model, model.score(metric, "pairs"), model.concepts()) for model in models]
    pair_scores = [
        (model, score, score.detail, evidence.concepts.names)
        for model, score, evidence in candidates
        if score is not None and score.detail is not None and evidence is not None
        and len(score.detail.names) == len(evidence.concepts) * (len(evidence.concepts) - 1) // 2
        and not np.isnan(score.detail.values).all()
    ]  # fmt: skip
    if not pair_scores:
        return
    _, first, detail, names = pair_scores[0]
    high = round_scale(np.concatenate([d.values for _, _, d, _ in pair_scores]), first.bounds).high
    panels = [
        Figure(
            triangle(d.values, n, high, first.bounds, f"{title(s)}, {model.name}"),
            title(first) if len(models) == 1 else model.name,
        )
        for model, s, d, n in pair_scores
    ]
    yield {
        "title": title(first),
        "panels": panels,
        "legend": shades(high, first.bounds),
        "named": len(names) <= 40,
        "size": "models" if len(names) <= 6 else "one" if 14 < len(names) <= 40 else "two",
        "worst": _worst_pairs(detail, first) if len(names) > 10 else [],
        "of": pair_scores[0][0].name,
    }


def _worst_pairs(detail: Detail, score: Score) -> list[tuple[str, str]]:
    order = np.argsort(-np.nan_to_num(detail.values, nan=-1.0), kind="stable")[:WORST_PAIRS]
    pairs = []
    for j in order.tolist():
        text = percent(float(detail.values[j]), score)
        ends = get_item_interval(detail, j)
        if ends is not None:
            text += f" [{', '.join(value_text(end, score) for end in ends)}]"
        pairs.append((detail.names[j], text))
    return pairs
