"""Questions about several models at once, answered from their scores."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from theodolite._runs.folder.file_names import FINDINGS
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.folder.spec_answers import build_requests
from theodolite._stats.multiple import correct_holm
from theodolite._storage.records import Record, read_record, write_record
from theodolite._verdicts.scores_file import ComparedRecord, matches, written
from theodolite.evidence.base import Evidence
from theodolite.evidence.technique_columns import Tables
from theodolite_reproductions.findings.compared import (
    DifferenceRecord,
    difference_record,
    repeats_of,
)
from theodolite_reproductions.findings.correlation import (
    EFFECT,
    FEWEST_MODELS,
    Correlation,
    correlation_study,
)
from theodolite_reproductions.findings.criterion import (
    Criterion,
    Outcome,
    difference,
    leakage_criterion,
)
from theodolite_reproductions.findings.decision import (
    Answer,
    DecisionRecord,
    decide_correlation,
    decision_record,
)
from theodolite_reproductions.findings.faithfulness import (
    CurveRecord,
    LayersRecord,
    SanityRecord,
    curve_record,
    layers_record,
    sanity_record,
)
from theodolite_reproductions.findings.pairs import LookalikesRecord, lookalikes_record
from theodolite_reproductions.findings.score_correlations import (
    ScoreCorrelationsRecord,
    score_correlations,
)
from theodolite_reproductions.findings.specs import (
    CorrelationSpec,
    CriterionSpec,
    CurveSpec,
    LayersSpec,
    PairSpec,
    SanitySpec,
    ScoreCorrelationsSpec,
    TechniquesVotesSpec,
    VoteCorrelationsSpec,
    parse_studies,
)
from theodolite_reproductions.findings.techniques.record import TechniquesVotesRecord
from theodolite_reproductions.findings.techniques.study import techniques_record
from theodolite_reproductions.findings.vote_correlations import (
    VoteCorrelationsRecord,
    vote_correlations,
)

Scores = Literal["published", "mended"]
SCORES: dict[Scores, tuple[str, str]] = {
    "published": ("concept_task_leakage", "interconcept_leakage"),
    "mended": ("task_leakage_given_concept", "interconcept_leakage_given_concepts"),
}
"""The two scores that the criterion looks at: as published, and as we mend them."""


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
    decision: DecisionRecord | None = None
    """The answer with its power: what most pairs would have seen, with the fewest repeats."""


class CorrelationRowRecord(Record):
    """One score against another over models."""

    metric: str
    r: float | None
    low: float | None
    high: float | None
    p: float | None
    n: int
    paper: tuple[float, float] | None
    corrected_p: float | None = None
    """Holm's, for all scores of the table."""
    decision: DecisionRecord | None = None


class CorrelationRecord(Record):
    """Several scores against one over models."""

    kind: Literal["correlation"] = "correlation"
    title: str
    against: str
    rows: list[CorrelationRowRecord]


StudyRecord = (
    CriterionRecord
    | CorrelationRecord
    | LookalikesRecord
    | SanityRecord
    | LayersRecord
    | CurveRecord
    | ScoreCorrelationsRecord
    | VoteCorrelationsRecord
    | TechniquesVotesRecord
)


class FindingsFile(Record):
    """The file ``findings.json``."""

    format: Literal["theodolite-findings"] = "theodolite-findings"
    format_version: Literal[3] = 3
    findings: list[StudyRecord]


def read_findings(folder: Path) -> list[StudyRecord]:
    """What a run answered about its models; nothing, if it was asked nothing."""
    path = folder / FINDINGS
    return list(read_record(path, FindingsFile).findings) if path.is_file() else []


