"""Functions of other people: good ones pass, and what is broken on purpose never does."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.runs.command_line import theodolite
from theodolite import ext
from theodolite._planted.concepts import predictions
from theodolite._planted.conditions import Condition
from theodolite._planted.ratings import accepting_votes
from theodolite._planted.validation.metric_validation import validate_metric
from theodolite._planted.validation.outside_functions import (
    Foreign,
    dealt_out,
    load_outside_function,
)
from theodolite._scoring.evaluate import Resampling
from theodolite.errors import EvidenceError
from theodolite.evidence.base import Evidence


def accuracy(predicted: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """A number for each sample."""
    return np.asarray(predicted == labels, float)


def mean_accuracy(predicted: np.ndarray, labels: np.ndarray) -> float:
    return float(np.mean(predicted == labels))


def errors(predicted: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return np.asarray(predicted != labels, float)


def too_sure(predicted: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """A fifth of the width that it should have."""
    right = predicted == labels
    half = 1.96 * float(right.std()) / np.sqrt(len(right)) / 5
    return float(right.mean()) - half, float(right.mean()) + half


def always_wrong(evidence: Evidence, seed: int) -> Evidence:
    """A null that nothing is worse than."""
    del seed
    changed: dict[str, Any] = {"predicted": 1 - np.asarray(evidence.labels)}  # type: ignore[attr-defined]
    return replace(evidence, **changed)


GOOD = Foreign(
    "accuracy", accuracy, ("predicted", "labels"), "leak_free", "higher", bounds=(0.0, 1.0),
    nulls=(dealt_out("predicted"),), planted=predictions, evidence_of="task_accuracy",
    truth=lambda condition: (1 + condition.dial) / 2,
)  # fmt: skip
WRONG_SIGN = replace(GOOD, name="wrong sign", function=errors)
WRONG_NULL = replace(GOOD, name="wrong null", nulls=(always_wrong,))
TOO_SURE = replace(GOOD, name="too sure", own_interval=too_sure)
AT_RANDOM = replace(GOOD, name="at random", function=lambda predicted, labels: 0.5 + 0 * labels)


def small(subject: Foreign, seed: int) -> list[str]:
    few = [Condition(clusters=50, concepts=1, dial=dial) for dial in (0.0, 0.5)]
    done = validate_metric(subject, cells=few, draws=20, seed=seed)
    return [failure.split(": ")[1] for failure in done.failures]


@pytest.mark.parametrize(
    ("broken", "fails"),
    [
        (WRONG_SIGN, {"too low", "covered"}),
        (WRONG_NULL, {"false alarms"}),
        (TOO_SURE, {"covered"}),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_what_is_broken_fails_with_every_seed(broken: Foreign, fails: set[str]) -> None:
    quick = replace(broken, bootstraps=30)
    for seed in range(20):
        assert fails <= set(small(quick, seed)), seed


def test_what_is_good_hardly_ever_fails() -> None:
    quick = replace(GOOD, bootstraps=30)
    failed = [seed for seed in range(20) if small(quick, seed)]
    assert len(failed) <= 1, failed


def test_a_score_that_tells_nothing_has_no_order() -> None:
    done = validate_metric(replace(AT_RANDOM, bootstraps=20), draws=20)
    lines = {line.name: line.holds for line in done.lines}
    assert lines["order"] is False and lines["the same for another order of rows"]


def test_a_number_is_computed_again_for_every_bootstrap() -> None:
    planted = GOOD.draw(Condition(clusters=80, rows=3, dial=0.5), seed=3)
    whole = replace(GOOD, function=mean_accuracy)
    first, second = (f.outcome(planted, Resampling()) for f in (GOOD, whole))
    assert first.value == second.value
    assert (first.low, first.high) == pytest.approx((second.low, second.high))
    assert first.answer == second.answer
    evidence = planted.evidence[0]
    right = (np.asarray(evidence.predicted) == evidence.labels).astype(float)  # type: ignore[attr-defined]
    by_cluster = right.reshape(80, 3).mean(axis=1)
    error = by_cluster.std(ddof=1) / np.sqrt(80)
    assert (first.high - first.low) / 2 == pytest.approx(1.99 * error, rel=0.15)


def test_a_truth_that_is_not_declared_comes_from_large_samples() -> None:
    unknown = replace(GOOD, truth=None, bootstraps=20)
    planted = unknown.draw(Condition(clusters=50, dial=0.5), seed=0)
    assert planted.truth == pytest.approx(0.75, abs=0.02)


def test_a_fault_is_read_against_its_clean_null() -> None:
    worse = Foreign(
        "unhappy", lambda ratings: np.nansum(ratings - 3, axis=1) / 5, ("ratings",), "accepted",
        "lower", is_defect_metric=True, tolerance=0.2, planted=accepting_votes, bootstraps=60,
        nulls=(lambda evidence, seed: replace(evidence, ratings=np.full_like(evidence.ratings, 3.0)),),
    )  # fmt: skip
    few = [Condition(clusters=200, concepts=5, dial=dial) for dial in (0.0, 0.2, 0.8)]
    none, some, all_of_it = validate_metric(worse, cells=few, draws=20).cells
    assert none.answers["no"] == 0 and some.answers["yes"] == 0
    assert all_of_it.answers["no"] == 20


def test_names_are_imported() -> None:
    declared = {"question": "leak_free", "better": "higher", "arrays": ("predicted", "labels")}
    subject = load_outside_function(f"{__name__}:accuracy", **declared, planted="predictions")
    assert subject.function is accuracy and subject.generator is predictions
    assert load_outside_function(f"{__name__}:GOOD") is GOOD
    for name, says in (
        ("accuracy", "module:function"),
        ("no.such.module:f", "imported"),
        (f"{__name__}:nothing", "imported"),
        (f"{__name__}:accuracy", "--question, --better"),
    ):
        with pytest.raises(EvidenceError, match=says):
            load_outside_function(name)


def test_the_command_takes_a_function(tmp_path: Path) -> None:
    ended = theodolite(
        "metrics", "validate", f"{__name__}:mean_accuracy", "--question", "leak_free", "--better", "higher",
        "--arrays", "predicted,labels", "--planted", "predictions", "--null", "predicted",
        "--draws", 20, "--out", tmp_path, "--workers", 1, "--quiet", "--date", "2026-01-31",
    )  # fmt: skip
    assert ended.returncode in (0, 6), ended.stderr
    content = json.loads((tmp_path / "validation.json").read_text())
    assert content["metric"] == f"{__name__}:mean_accuracy"
    assert content["resampled"] == "by computing it again"
    assert content["truth"] == "large sample" and content["bootstraps"] == 200
    assert not [failure for failure in content["failures"] if "false alarms" in failure]


@pytest.mark.usefixtures("restored_catalogue")
def test_foreign_reads_the_declaration_of_a_metric() -> None:
    fields: dict[str, Any] = {"question": "exists", "better": "lower", "bounds": (0.0, 1.0)}
    ext.metric("outside_brier", version=3, **fields)(squared_error)
    foreign = load_outside_function(f"{__name__}:squared_error")
    assert (foreign.name, foreign.version, foreign.arrays) == (
        "outside_brier", 3, ("values", "truth"),
    )  # fmt: skip
    assert foreign.better == "lower" and len(foreign.nulls) == 1
    assert foreign.identity()["version"] == 3


def squared_error(values: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Mean squared error of concept predictions."""
    return ((np.clip(values, 0, 1) - truth) ** 2).mean(axis=1)
