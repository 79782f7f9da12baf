"""What the models of a run scored, and how far two of them lie apart."""

import numpy as np

from theodolite.findings.decision import DecisionRecord, FindingDecision, decision_record
from theodolite.run_folder.run_file import Record
from theodolite.run_folder.scores_file import ComparedRecord, numbers, score_named, written
from theodolite.run_folder.spec import Filter


class DifferenceRecord(Record):
    """How much more one model scores than another."""

    metric: str
    value: float | None
    low: float | None
    high: float | None
    p: float | None
    decision: DecisionRecord | None = None


def matches(model: ComparedRecord, conditions: Filter) -> bool:
    """Whether a model is what a filter asks for."""
    return all(
        k in model.about and model.about[k] in (v if isinstance(v, list) else [v])
        for k, v in conditions.items()
    )


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
