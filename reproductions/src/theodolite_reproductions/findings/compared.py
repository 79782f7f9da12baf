"""What the models of a run scored, and how far two of them lie apart."""

import numpy as np

from theodolite._storage.records import Record
from theodolite._verdicts.scores_file import ComparedRecord, numbers, score_named, written
from theodolite_reproductions.findings.decision import (
    DecisionRecord,
    FindingDecision,
    decision_record,
)


class DifferenceRecord(Record):
    """How much more one model scores than another."""

    metric: str
    value: float | None
    low: float | None
    high: float | None
    p: float | None
    decision: DecisionRecord | None = None


def repeats_of(model: ComparedRecord, metric: str, *, excess: bool = False) -> np.ndarray:
    """A score's values over seeds; with ``excess`` less the clean null of each."""
    score = score_named(model, metric)
    if score is None:
        return numbers([])
    values = numbers(score.per_seed or [score.value])
    if not excess or score.null is None:
        return values
    return np.asarray(values - numbers(score.null.per_seed or [score.null.value]))


def difference_record(metric: str, decision: FindingDecision) -> DifferenceRecord:
    """A difference as it is written."""
    return DifferenceRecord(
        metric=metric,
        value=written(decision.value),
        low=written(decision.low),
        high=written(decision.high),
        p=written(decision.p),
        decision=None if np.isnan(decision.value) else decision_record(decision),
    )
