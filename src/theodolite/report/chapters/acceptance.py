"""The part of a report about people: how far they agree, and whether that can be predicted."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.report_material import RunMaterial
from theodolite._verdicts.scores_file import ComparedRecord, score_of
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.metrics.catalogue import catalogue
from theodolite.report.figures.bars import columns
from theodolite.report.figures.lines import PlotLine, Point, chart
from theodolite.report.figures.svg import Figure
from theodolite.report.tables import Cell, Row, Table, mean_over_seeds, score_cell
from theodolite.report.words import value_text
from theodolite.results import Score

AGREEMENT = {
    "rater_agreement": ("each rater and the mode of the others (QWK)", {}),
    "rater_agreement, included": (
        "each rater and the mode of all raters (QWK)",
        {"own": "included"},
    ),
    "pairwise_agreement": ("pairs of raters (QWK)", {}),
    "krippendorff_alpha": ("Krippendorff's alpha", {}),
    "intraclass_correlation": ("intraclass correlation", {}),
    "rater_correlation": ("each rater and the mean of the others (Spearman)", {}),
    "acceptance": ("mean rating, from lowest to highest (%)", {}),
}
PREDICTED = {
    "predicted_rating_correlation": "rank correlation with the ratings",
    "predicted_rating_agreement": "agreement with the ratings (QWK)",
    "predicted_rating_error": "squared error",
}
SORTED_BY = "predicted_rating_correlation"
CEILING = {
    "predicted_rating_correlation": "rater_correlation",
    "predicted_rating_agreement": "rater_agreement",
}
"""What a person reaches against other people."""
BINS = 8
CALIBRATION = (
    "Explanations in eight groups, from the lowest prediction to the highest (numbers below). "
    "Marks: their mean rating; ticks: the prediction."
)
Models = Sequence[ComparedRecord]


def acceptance_chapter(
    material: RunMaterial, spec: RunSpec, scores: Sequence[Score], models: Models
) -> dict[str, Any] | None:
    """All that the page shows of people's ratings; None if the run has none."""
    evidence = material.evidence(RatingEvidence.kind, spec.seeds[0])
    if not isinstance(evidence, RatingEvidence):
        return None
    return {
        "figures": [*_calibration(evidence), _answers(evidence)],
        "agreement": _agreement(scores, models, spec),
        "accepted": any(score.metric == "acceptance" for score in scores),
        "predicted": _learned_scores(scores, models, spec),
        "level": f"{100 * spec.resampling.level:g} %",
    }


def _answers(evidence: RatingEvidence) -> Figure:
    ratings = np.asarray(evidence.ratings)
    counts = np.array([(ratings == answer).sum() for answer in evidence.scale], float)
    labels = [f"{answer:g}" for answer in evidence.scale]
    return Figure(
        columns(labels, counts, "Frequency of each rating"),
        "Distribution of ratings",
        f"{int(counts.sum()):,} ratings of {len(evidence):,} explanations.",
    )


def _agreement(scores: Sequence[Score], models: Models, spec: RunSpec) -> Table | None:
    """Sets of votes in rows, measures of agreement in columns."""
    main = str(models[0].about.get("votes", "")) if models else ""
    sets = [(main or "these ratings", list(scores))]
    sets += [
        (str(m.about.get("votes", m.name)), [score_of(s) for s in m.scores])
        for m in models[1:]
        if m.about.get("kind") == "votes"
    ]
    scored = [(name, {key: _agreement_score(own, key) for key in AGREEMENT}) for name, own in sets]
    measures = [key for key in AGREEMENT if any(own[key] is not None for _, own in scored)]
    rows = [Row((name,), tuple(_cell(own[key], spec) for key in measures)) for name, own in scored]
    if not measures:
        return None
    names = tuple(AGREEMENT[key][0] for key in measures)
    return Table(("votes",), names, tuple(rows), css="agreement")


def _agreement_score(scores: Sequence[Score], key: str) -> Score | None:
    metric = key.partition(",")[0]
    own = AGREEMENT[key][1].get("own", catalogue()[metric].options().get("own"))
    named = (score for score in scores if score.metric == metric)
    return next((score for score in named if score.options.get("own", own) == own), None)


def _learned_scores(scores: Sequence[Score], models: Models, spec: RunSpec) -> Table | None:
    """Learned scores, the best first, and what a person reaches above them."""
    metrics = [name for name in PREDICTED if any(s.metric == name for s in scores)]
    if not metrics:
        return None
    learned = [
        (m, {s.metric: score_of(s) for s in reversed(m.scores)})
        for m in models
        if m.about.get("kind") == "learned score"
    ]

    def place(pair: tuple[ComparedRecord, dict[str, Score]]) -> float:
        score = pair[1].get(SORTED_BY)
        value = math.nan if score is None else mean_over_seeds(score, spec.resampling.level)[0]
        return math.inf if math.isnan(value) else -value

    people = tuple(
        _cell(_agreement_score(scores, CEILING[name]) if name in CEILING else None, spec)
        for name in metrics
    )
    rows = []
    if any(cell.value != "–" for cell in people):
        rows.append(Row(("one person",), people, "people", ("agreement with others",)))
    for model, own in sorted(learned, key=place):
        features = str(model.about.get("features", ""))
        css = "own" if model is models[0] else ""
        cells = tuple(_cell(own.get(name), spec) for name in metrics)
        rows.append(Row((model.name,), cells, css, (features,) if features else ()))
    better = tuple(f"{catalogue()[name].better} is better" for name in metrics)
    names = tuple(PREDICTED[name] for name in metrics)
    return Table(("learned score",), names, tuple(rows), css="methods", better=better)


def _cell(score: Score | None, spec: RunSpec) -> Cell:
    level = spec.resampling.level
    if score is not None and score.interval is not None:  # over explanations: seeds share them
        score = replace(score, value=mean_over_seeds(score, level)[0], per_seed=())
    return score_cell(score, level, text=_format_value)


def _format_value(value: float, score: Score) -> str:
    if score.bounds == (0.0, 1.0):
        return value_text(value, score)
    return f"{round(value, 3) + 0.0:.3f}"


def _calibration(evidence: RatingEvidence) -> list[Figure]:
    """Draw the mean vote of explanations with about the same prediction, if there are enough."""
    if evidence.predicted is None:
        return []
    votes = np.asarray(evidence.ratings)
    there = ~np.isnan(votes)
    n = there.sum(axis=1)
    mean = np.where(there, votes, 0.0).sum(axis=1) / np.maximum(n, 1)
    predictions = np.asarray(evidence.predicted)
    known = np.flatnonzero(~np.isnan(predictions) & (n > 0))
    if len(known) < 4 * BINS:
        return []
    order = known[np.argsort(predictions[known], kind="stable")]
    points, names = [], []
    for at, rows in enumerate(np.array_split(order, BINS)):
        value, half = float(mean[rows].mean()), 1.96 * float(mean[rows].std()) / len(rows) ** 0.5
        says = (
            f"predicted {predictions[rows].mean():.2f}: rated {value:.2f}, {len(rows)} explanations"
        )
        points.append(Point(at, value, value - half, value + half, predictions[rows].mean(), says))
        names.append(f"{predictions[rows].mean():.2f}")
    ends = (float(evidence.scale[0]), float(evidence.scale[-1]))
    title = "Ratings by prediction"
    svg = chart([PlotLine("votes", 0, tuple(points))], names, ends, title)
    return [Figure(svg, title, CALIBRATION)]
