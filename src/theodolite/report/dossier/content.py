"""Write ``dossier.json`` from a finished run and the facts about its system."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from theodolite._runs.finished_run import Run
from theodolite._runs.folder.run_records import ProducedRecord
from theodolite._storage.records import Record
from theodolite._verdicts.bottom_line import bottom_line
from theodolite._verdicts.gates.file import Thresholds
from theodolite._verdicts.gates.outcome import check_gate
from theodolite.metrics.catalogue import catalogue
from theodolite.report.citations import references
from theodolite.report.dossier.crosswalk import COMPARED, CROSSWALK, DISCLAIMER, CrosswalkRow
from theodolite.report.dossier.facts import DossierFacts
from theodolite.report.words import full_title
from theodolite.results import Answer, Score, Verdict

Result = Literal["PASSED", "WARNED", "FAILED"]


class AnswerNull(Record):
    """What an explanation without knowledge scored, and how far the score is from it."""

    name: str
    label: str
    value: float | None
    difference_low: float | None = None
    difference_high: float | None = None


class AnswerScore(Record):
    """The score that an answer is read from; all of it is in ``scores.json``."""

    metric: str
    version: int
    title: str
    options: dict[str, Any]
    value: float | None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    better: Literal["higher", "lower"]
    best: float | None
    null: AnswerNull | None
    n: int
    n_unit: str
    n_undefined: int


class AnswerRecord(Record):
    """The answer to one question, with the score that it is read from."""

    question: str
    question_text: str
    answer: Answer
    summary: str
    score: AnswerScore | None = None


class NullNote(Record):
    """What an explanation without knowledge would score."""

    name: str
    label: str
    """The name in words for readers."""
    description: str


class MetricNote(Record):
    """Why a score answers its question, and when it does not."""

    metric: str
    version: int
    title: str
    question: str
    interpretation: str
    limitations: str
    nulls: list[NullNote]
    reference: str


class GateRow(Record):
    """A threshold, and whether it is met."""

    of: str
    threshold: str
    result: str
    outcome: Literal["met", "not met", "inconclusive"]
    passes: bool


class RunSummary(Record):
    """The run that a dossier is about."""

    name: str
    started: str
    command: str
    seeds: list[int]
    resamples: int
    level: float
    resampling_seed: int
    python: str
    machine: str
    packages: dict[str, str]
    code: str
    inputs: dict[str, str]
    """SHA-256 of what went in, by name."""
    failed_tasks: int


class DossierFile(Record):
    """The file ``dossier.json``."""

    format: Literal["theodolite-dossier"] = "theodolite-dossier"
    format_version: Literal[1] = 1
    facts: DossierFacts
    audited: str
    """Which explanation, of what, compared with what."""
    bottom_line: str
    result: Result
    answers: list[AnswerRecord]
    """Of the questions that were asked."""
    not_evaluated: list[AnswerRecord]
    gate: list[GateRow] = Field(default_factory=list)
    metrics: list[MetricNote]
    limits: list[str]
    run: RunSummary
    crosswalk: list[CrosswalkRow]
    crosswalk_compared: str
    disclaimer: str


@dataclass(frozen=True)
class DossierSource:
    """What a dossier is made from."""

    run: Run
    produced: ProducedRecord
    facts: DossierFacts
    thresholds: Thresholds | None


def dossier_file(source: DossierSource) -> DossierFile:
    """The content, in which nothing depends on when or where it is put together."""
    run = source.run
    gate = _gate(source)
    partial = [_partial(run.failed_tasks)] if run.failed_tasks else []
    return DossierFile(
        facts=source.facts,
        audited=run.subject.sentence,
        bottom_line=bottom_line(run.verdicts),
        result=_result(run.verdicts, gate),
        answers=[_answer(verdict) for verdict in asked_verdicts(run.verdicts)],
        not_evaluated=[_answer(v) for v in run.verdicts if v.answer == "not_evaluated"],
        gate=gate,
        metrics=_metrics(run.verdicts),
        limits=[*partial, *source.produced.notes, *map(str, run.errors)],
        run=_summary(source),
        crosswalk=list(CROSSWALK),
        crosswalk_compared=COMPARED,
        disclaimer=DISCLAIMER,
    )


def asked_verdicts(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Those of questions that were asked."""
    return [verdict for verdict in verdicts if verdict.answer != "not_evaluated"]


