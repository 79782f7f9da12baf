"""Attributions audited with their model: estimators, frames, scales, methods and budgets."""

import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC

import theodolite
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.attribution import AttributionEvidence

N = 40
WEIGHTS = np.array([2.0, -1.0, 0.5, 0.0])
RANDOM = np.random.default_rng(0)
ROWS = RANDOM.normal(size=(N, 4))
BACKGROUND = RANDOM.normal(size=(30, 4))
VALUES = (ROWS - BACKGROUND.mean(axis=0)) * WEIGHTS
BASE = float((BACKGROUND @ WEIGHTS).mean())
LABELS = (ROWS @ WEIGHTS > 0).astype(int)
FRAME = pd.DataFrame(ROWS, columns=["a", "b", "c", "d"])
QUICK = {"resamples": 50, "metrics": ["attribution_fit"], "progress": None}


def linear(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows @ WEIGHTS)


class Counted:
    """A model that counts the rows that it is asked about."""

    def __init__(self) -> None:
        self.rows = 0

    def predict(self, rows: np.ndarray) -> np.ndarray:
        self.rows += len(rows)
        return linear(rows)


def audit(attributions: Any, X: Any = None, **options: Any) -> Any:  # noqa: N803
    return theodolite.audit_attributions(attributions, X, **{**QUICK, **options})


def evidence_of(result: Any) -> AttributionEvidence:
    ((bundle,),) = result.source.evidence
    return bundle


def explanation(**more: Any) -> SimpleNamespace:
    """As shap makes it."""
    arrays = {
        "values": VALUES, "base_values": BASE, "data": ROWS,
        "feature_names": list("abcd"), "output_names": None,
    }  # fmt: skip
    return SimpleNamespace(**(arrays | more))


def test_model_is_asked_once_for_all_methods() -> None:
    model = Counted()
    methods = {"right": VALUES, "wrong": -VALUES}
    results = audit(methods, ROWS, model=model, background=BACKGROUND)
    assert model.rows == N * (2**4 - 2) * 20 + N
    assert list(results) == ["right", "wrong"]
    fits = [results[name].scores[0].value for name in methods]
    assert fits[0] == pytest.approx(-fits[1]) and fits[0] > 0.9
    assert results["right"].subject.model == "Counted"


def test_same_seed_gives_the_same_bits() -> None:
    def fit(seed: int) -> tuple[float, ...]:
        score = audit(VALUES, ROWS, model=linear, background=BACKGROUND, seed=seed).scores[0]
        return (score.value, score.share.low, score.nulls[0].value)

    assert fit(3) == fit(3)
    assert fit(3) != fit(4)


def estimators() -> dict[str, Callable[[], Any]]:
    rows = FRAME.assign(job=np.where(ROWS[:, 3] > 0, "cook", "clerk"))
    rows["kind"] = pd.Categorical(np.where(ROWS[:, 2] > 0, "x", "y"))
    encoder = ColumnTransformer(
        [("job", OneHotEncoder(), ["job", "kind"])], remainder="passthrough"
    )
    numeric = ["a", "b", "c", "d"]
    by_kind = FRAME.assign(kind=rows["kind"])
    return {
        "logistic": lambda: (LogisticRegression().fit(FRAME, LABELS), FRAME),
        "boosting": lambda: (
            GradientBoostingClassifier(n_estimators=5).fit(FRAME, LABELS), FRAME,
        ),
        "regressor": lambda: (
            GradientBoostingRegressor(n_estimators=5).fit(ROWS, linear(ROWS)), ROWS,
        ),
        "categories": lambda: (
            HistGradientBoostingClassifier(
                categorical_features="from_dtype", max_iter=3
            ).fit(by_kind, LABELS), by_kind,
        ),
        "no probabilities": lambda: (SVC().fit(FRAME[numeric], LABELS), FRAME),
        "pipeline": lambda: (
            make_pipeline(encoder, LogisticRegression()).fit(rows, LABELS), rows,
        ),
        "only predict": lambda: (Counted(), ROWS),
        "function": lambda: (lambda table: table[:, 0] - table[:, 1], ROWS),
    }  # fmt: skip


