"""The file ``scores.json``: scores and verdicts as records."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from theodolite._storage.records import Record, read_record, write_record
from theodolite._verdicts.answers import MissingScore
from theodolite._verdicts.detail_records import (
    DetailRecord,
    detail_of,
    detail_record,
    listed,
    numbers,
    written,
)
from theodolite._verdicts.score_parts import (
    AnnotationRecord,
    CaveatRecord,
    DefectRecord,
    IntervalRecord,
    NullRecord,
    PairRecord,
    ShareRecord,
)
from theodolite.evidence.subject import Subject
from theodolite.results import (
    AnnotationAllowance,
    Answer,
    Caveat,
    DefectTest,
    Failed,
    Interval,
    Null,
    PairShare,
    Reason,
    Score,
    Share,
    Verdict,
)

__all__ = [
    "CaveatRecord",
    "ComparedFile",
    "ComparedRecord",
    "DefectRecord",
    "DetailRecord",
    "Filter",
    "IntervalRecord",
    "MetricErrorRecord",
    "NotComputedRecord",
    "NullRecord",
    "ScoreRecord",
    "ScoresFile",
    "VerdictRecord",
    "matches",
    "numbers",
    "read_failed",
    "read_scores",
    "score_named",
    "score_of",
    "score_record",
    "scores_file",
    "write_scores",
    "written",
]  # fmt: skip


Plain = str | int | float
Filter = dict[str, Plain | list[Plain]]
"""Models by what tells them apart, such as ``encoding: soft``; a list stands for any of it."""


class ScoreRecord(Record):
    """One score. Undefined numbers are null."""

    metric: str
    version: int
    question: Literal["exists", "located", "leak_free", "faithful", "detects", "accepted"]
    value: float | None
    better: Literal["higher", "lower"]
    bounds: tuple[float | None, float | None]
    """Lowest and highest possible; null where there is no limit."""
    best: float | None
    """The best that any explanation could score on this evidence."""
    n: int
    n_undefined: int
    n_unit: str
    options: dict[str, Any]
    interval: IntervalRecord | None
    """The interval to quote: the first of ``intervals``."""
    null: NullRecord | None
    """The strongest baseline: the first of ``nulls``."""
    intervals: list[IntervalRecord]
    nulls: list[NullRecord]
    detail: DetailRecord | None
    per_seed: list[float | None] = Field(default_factory=list)
    n_samples: int | None = None
    n_clusters: int | None = None
    defect: DefectRecord | None = None
    caveat: CaveatRecord | None = None
    n_labels: int | None = None
    n_rarest_label: int | None = None
    n_concepts: int | None = None
    annotation: AnnotationRecord | None = None
    pairs: list[PairRecord] = Field(default_factory=list)
    n_required: int | None = None
    share: ShareRecord | None = None
    facts: dict[str, float | None] = Field(default_factory=dict)


class NotComputedRecord(Record):
    """A score that could not be had."""

    metric: str
    needs: list[str]


class MetricErrorRecord(Record):
    """A score that could not be computed, because its metric raised an error."""

    metric: str
    options: dict[str, Any]
    stage: str
    error: str


class VerdictRecord(Record):
    """The answer to a question, and the score it was read from."""

    question: Literal["exists", "located", "leak_free", "faithful", "detects", "accepted"]
    answer: Answer
    """``not asked`` only where something else answered in the network's place."""
    summary: str
    metric: str
    """Empty where the question was not asked."""
    options: dict[str, Any]
    reason: Reason = ""
    p: float | None = None
    min_detectable_effect: float | None = None
    n_required: int | None = None


class ScoresFile(Record):
    """The file ``scores.json``."""

    format: Literal["theodolite-scores"] = "theodolite-scores"
    format_version: Literal[3] = 3
    verdicts: list[VerdictRecord] = Field(default_factory=list)
    scores: list[ScoreRecord]
    not_computed: list[NotComputedRecord] = Field(default_factory=list)
    errors: list[MetricErrorRecord] = Field(default_factory=list)
    subject: Subject | None = None
    """Which explanation was audited, and whose outputs it is held against."""


class ComparedRecord(Record):
    """The scores of one of several models."""

    name: str
    about: dict[str, float | int | str]
    scores: list[ScoreRecord]


class ComparedFile(Record):
    """The file ``compared.json``: every model of the run, the one of the verdicts first."""

    format: Literal["theodolite-compared"] = "theodolite-compared"
    format_version: Literal[3] = 3
    models: list[ComparedRecord]


def score_named(model: ComparedRecord, metric: str, **options: Any) -> ScoreRecord | None:
    """A model's score by a metric: the first that was asked for with these options."""
    return next(
        (
            score
            for score in model.scores
            if score.metric == metric
            and all(score.options.get(name) == value for name, value in options.items())
        ),
        None,
    )


def _interval_record(interval: Interval | None) -> IntervalRecord | None:
    return None if interval is None else IntervalRecord.model_validate(vars(interval))


def _null_record(null: Null) -> NullRecord:
    return NullRecord(
        name=null.name,
        value=written(null.value),
        difference=_interval_record(null.difference),
        per_seed=listed(np.array(null.per_seed)),
        p=null.p,
        draws=list(null.draws),
        label=null.label,
    )