def write_findings(
    path: Path,
    spec: RunSpec,
    models: Sequence[ComparedRecord],
    evidence: Sequence[Sequence[Evidence]] = (),
    tables: Tables | None = None,
) -> None:
    """Answer the spec's questions about several models; some are about stored tables."""
    records: list[StudyRecord] = []
    for study in parse_studies(spec):
        match study:
            case CriterionSpec():
                records += _criteria(study, models)
            case CorrelationSpec():
                records.append(_correlation(study, models))
            case PairSpec():
                records.append(lookalikes_record(study, models))
            case SanitySpec() | LayersSpec() | CurveSpec():
                records.append(_of_faithfulness(study, models))
            case ScoreCorrelationsSpec():
                records.append(_between_scores(study, models, evidence))
            case VoteCorrelationsSpec():
                records.append(_with_votes(study, models, evidence))
            case TechniquesVotesSpec():
                records.append(techniques_record(study, tables or {}, evidence))
    write_record(path, FindingsFile(findings=records))


def _of_faithfulness(
    study: SanitySpec | LayersSpec | CurveSpec, models: Sequence[ComparedRecord]
) -> StudyRecord:
    match study:
        case SanitySpec():
            return sanity_record(study, models)
        case LayersSpec():
            return layers_record(study, models)
    return curve_record(study, models)


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
    requests = [(name, build_requests([metric])[0]) for name, metric in study.metrics.items()]
    return score_correlations(study.title, requests, chosen, effect=study.effect)


def _with_votes(
    study: VoteCorrelationsSpec,
    models: Sequence[ComparedRecord],
    evidence: Sequence[Sequence[Evidence]],
) -> VoteCorrelationsRecord:
    pairs = list(zip(models, evidence, strict=True))
    chosen = pairs[:1] + [p for p in pairs[1:] if study.where and matches(p[0], study.where)]
    named = [(str(m.about.get("votes", m.name)), bundles) for m, bundles in chosen]
    return vote_correlations(study.title, study.aggregate, named, effect=study.effect)


def _criteria(study: CriterionSpec, models: Sequence[ComparedRecord]) -> Iterator[CriterionRecord]:
    for scores, names in SCORES.items():
        # counts and neighbors err differently: the mended scores are compared by what exceeds
        # the clean null of the same model
        excess = scores == "mended"
        matched = list(_matched(study, models))
        tests = [
            leakage_criterion(
                *([repeats_of(m, name, excess=excess) for name in names] for m in pair),
                effect=study.effect,
            )
            for pair in matched
        ]
        # each model once, however many pairs it is in: pairs that share one are not independent
        sides = [list({m.name: m for m in side}.values()) for side in zip(*matched, strict=True)]
        if any(test.outcome != "undefined" for test in tests):
            decision = pairs_decision(tests, study.effect)
            means = [[_mean_model(side, name, excess=excess) for side in sides] for name in names]
            yield CriterionRecord(
                title=study.title,
                scores=scores,
                answer=decision.answer,
                pairs=[
                    _pair(*pair, test, names) for pair, test in zip(matched, tests, strict=True)
                ],
                pooled=[
                    difference_record(name, difference(more, less, effect=study.effect))
                    for name, (more, less) in zip(names, means, strict=True)
                ],
                paper=study.paper,
                decision=decision,
            )


def _mean_model(models: Sequence[ComparedRecord], metric: str, *, excess: bool) -> np.ndarray:
    """The mean over models for each seed."""
    each = [repeats_of(model, metric, excess=excess) for model in models]
    known = [values for values in each if len(values) == max(map(len, each))]
    return np.asarray(np.mean(known, axis=0))


