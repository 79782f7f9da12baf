"""Errors of metrics: which stay with the metric, and which do not."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import theodolite
from theodolite._planted.examples import plant_example
from theodolite._scoring.evaluate import MetricRequest, MetricRun, Resampling, evaluate_all
from theodolite._scoring.failures import RAISED, merge_arrays
from theodolite._stats.sampling import draw_pool
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.intervention import InterventionEvidence
from theodolite.evidence.shards import InMemoryShards
from theodolite.metrics.base import (
    CATALOGUE,
    Additive,
    Card,
    NullModel,
    PerSample,
    Pooled,
    SampleMean,
    Weights,
    metric,
    ratio,
    total,
)
from theodolite.metrics.leak_free.accuracy import InterventionAccuracy

QUICK = Resampling(resamples=20, shuffles=20)
EVIDENCE = plant_example(InterventionEvidence, 0)


@pytest.fixture
def declare() -> Iterator[Callable[..., Any]]:
    """Enter metrics for one test."""
    before = dict(CATALOGUE)
    yield lambda state, *nulls, name="toy": metric(
        name, title=name, version=1, question="leak_free", better="higher", bounds=(0.0, 1.0),
        cite="x", uses=("right_after",), nulls=nulls, card=Card("?", ".", ".", "."),
    )(state)  # fmt: skip
    CATALOGUE.clear()
    CATALOGUE.update(before)


def first(evidence: InterventionEvidence) -> np.ndarray:
    return evidence.right_after[:, 0, 0].astype(float)


class Mean(SampleMean):
    @staticmethod
    def each(evidence: InterventionEvidence) -> PerSample:
        return PerSample(first(evidence), np.ones(len(evidence)), np.ones(len(evidence), bool))


@dataclass(frozen=True)
class Sums(Additive):
    part: np.ndarray
    whole: np.ndarray

    @classmethod
    def of(cls, evidence: InterventionEvidence, weights: Weights = None) -> "Sums":
        return cls(total(first(evidence), weights), total(np.ones(len(evidence)), weights))

    def counted(self) -> tuple[np.ndarray, np.ndarray]:
        return self.whole, np.zeros_like(self.whole)

    def value(self) -> np.ndarray:
        return ratio(self.part, self.whole)


class All(Pooled):
    @staticmethod
    def measure(evidence: InterventionEvidence, weights: np.ndarray) -> np.ndarray:
        return np.asarray(weights @ first(evidence) / weights.sum(axis=1))


def reversed_rows(evidence: Any, seed: int, *sums: Any) -> Any:
    del seed
    assert all(len(own) for own in sums)
    return evidence[::-1]


NULLS = {
    "evidence": NullModel("n", "n", make=reversed_rows),
    "state": NullModel("n", "n", make=lambda state, seed: state, on="state"),
    "sums": NullModel("n", "n", make=reversed_rows, sums=lambda e: {"n": np.array([len(e)])}),
    "pool": NullModel(
        "n", "n", make=reversed_rows,
        sums=lambda e: draw_pool(np.asarray(e.samples.index), {"first": first(e)}),
    ),
    "expected": NullModel("n", "n", expected=Mean.each, random=False),
}  # fmt: skip


@pytest.mark.parametrize("form", NULLS)
@pytest.mark.parametrize("state", [Mean, Sums, All])
def test_states_take_nulls_or_refuse_them_at_once(
    state: type[Any], form: str, declare: Callable[..., Any]
) -> None:
    if form == "expected" and state is not Mean:
        with pytest.raises(ValueError, match="is no SampleMean"):
            declare(state, NULLS[form])
        assert "toy" not in CATALOGUE
        return
    declare(state, NULLS[form])
    run = MetricRun(MetricRequest(CATALOGUE["toy"]), [InMemoryShards(EVIDENCE)])
    ((score,),) = evaluate_all([run], QUICK)
    assert score.value == score.null.value == pytest.approx(first(EVIDENCE).mean())


def test_a_null_on_the_state_needs_no_sums() -> None:
    with pytest.raises(ValueError, match="all sums already"):
        NullModel("n", "n", make=reversed_rows, on="state", sums=lambda e: {})


def raises(error: BaseException) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail


@pytest.mark.parametrize("error", [ZeroDivisionError("x"), EvidenceError("x")])
def test_sums_of_a_null_that_fail_end_its_request(
    declare: Callable[..., Any], error: Exception
) -> None:
    declare(Mean, NullModel("n", "n", make=reversed_rows, sums=raises(error)))
    declare(All, NullModel("n", "n", make=reversed_rows, sums=raises(error)), name="pooled")
    runs = [
        MetricRun(MetricRequest(CATALOGUE[name]), [InMemoryShards(EVIDENCE)])
        for name in ("intervention_accuracy", "toy", "pooled")
    ]
    failures: list[Any] = []
    groups = evaluate_all(runs, QUICK, failures=failures)
    assert [(f.metric, f.stage) for f in failures] == [("toy", "null n"), ("pooled", "null n")]
    assert failures[0].places[-1].endswith(" fail")
    assert groups[1:] == [[], []]
    assert repr(groups[:1]) == repr(evaluate_all(runs[:1], QUICK))
    with pytest.raises(type(error), match="x"):
        evaluate_all(runs, QUICK)


@pytest.mark.parametrize("error", [MemoryError(), KeyboardInterrupt(), EvidenceError("ours")])
def test_what_ends_an_audit_as_before(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(InterventionAccuracy, "of", raises(error))
    with pytest.raises(type(error)):
        theodolite.audit(EVIDENCE, resamples=20)


def test_on_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InterventionAccuracy, "of", raises(ZeroDivisionError("really")))
    result = theodolite.audit(EVIDENCE, resamples=20)
    assert {f.metric for f in result.errors} == {"intervention_accuracy"}
    assert "intervention_accuracy" not in {r.metric.name for r in result.requests}
    with pytest.raises(ZeroDivisionError, match="really"):
        theodolite.audit(EVIDENCE, resamples=20, on_error="raise")
    with pytest.raises(EvidenceError, match="'note' or 'raise'"):
        theodolite.audit(EVIDENCE, on_error="ignore")


def test_a_state_that_fails_in_one_piece_is_lost_in_all() -> None:
    one = np.ones(1)
    well = {"0:.part": one, "1:.part": one}
    ill = {f"0:{RAISED}": one, "1:.part": one}
    for left, right in ((well, ill), (ill, well)):
        assert merge_arrays(left, right) == {f"0:{RAISED}": one, "1:.part": 2 * one}