def score_record(score: Score) -> ScoreRecord:
    """A score as it is written."""
    nulls = [_null_record(null) for null in score.nulls]
    intervals = [i for i in map(_interval_record, score.intervals) if i is not None]
    return ScoreRecord(
        metric=score.metric,
        version=score.version,
        question=score.question,
        better=score.better,
        bounds=_ends(score.bounds),
        best=written(score.best),
        n=score.n,
        n_undefined=score.n_undefined,
        n_unit=score.n_unit,
        value=written(score.value),
        options=_plain_options(score.options),
        interval=intervals[0] if intervals else None,
        null=nulls[0] if nulls else None,
        intervals=intervals,
        nulls=nulls,
        per_seed=listed(np.array(score.per_seed)),
        n_samples=score.n_samples,
        n_clusters=score.n_clusters,
        defect=None if score.defect is None else DefectRecord(**vars(score.defect)),
        caveat=None if score.caveat is None else CaveatRecord(**vars(score.caveat)),
        n_labels=score.n_labels,
        n_rarest_label=score.n_rarest_label,
        n_concepts=score.n_concepts,
        annotation=None if score.annotation is None else AnnotationRecord(**vars(score.annotation)),
        pairs=[PairRecord(**vars(pair)) for pair in score.pairs],
        n_required=score.n_required,
        share=None if score.share is None else ShareRecord(**vars(score.share)),
        facts={name: written(value) for name, value in score.facts.items()},
        detail=None if score.detail is None else detail_record(score.detail),
    )


def _ends(bounds: tuple[float, float]) -> tuple[float | None, float | None]:
    low, high = (end if math.isfinite(end) else None for end in bounds)
    return low, high


def _bounds(ends: tuple[float | None, float | None]) -> tuple[float, float]:
    low, high = ends
    return -math.inf if low is None else low, math.inf if high is None else high


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _interval_of(interval: IntervalRecord | None) -> Interval | None:
    return None if interval is None else Interval(**interval.model_dump())


def _null_of(null: NullRecord) -> Null:
    seeds = tuple(map(_number, null.per_seed))
    away = _interval_of(null.difference)
    draws = tuple(null.draws)
    return Null(null.name, _number(null.value), away, seeds, null.p, draws, null.label)


def score_of(record: ScoreRecord) -> Score:
    """A written score as it was."""
    return Score(
        metric=record.metric,
        version=record.version,
        question=record.question,
        value=_number(record.value),
        better=record.better,
        bounds=_bounds(record.bounds),
        best=_number(record.best),
        n=record.n,
        n_undefined=record.n_undefined,
        n_unit=record.n_unit,
        options=record.options,
        intervals=tuple(Interval(**i.model_dump()) for i in record.intervals),
        nulls=tuple(map(_null_of, record.nulls)),
        per_seed=tuple(map(_number, record.per_seed)),
        n_samples=record.n_samples,
        n_clusters=record.n_clusters,
        defect=None if record.defect is None else DefectTest(**record.defect.model_dump()),
        caveat=None if record.caveat is None else Caveat(**record.caveat.model_dump()),
        n_labels=record.n_labels,
        n_rarest_label=record.n_rarest_label,
        n_concepts=record.n_concepts,
        annotation=(
            None
            if record.annotation is None
            else AnnotationAllowance(**record.annotation.model_dump())
        ),
        pairs=tuple(PairShare(**pair.model_dump()) for pair in record.pairs),
        n_required=record.n_required,
        share=None if record.share is None else Share(**record.share.model_dump()),
        facts={name: _number(value) for name, value in record.facts.items()},
        detail=None if record.detail is None else detail_of(record.detail),
    )


def scores_file(
    scores: Sequence[Score],
    verdicts: Sequence[Verdict],
    not_computed: Sequence[MissingScore],
    failed: Sequence[Failed] = (),
    subject: Subject | None = None,
) -> ScoresFile:
    """Scores, the verdicts read from them, what could not be asked and what failed."""
    return ScoresFile(
        verdicts=[
            VerdictRecord(
                question=v.question,
                answer=v.answer,
                summary=v.summary,
                metric="" if v.score is None else v.score.metric,
                options={} if v.score is None else _plain_options(v.score.options),
                reason=v.reason,
                p=v.p,
                min_detectable_effect=v.min_detectable_effect,
                n_required=v.n_required,
            )
            for v in verdicts
            if (v.score is not None and v.answer != "not_evaluated") or v.reason == "probe_only"
        ],
        scores=[score_record(s) for s in scores],
        not_computed=[
            NotComputedRecord(metric=u.metric, needs=list(u.needs)) for u in not_computed
        ],
        errors=[
            MetricErrorRecord(
                metric=f.metric, options=_plain_options(f.options), stage=f.stage, error=f.error
            )
            for f in failed
        ],
        subject=subject,
    )


def write_scores(path: Path, content: ScoresFile) -> None:
    """Write ``scores.json``: equal scores are equal bytes."""
    write_record(path, content)


def _plain_options(options: dict[str, Any]) -> dict[str, Any]:
    return {k: list(v) if isinstance(v, tuple) else v for k, v in options.items()}


def read_scores(path: Path) -> tuple[list[Score], list[NotComputedRecord]]:
    """Read ``scores.json``."""
    content = read_record(path, ScoresFile)
    return [score_of(record) for record in content.scores], content.not_computed


def read_failed(path: Path) -> tuple[Failed, ...]:
    """The scores that ``scores.json`` says could not be computed."""
    return tuple(Failed(**record.model_dump()) for record in read_record(path, ScoresFile).errors)


def matches(model: ComparedRecord, conditions: Filter) -> bool:
    """Return whether a model has the attributes that a filter names."""
    return all(
        k in model.about and model.about[k] in (v if isinstance(v, list) else [v])
        for k, v in conditions.items()
    )
