"""An audit as plain data, with a JSON schema that comes with the package."""

import json
from importlib.metadata import version
from typing import Any, Literal

from pydantic import ConfigDict

from theodolite._runs.auditing.result import AuditResult
from theodolite._storage.records import Record
from theodolite._verdicts.bottom_line import bottom_line
from theodolite._verdicts.rules import enough_line
from theodolite._verdicts.score_parts import ShareRecord
from theodolite._verdicts.scores_file import ScoreRecord, score_record
from theodolite.results import Answer, Reason, Verdict

SCHEMA = "result.schema.json"
"""File beside this module."""


class ResultVerdict(Record):
    """The answer to one question, and the score that it was read from."""

    question: str
    question_text: str
    answer: Answer
    summary: str
    reason: Reason
    metric: str | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    best: float | None = None
    """The best that any explanation could score on this evidence."""
    pass_mark: float | None = None
    """Value from which on the answer can be yes."""
    share: ShareRecord | None = None
    baselines: dict[str, float | None] = {}
    sensitivity: str = ""
    p: float | None = None
    n_required: int | None = None


class NotEvaluatedRecord(Record):
    """A question that was not evaluated, and the arguments that it needs."""

    question: str
    needs: str
    summary: str


class ResultFile(Record):
    """What ``AuditResult.to_dict`` returns."""

    model_config = ConfigDict(title="theodolite result")

    format: Literal["theodolite-result"] = "theodolite-result"
    format_version: Literal[1] = 1
    version: str
    kind: str
    explained: str
    n: int | None
    counts: dict[str, int]
    bottom_line: str
    verdicts: list[ResultVerdict]
    not_evaluated: list[NotEvaluatedRecord]
    scores: list[ScoreRecord]
    errors: list[str]
    notes: list[str]
    seed: int


def to_plain(result: AuditResult) -> dict[str, Any]:
    """Return a result as numbers, strings, lists and dictionaries; undefined numbers are None."""
    verdicts, bundles = result.verdicts, result.source.first
    counts = dict(result.counts)
    record = ResultFile(
        version=version("theodolite"),
        kind=bundles[0].kind if bundles else "",
        explained=result.audited,
        n=next(iter(counts.values()), max((s.n_samples or 0 for s in result.scores), default=None)),
        counts=counts,
        bottom_line=bottom_line(verdicts),
        verdicts=[_verdict(v) for v in verdicts if v.answer != "not_evaluated"],
        not_evaluated=[
            NotEvaluatedRecord(question=v.question, needs=v.needs, summary=v.summary)
            for v in verdicts
            if v.answer == "not_evaluated"
        ],
        scores=[score_record(score) for score in result.scores],
        errors=[str(failure) for failure in result.errors],
        notes=list(result.notes),
        seed=result.resampling.seed,
    )
    content: dict[str, Any] = json.loads(record.model_dump_json())
    return content


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of ``to_plain``, which ``result.schema.json`` holds."""
    return ResultFile.model_json_schema(mode="serialization")


def _verdict(verdict: Verdict) -> ResultVerdict:
    record = ResultVerdict(
        question=verdict.question, question_text=verdict.question_text, answer=verdict.answer,
        summary=verdict.summary, sensitivity=verdict.sensitivity,
        reason=verdict.reason, p=verdict.p, n_required=verdict.n_required,
    )  # fmt: skip
    score = verdict.score
    if score is None:
        return record
    written, interval = score_record(score), score.interval
    ends = {} if interval is None else {"low": interval.low, "high": interval.high}
    level = {} if interval is None else {"level": interval.level}
    quoted = {
        "metric": score.metric, "value": written.value, "best": written.best,
        "pass_mark": enough_line(score), "share": written.share,
        "baselines": {null.name: null.value for null in written.nulls},
    }  # fmt: skip
    return record.model_copy(update={**ends, **level, **quoted})
