"""The rule of "leak-free": all values together, and the concept that leaks most."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import theodolite
from theodolite._verdicts.from_scores import score_verdict
from theodolite._verdicts.leakage import INDEPENDENT
from theodolite.results import (
    AnnotationAllowance,
    Caveat,
    DefectTest,
    Detail,
    DetailTests,
    Interval,
    Null,
    PairShare,
    Score,
    Verdict,
)

BOUNDS = (-1.0, 1.0)


def _score(metric: str, value: float, test: DefectTest | None, **more: Any) -> Score:
    interval = Interval(value - 0.01, value + 0.01, 0.95, "samples", "t", 1000)
    null = Null("leak_free_reference", 0.0, interval)
    return Score(
        metric, 1, "leak_free", value, "lower", BOUNDS, -1.0, 1000, 0, "samples",
        intervals=(interval,), nulls=(null,), n_samples=1000, defect=test, **more,
    )  # fmt: skip


def _test(low: float, high: float, *, below: float, some: float, above: float) -> DefectTest:
    return DefectTest(low, high, below, some, above, 0.01, 999)


FREE = _test(-0.01, 0.02, below=1e-4, some=0.9, above=1.0)
LEAK = _test(0.3, 1.0, below=1.0, some=1e-9, above=1e-9)
SMALL = _test(0.01, 0.08, below=0.5, some=1e-3, above=0.9)
NOTHING = _test(-0.05, 0.2, below=0.6, some=0.4, above=0.8)


def _each(below: list[float], above: list[float]) -> Score:
    n = len(below)
    numbers = np.linspace(0.0, 0.3, n)
    tests = DetailTests(
        0.1, numbers - 0.01, numbers + 0.01, np.array(below), np.array(above), np.zeros(n)
    )
    names = tuple(f"c{i}" for i in range(n))
    detail = Detail("concepts", names, numbers, None, None, tests=tests)
    return _score("predictive_task_leakage", float(numbers.mean()), FREE, detail=detail)


GOOD, BAD = _each([1e-4] * 3, [1.0] * 3), _each([1e-4, 1e-4, 1.0], [1.0, 1.0, 1e-6])
VAGUE = _each([1e-4, 1e-4, 0.4], [1.0, 1.0, 0.9])


def _answer(test: DefectTest | None, each: Score | None, **more: Any) -> Verdict:
    value = 0.4 if test is LEAK else 0.0 if test is None else (test.low + min(test.high, 0.5)) / 2
    joint = _score("joint_task_leakage", value, test, **more)
    scores = [joint] if each is None else [joint, each]
    return score_verdict(joint, scores, validated=False)


@pytest.mark.parametrize(
    ("test", "each", "answer"),
    [
        (FREE, GOOD, "yes"), (FREE, BAD, "partly"), (FREE, VAGUE, "inconclusive"),
        (FREE, None, "inconclusive"), (LEAK, GOOD, "no"), (LEAK, None, "no"), (SMALL, GOOD, "partly"),
        (SMALL, BAD, "no"), (NOTHING, GOOD, "inconclusive"), (NOTHING, BAD, "inconclusive"),
        (None, GOOD, "inconclusive"),
    ],
)  # fmt: skip
def test_leakage_verdict_every_row(
    test: DefectTest | None, each: Score | None, answer: str
) -> None:
    assert _answer(test, each).answer == answer


def test_leakage_verdict_undefined_concept_blocks_yes_and_is_named() -> None:
    result = _answer(FREE, _each([1e-4, np.nan, 1e-4], [1.0, np.nan, 1.0]))
    assert (result.answer, "c1 could not be tested" in result.summary) == ("inconclusive", True)


def test_leakage_verdict_names_the_worst_concept_and_pairs() -> None:
    assert "c2" in _answer(FREE, BAD).summary
    pairs = (PairShare("wing", "beak", 0.6),)
    assert "wing with beak" in _answer(LEAK, GOOD, pairs=pairs).summary


def test_leakage_verdict_wrong_annotations_may_explain() -> None:
    explained = AnnotationAllowance(0.05, False, 0.6, 1.0, 1.0, 0.02)
    result = _answer(LEAK, GOOD, annotation=explained)
    assert (result.answer, result.reason) == ("inconclusive", "data_quality")
    assert "2 % or more would explain this" in result.summary
    not_explained = replace(explained, share=0.1, p_nonzero=1e-9, p_above_tolerance=1e-9)
    assert _answer(LEAK, GOOD, annotation=replace(not_explained, tipping=None)).answer == "no"
    partly = replace(explained, share=0.06, p_nonzero=0.7, p_above_tolerance=1.0)
    assert _answer(SMALL, GOOD, annotation=partly).answer == "inconclusive"


def test_leakage_verdict_labels_settled_by_concepts() -> None:
    settled = Caveat("no_headroom", "the true concepts already determine the label")
    assert _answer(FREE, GOOD, caveat=settled).answer == "yes"
    assert _answer(FREE, BAD, caveat=settled).answer == "no"
    assert _answer(FREE, VAGUE, caveat=settled).answer == "inconclusive"
    assert _answer(FREE, None, caveat=settled).answer == "inconclusive"


@pytest.mark.parametrize("each", [GOOD, BAD, VAGUE])
def test_leakage_verdict_settled_labels_quote_the_worst_concept(each: Score) -> None:
    settled = Caveat("no_headroom", "the true concepts already determine the label")
    result = _answer(FREE, each, caveat=settled)
    assert result.score is not None
    assert result.score.metric == "predictive_task_leakage"
    assert "The value of c2 tells 30.0 % (95 % CI 29.0–31.0 %)" in result.summary


def test_leakage_verdict_too_many_values_forbid_yes_not_no() -> None:
    many = Caveat("underpowered", "too many", ("yes", "partly"))
    assert _answer(FREE, GOOD, caveat=many).answer == "inconclusive"
    assert _answer(LEAK, GOOD, caveat=many).answer == "no"


@pytest.mark.parametrize(("clusters", "said"), [(None, True), (200, False)])
def test_leakage_verdict_says_that_rows_were_independent(clusters: int | None, said: bool) -> None:
    for test in (FREE, LEAK, SMALL, NOTHING):
        assert (INDEPENDENT in _answer(test, GOOD, n_clusters=clusters).summary) is said


def test_leakage_verdict_never_equal_where_interval_excludes_zero() -> None:
    some = _test(0.011, 0.03, below=1e-4, some=1e-4, above=1.0)
    summary = _answer(some, GOOD).summary
    assert summary.startswith("Some leakage, 2.0 %")
    assert "No leakage" not in summary
    assert "about as much" not in summary


def test_leakage_verdict_outside_the_certified_range() -> None:
    random = np.random.default_rng(0)
    truth, labels = random.random((1200, 3)) < 0.5, np.arange(1200) % 60
    result = theodolite.audit(
        values=truth + 0.3 * random.normal(size=truth.shape), truth=truth, labels=labels
    )
    found = result.verdicts["leak_free"]
    assert (found.answer, found.reason) == ("inconclusive", "outside_validated_range")
    assert "60 labels, validated up to" in found.summary
    leaking = theodolite.audit(
        values=truth + 0.3 * random.normal(size=truth.shape) + labels[:, None], truth=truth,
        labels=labels,
    )  # fmt: skip
    no = leaking.verdicts["leak_free"]
    assert (no.answer, "outside the validated range" in no.summary) == ("no", True)