def pairs_decision(tests: Sequence[Criterion], effect: float) -> DecisionRecord:
    """The answer of all pairs; what would be seen in most of them, with the fewest repeats."""
    defined = [[d for d in t.differences if not np.isnan(d.value)] for t in tests]
    pairs = [pair for pair in defined if pair]
    # NaN, a pair without an error, is the largest of a maximum and sorts last
    seen = np.sort([np.max([d.min_detectable_effect for d in pair]) for pair in pairs])
    needed = sorted(max(d.n_required or d.repeats for d in pair) for pair in pairs)
    answer = pairs_answer([test.outcome for test in tests])
    repeats = min((d.repeats for pair in pairs for d in pair), default=0)
    powerless = answer == "too few repeats" and repeats > 1
    return DecisionRecord(
        answer=answer,
        repeats=repeats,
        effect=effect,
        min_detectable_effect=written(float(seen[len(pairs) // 2])) if pairs else None,
        n_required=needed[len(pairs) // 2] if powerless else None,
    )


def pairs_answer(outcomes: Sequence[Outcome]) -> Answer:
    """What most pairs say and none denies.

    Confirmed where most say more and none less; contradicted the other way round; not there where
    most say so and none says more or less. Else there are too few repeats if the pairs that lack
    them could still bring one of these about; and where the others forbid it nobody can tell.
    """
    settled = _most(outcomes, ())
    if settled is not None:
        return settled
    hopeful = _most(outcomes, ("too few repeats",))
    return "inconclusive" if hopeful is None else "too few repeats"


def _most(outcomes: Sequence[Outcome], joining: Sequence[Outcome]) -> Answer | None:
    """What most pairs say and none denies, if those that are joining said the same."""
    claims: dict[Answer, tuple[Outcome, set[Outcome]]] = {
        "confirmed": ("more", {"less"}),
        "contradicted": ("less", {"more"}),
        "not there": ("not there", {"more", "less"}),
    }
    for answer, (outcome, denials) in claims.items():
        agreeing = sum(o == outcome or o in joining for o in outcomes)
        if agreeing > len(outcomes) / 2 and not denials & set(outcomes):
            return answer
    return None


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
        differences=[
            difference_record(name, d) for name, d in zip(names, test.differences, strict=True)
        ],
    )


def _correlation(study: CorrelationSpec, models: Sequence[ComparedRecord]) -> CorrelationRecord:
    chosen = [m for m in models if not study.where or any(matches(m, w) for w in study.where)]
    against = np.array([_mean_and_error(m, study.against) for m in chosen]).reshape(-1, 2).T
    correlations = []
    for metric in study.metrics:
        own = np.array([_mean_and_error(m, metric) for m in chosen]).reshape(-1, 2).T
        correlations.append(correlation_study((own[0], own[1]), (against[0], against[1])))
    steps = correct_holm([c.p for c in correlations])
    rows = [
        CorrelationRowRecord(
            metric=metric,
            r=written(c.r),
            low=written(c.low),
            high=written(c.high),
            p=written(c.p),
            n=c.n,
            paper=study.paper.get(metric),
            corrected_p=written(float(p)),
            decision=_follows(study, metric, c, 1 - float(step)),
        )
        for metric, c, p, step in zip(
            study.metrics, correlations, steps.p, steps.level, strict=True
        )
    ]
    return CorrelationRecord(title=study.title, against=study.against, rows=rows)


def _follows(
    study: CorrelationSpec, metric: str, correlation: Correlation, level: float
) -> DecisionRecord:
    """Whether a score follows the other as the paper says; by at least half of what it printed."""
    printed = study.paper.get(metric, (0.0, 0.0))[0]
    effect = study.effect or max(abs(printed) / 2, EFFECT)
    decision = decide_correlation(
        correlation.z, correlation.error, correlation.df, effect, -1 if printed < 0 else 1,
        level=level, repeats=correlation.n,
    )  # fmt: skip
    too_few = np.isnan(correlation.z) and correlation.n < FEWEST_MODELS
    record = decision_record(decision)
    return record.model_copy(update={"answer": "too few repeats"}) if too_few else record


def _mean_and_error(model: ComparedRecord, metric: str) -> tuple[float, float]:
    values = repeats_of(model, metric)
    values = values[~np.isnan(values)]
    if len(values) < 2:
        return float("nan"), float("nan")
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
