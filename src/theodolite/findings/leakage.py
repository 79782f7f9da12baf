"""Questions about several models at once, answered from their scores."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from theodolite.evidence.base import Evidence
from theodolite.findings.correlation import correlation_study
from theodolite.findings.criterion import (
    Criterion,
    GroupDifference,
    Outcome,
    difference,
    leakage_criterion,
)
from theodolite.findings.faithfulness import (
    CurveRecord,
    LayersRecord,
    SanityRecord,
    curve_record,
    layers_record,
    sanity_record,
)
from theodolite.findings.score_correlations import ScoreCorrelationsRecord, score_correlations
from theodolite.findings.vote_correlations import VoteCorrelationsRecord, vote_correlations
from theodolite.run_folder.headlines import requests_named
from theodolite.run_folder.run_file import Record, write_record
from theodolite.run_folder.scores_file import ComparedRecord, numbers, score_named, written
from theodolite.run_folder.spec import (
    CorrelationSpec,
    CriterionSpec,
    CurveSpec,
    Filter,
    LayersSpec,
    RunSpec,
    SanitySpec,
    ScoreCorrelationsSpec,
    VoteCorrelationsSpec,
)

Scores = Literal["published", "mended"]
SCORES: dict[Scores, tuple[str, str]] = {
    "published": ("concept_task_leakage", "interconcept_leakage"),
    "mended": ("task_leakage_given_concept", "interconcept_leakage_given_concepts"),
}
"""The two scores that the criterion looks at: as published, and as we mend them."""
Answer = Literal["confirmed", "not confirmed", "contradicted", "cannot tell"]


class DifferenceRecord(Record):
    """How much more one model scores than another."""

    metric: str
    value: float | None
    low: float | None
    high: float | None
    p: float | None


class PairRecord(Record):
    """The criterion for two models."""

    more: str
    less: str
    outcome: Outcome
    differences: list[DifferenceRecord]


class CriterionRecord(Record):
    """The criterion for all matched pairs, and what follows."""

    kind: Literal["criterion"] = "criterion"
    title: str
    scores: Scores
    answer: Answer
    pairs: list[PairRecord]
    pooled: list[DifferenceRecord]
    """Difference of the mean models of both sides, with the interval over seeds."""
    paper: str


class CorrelationRowRecord(Record):
    """One score against another over models."""

    metric: str
    r: float | None
    low: float | None
    high: float | None
    p: float | None
    n: int
    paper: tuple[float, float] | None


class CorrelationRecord(Record):
    """Several scores against one over models."""

    kind: Literal["correlation"] = "correlation"
    title: str
    against: str
    rows: list[CorrelationRowRecord]


StudyRecord = (
    CriterionRecord
    | CorrelationRecord
    | SanityRecord
    | LayersRecord
    | CurveRecord
    | ScoreCorrelationsRecord
    | VoteCorrelationsRecord
)


class StudiesFile(Record):
    """The file ``studies.json``."""

    format: Literal["theodolite-studies"] = "theodolite-studies"
    format_version: Literal[1] = 1
    studies: list[StudyRecord]


def write_studies(
    path: Path,
    spec: RunSpec,
    models: Sequence[ComparedRecord],
    evidence: Sequence[Sequence[Evidence]] = (),
) -> None:
    """Answer the spec's questions about several models."""
    records: list[StudyRecord] = []
    for study in spec.studies:
        match study:
            case CriterionSpec():
                records += _criteria(study, models)
            case CorrelationSpec():
                records.append(_correlation(study, models))
            case SanitySpec():
                records.append(sanity_record(study, models))
            case LayersSpec():
                records.append(layers_record(study, models))
            case CurveSpec():
                records.append(curve_record(study, models))
            case ScoreCorrelationsSpec():
                records.append(_between_scores(study, models, evidence))
            case VoteCorrelationsSpec():
                records.append(_with_votes(study, models, evidence))
    write_record(path, StudiesFile(studies=records))


def _between_scores(
    study: ScoreCorrelationsSpec,
    models: Sequence[ComparedRecord],
    evidence: Sequence[Sequence[Evidence]],
) -> ScoreCorrelationsRecord:
    """Of the first seed of each model."""
    chosen = [
        bundles
        for model, bundles in zip(models, evidence, strict=True)
        if not (study.without and matches(model, study.without))
    ]
    requests = [(name, requests_named([metric])[0]) for name, metric in study.metrics.items()]
    return score_correlations(study.title, requests, chosen)


def _with_votes(
    study: VoteCorrelationsSpec,
    models: Sequence[ComparedRecord],
    evidence: Sequence[Sequence[Evidence]],
) -> VoteCorrelationsRecord:
    pairs = list(zip(models, evidence, strict=True))
    chosen = pairs[:1] + [p for p in pairs[1:] if study.where and matches(p[0], study.where)]
    named = [(str(m.about.get("votes", m.name)), bundles) for m, bundles in chosen]
    return vote_correlations(study.title, study.aggregate, named)