@pytest.mark.parametrize("name", list(estimators()))
def test_estimators_are_asked_as_they_were_fitted(name: str) -> None:
    model, rows = estimators()[name]()
    values = RANDOM.normal(size=rows.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # names of features among them
        result = audit(values, rows, model=model, background=rows)
    bundle = evidence_of(result)
    assert result.scores[0].metric == "attribution_fit" and np.isfinite(bundle.change).all()
    if isinstance(rows, pd.DataFrame):
        assert bundle.features.names == tuple(rows.columns)


def test_categories_come_back_as_they_were() -> None:
    seen = []

    def model(frame: pd.DataFrame) -> np.ndarray:
        seen.append(frame.dtypes.to_dict())
        assert set(frame["job"].dropna()) <= {"cook", "clerk"}
        return (frame["job"] == "cook").to_numpy() + frame["n"].to_numpy() / 10

    frame = pd.DataFrame({"n": np.arange(N), "job": ["cook", "clerk", None, "cook"] * (N // 4)})
    frame["kind"] = pd.Categorical(["x", "y"] * (N // 2), categories=["y", "x", "z"])
    bundle = evidence_of(audit(RANDOM.normal(size=(N, 3)), frame, model=model))
    assert all(kinds == frame.dtypes.to_dict() for kinds in seen)
    assert bundle.features.categories[1][:2] == ("cook", "clerk")
    # codes count from 0, in the order in which values come
    assert bundle.inputs[:4, 1].tolist() == [0.0, 1.0, 2.0, 0.0]


def logistic(rows: np.ndarray) -> np.ndarray:
    p = 1 / (1 + np.exp(-linear(rows)))
    return np.stack([1 - p, p], axis=1)


def test_scale_is_that_to_which_the_attributions_add_up() -> None:
    result = audit(explanation(), model=logistic, background=BACKGROUND)
    assert evidence_of(result).scale.names == ("log-odds",)
    assert any("add up to the log-odds output" in note for note in result.notes)
    np.testing.assert_allclose(evidence_of(result).output, linear(ROWS), atol=1e-6)
    plain = audit(VALUES, ROWS, model=logistic, background=BACKGROUND)
    assert evidence_of(plain).scale.names == ("probability",)
    assert any("No base values" in note for note in plain.notes)
    model = SimpleNamespace(predict_proba=logistic, decision_function=lambda rows: 3 * linear(rows))
    raw = audit(
        explanation(values=3 * VALUES, base_values=3 * BASE), model=model, background=BACKGROUND
    )
    assert evidence_of(raw).scale.names == ("raw",)


def test_attributions_that_do_not_add_up_are_at_most_partly() -> None:
    everything = {"metrics": None, "background": BACKGROUND, "model": linear}
    right = audit(explanation(), **everything).verdicts["faithful"]
    assert right.answer == "yes"
    off = audit(explanation(base_values=BASE + 1.0), **everything)
    assert off.verdicts["faithful"].answer == "partly"
    assert "miss the output by" in off.verdicts["faithful"].summary
    assert any("miss the raw output" in note for note in off.notes)


def test_one_of_several_outputs() -> None:
    scores = np.stack([WEIGHTS, -WEIGHTS, np.roll(WEIGHTS, 1)], axis=1)

    def model(rows: np.ndarray) -> np.ndarray:
        return np.asarray(rows @ scores)

    away = ROWS - BACKGROUND.mean(axis=0)
    values = away[:, :, None] * scores
    base = BACKGROUND.mean(axis=0) @ scores
    several = explanation(values=values, base_values=base, output_names=["x", "y", "z"])
    options = {"model": model, "background": BACKGROUND}
    by_number, by_name = (audit(several, output=o, **options) for o in (2, "z"))
    np.testing.assert_allclose(evidence_of(by_number).values, values[:, :, 2])
    np.testing.assert_array_equal(evidence_of(by_name).change, evidence_of(by_number).change)
    predicted = evidence_of(audit(several, **options))
    best = model(ROWS).argmax(axis=1)
    np.testing.assert_allclose(predicted.values, values[np.arange(N), :, best])
    np.testing.assert_allclose(predicted.output, model(ROWS).max(axis=1))
    np.testing.assert_allclose(predicted.base + predicted.values.sum(axis=1), predicted.output)
    with pytest.raises(EvidenceError, match="a number from 0 to 2 or one of"):
        audit(several, output="w", **options)


class LimeRow:
    """What LIME gives for a row."""

    def __init__(self, weights: np.ndarray, mode: str = "classification") -> None:
        self.weights, self.mode = weights, mode

    def as_map(self) -> dict[int, list[tuple[int, float]]]:
        pairs = [(j, float(w)) for j, w in enumerate(self.weights) if w]
        negative = [(j, -w) for j, w in pairs]
        return {1: pairs, 0: negative} if self.mode == "regression" else {1: pairs}


def test_lime_of_a_regression_is_read_under_1() -> None:
    rows = [LimeRow(own, "regression") for own in VALUES]
    result = audit(rows, ROWS, model=linear, background=BACKGROUND)
    np.testing.assert_allclose(evidence_of(result).values, VALUES)
    assert result.subject.explanation == "LIME weights"
    assert any("LIME left out 1.0 of 4 features" in note for note in result.notes)
    with pytest.raises(EvidenceError, match="X"):
        audit(rows, model=linear)


def test_lime_slopes_become_contributions() -> None:
    slopes = np.tile(WEIGHTS * BACKGROUND.std(axis=0), (N, 1))
    rows = [LimeRow(own) for own in slopes]
    options = {"model": linear, "background": BACKGROUND}
    result = audit(rows, ROWS, lime_slopes=True, **options)
    np.testing.assert_allclose(evidence_of(result).values, VALUES)
    assert audit(rows, ROWS, **options).scores[0].value < 0.5 < result.scores[0].value


def test_frames_of_attributions_follow_the_table() -> None:
    values = pd.DataFrame(VALUES, columns=list("abcd"))[["d", "a", "c", "b"]]
    result = audit(values, FRAME, model=lambda frame: linear(frame.to_numpy()), background=FRAME)
    np.testing.assert_allclose(evidence_of(result).values, VALUES)


def test_a_list_is_for_all_rows() -> None:
    features = np.abs(VALUES).mean(axis=0)
    bundle = evidence_of(audit(features, ROWS, model=linear, background=BACKGROUND))
    assert bundle.scope.names == ("global",) and (bundle.values == features).all()


def test_rows_and_budget_are_limited_by_the_seed() -> None:
    model, d = Counted(), 12
    model.predict = lambda rows: rows[:, 0]  # type: ignore[method-assign]
    rows = RANDOM.normal(size=(90, d))
    few = evidence_of(audit(rows, rows, model=model, max_rows=50))
    assert len(few) == 50 and few.removed.shape == (50, 128, d)
    result = audit(rows, rows, model=model, budget=40 * 64 * 20)
    bundle = evidence_of(result)
    assert bundle.removed.shape == (40, 64, d)
    assert any("Budget: 40 rows with 64 subsets" in note for note in result.notes)
    np.testing.assert_array_equal(bundle.inputs, rows[bundle.samples.index])
    with pytest.raises(EvidenceError, match="budget"):
        audit(rows, rows, model=model, budget=1000)


def test_groups_by_name_go_together() -> None:
    bundle = evidence_of(
        audit(VALUES, FRAME, model=lambda f: linear(f.to_numpy()), groups={"a": "ab", "b": "ab"})
    )
    assert (bundle.removed[:, :, 0] == bundle.removed[:, :, 1]).all()
    assert bundle.feature_groups.names == ("ab", "c", "d")
    with pytest.raises(EvidenceError, match="'z'"):
        audit(VALUES, FRAME, model=linear, groups={"z": "ab"})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": 3}, "predict_proba, decision_function, predict"),
        ({"X": None}, "the explained rows"),
        ({"X": ROWS[:5]}, r"shape \(40, 4\)"),
        ({"attributions": VALUES * np.nan}, "finite"),
        ({"attributions": np.zeros((2, 3, 4, 4))}, "audit_saliency"),
        ({"attributions": {}}, "one method or more"),
        ({"model": lambda rows: rows[:5, 0]}, "to 40 rows"),
        ({"max_rows": 5}, "20 on"),
        ({"groups": [0, 1]}, "4, one for each column"),
        ({"ids": ["a"]}, "40, one for each row"),
    ],
)
def test_refused_at_the_door(change: dict[str, Any], words: str) -> None:
    options = {"attributions": VALUES, "X": ROWS, "model": linear, **change}
    with pytest.raises(EvidenceError, match=words):
        audit(**options)


def test_audit_dispatches_by_attributions() -> None:
    result = theodolite.audit(attributions=VALUES, X=ROWS, model=linear, background=BACKGROUND)
    assert result.verdicts["faithful"].answer == "yes"
    with pytest.raises(EvidenceError, match=r"audit_attributions.*truth"):
        theodolite.audit(attributions=VALUES, X=ROWS, model=linear, truth=ROWS)


def test_inputs_are_left_as_they_are() -> None:
    before = VALUES.copy(), ROWS.copy(), FRAME.copy()
    audit(VALUES, FRAME, model=lambda f: linear(f.to_numpy()), background=BACKGROUND)
    np.testing.assert_array_equal(VALUES, before[0])
    np.testing.assert_array_equal(ROWS, before[1])
    pd.testing.assert_frame_equal(FRAME, before[2])