def _answer(verdict: Verdict) -> AnswerRecord:
    return AnswerRecord(
        question=verdict.question,
        question_text=verdict.question_text,
        answer=verdict.answer,
        summary=verdict.summary,
        score=None if verdict.score is None else _answer_score(verdict.score),
    )


def _answer_score(score: Score) -> AnswerScore:
    interval, null = score.interval, score.null
    difference = None if null is None else null.difference
    return AnswerScore(
        metric=score.metric,
        version=score.version,
        title=full_title(score),
        options=score.options,
        value=_finite(score.value),
        low=None if interval is None else _finite(interval.low),
        high=None if interval is None else _finite(interval.high),
        level=None if interval is None else interval.level,
        better=score.better,
        best=_finite(score.best),
        null=None
        if null is None
        else AnswerNull(
            name=null.name,
            label=null.label,
            value=_finite(null.value),
            difference_low=None if difference is None else _finite(difference.low),
            difference_high=None if difference is None else _finite(difference.high),
        ),
        n=score.n,
        n_unit=score.n_unit,
        n_undefined=score.n_undefined,
    )


def _finite(value: float) -> float | None:
    """JSON has no NaN and no infinity."""
    return value if math.isfinite(value) else None


def _gate(source: DossierSource) -> list[GateRow]:
    if source.thresholds is None:
        return []
    gate = check_gate(source.thresholds, source.run)
    return [
        GateRow(
            of=check.of, threshold=check.asked, result=check.found, outcome=check.outcome,
            passes=check not in gate.failures,
        )
        for check in gate.checks
    ]  # fmt: skip


def _result(verdicts: Sequence[Verdict], gate: Sequence[GateRow]) -> Result:
    """By the thresholds; without any nothing can fail, and only all yes passes."""
    if gate:
        if not all(row.passes for row in gate):
            return "FAILED"
        return "PASSED" if all(row.outcome == "met" for row in gate) else "WARNED"
    answers = {verdict.answer for verdict in asked_verdicts(verdicts)}
    return "PASSED" if answers == {"yes"} else "WARNED"


def _metrics(verdicts: Sequence[Verdict]) -> list[MetricNote]:
    names = dict.fromkeys(v.score.metric for v in verdicts if v.score is not None)
    known = [catalogue()[name] for name in names if name in catalogue()]
    return [
        MetricNote(
            metric=metric.name,
            version=metric.version,
            title=metric.title,
            question=metric.card.question,
            interpretation=metric.card.interpretation,
            limitations=metric.card.limitations,
            nulls=[
                NullNote(name=null.name, label=null.label, description=null.description)
                for null in metric.nulls
            ],
            reference=_reference(metric.cite),
        )
        for metric in known
    ]


def _reference(key: str) -> str:
    paper = references().get(key)
    return key if paper is None else paper.short


def _partial(pieces: int) -> str:
    return f"Incomplete: {pieces} tasks failed, and their samples are excluded."


def _summary(source: DossierSource) -> RunSummary:
    record, resampling = source.run.record, source.run.record.spec.resampling
    return RunSummary(
        name=record.spec.name,
        started=record.started,
        command=record.command or "from Python",
        seeds=list(record.spec.seeds),
        resamples=resampling.resamples,
        level=resampling.level,
        resampling_seed=resampling.seed,
        python=record.python,
        machine=record.machine,
        packages=record.packages,
        code=record.code,
        inputs=dict(sorted((source.produced.inputs | record.inputs).items())),
        failed_tasks=source.run.failed_tasks,
    )