def matches(model: ComparedRecord, conditions: Filter) -> bool:
    """Whether a model is what a filter asks for."""
    return all(k in model.about and model.about[k] == v for k, v in conditions.items())


def _repeats(model: ComparedRecord, metric: str, *, excess: bool = False) -> np.ndarray:
    """A score's values over seeds; with ``excess`` less the clean null of each."""
    score = score_named(model, metric)
    values = [] if score is None else score.per_seed
    if score is None or not excess or score.null is None:
        return numbers(values)
    return np.asarray(numbers(values) - numbers(score.null.per_seed))


def _criteria(study: CriterionSpec, models: Sequence[ComparedRecord]) -> Iterator[CriterionRecord]:
    for scores, names in SCORES.items():
        # counts and neighbours err differently: the mended scores are compared by what exceeds
        # the clean null of the same model
        excess = scores == "mended"
        pairs = []
        matched = list(_matched(study, models))
        for more, less in matched:
            test = leakage_criterion(
                [_repeats(more, name, excess=excess) for name in names],
                [_repeats(less, name, excess=excess) for name in names],
            )
            pairs.append(_pair(more, less, test, names))
        # each model once, however many pairs it is in: pairs that share one are not independent
        sides = [list({m.name: m for m in side}.values()) for side in zip(*matched, strict=True)]
        if any(pair.outcome != "undefined" for pair in pairs):
            yield CriterionRecord(
                title=study.title,
                scores=scores,
                answer=_answer([pair.outcome for pair in pairs]),
                pairs=pairs,
                pooled=[
                    _difference(
                        name,
                        difference(*(_mean_model(side, name, excess=excess) for side in sides)),
                    )
                    for name in names
                ],
                paper=study.paper,
            )


def _mean_model(models: Sequence[ComparedRecord], metric: str, *, excess: bool) -> np.ndarray:
    """The mean over models for each seed."""
    each = [_repeats(model, metric, excess=excess) for model in models]
    known = [values for values in each if len(values) == max(map(len, each))]
    return np.asarray(np.mean(known, axis=0))


def _answer(outcomes: Sequence[Outcome]) -> Answer:
    """Confirmed where most pairs say so and none the opposite; contradicted the other way round."""
    more, less, most = outcomes.count("more"), outcomes.count("less"), len(outcomes) / 2
    if not more + less + outcomes.count("compatible"):
        return "cannot tell"
    if less > most and not more:
        return "contradicted"
    return "confirmed" if more > most and not less else "not confirmed"


def _matched(
    study: CriterionSpec, models: Sequence[ComparedRecord]
) -> Iterator[tuple[ComparedRecord, ComparedRecord]]:
    for more in models:
        for less in models:
            alike = all(more.about.get(key) == less.about.get(key) for key in study.matched)
            if (
                more is not less
                and alike
                and matches(more, study.more)
                and matches(less, study.less)
            ):
                yield more, less


def _pair(
    more: ComparedRecord, less: ComparedRecord, test: Criterion, names: Sequence[str]
) -> PairRecord:
    return PairRecord(
        more=more.name,
        less=less.name,
        outcome=test.outcome,
        differences=[_difference(name, d) for name, d in zip(names, test.differences, strict=True)],
    )


def _difference(metric: str, group_difference: GroupDifference) -> DifferenceRecord:
    return DifferenceRecord(
        metric=metric,
        value=written(group_difference.value),
        low=written(group_difference.low),
        high=written(group_difference.high),
        p=written(group_difference.p),
    )


def _correlation(study: CorrelationSpec, models: Sequence[ComparedRecord]) -> CorrelationRecord:
    chosen = [m for m in models if not study.where or any(matches(m, w) for w in study.where)]
    rows = []
    for metric in study.metrics:
        pairs = [(_mean_and_error(m, metric), _mean_and_error(m, study.against)) for m in chosen]
        x, y = (np.array([pair[i] for pair in pairs]).reshape(-1, 2).T for i in (0, 1))
        correlation = correlation_study((x[0], x[1]), (y[0], y[1]))
        rows.append(
            CorrelationRowRecord(
                metric=metric,
                r=written(correlation.r),
                low=written(correlation.low),
                high=written(correlation.high),
                p=written(correlation.p),
                n=correlation.n,
                paper=study.paper.get(metric),
            )
        )
    return CorrelationRecord(title=study.title, against=study.against, rows=rows)


def _mean_and_error(model: ComparedRecord, metric: str) -> tuple[float, float]:
    values = _repeats(model, metric)
    values = values[~np.isnan(values)]
    if len(values) < 2:
        return float("nan"), float("nan")
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
