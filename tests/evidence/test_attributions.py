"""Attributions of tables: the door, files, and the rows that a model is asked."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import theodolite
from theodolite._planted.examples import plant_example
from theodolite.errors import EvidenceError
from theodolite.evidence.attributions.removal_orders import (
    choose_removal_counts,
    compute_strengths,
    rank_features,
)
from theodolite.evidence.axes import Features
from theodolite.evidence.files import from_arrays, load
from theodolite.evidence.kinds.attribution import AttributionEvidence
from theodolite.evidence.kinds.concept import ConceptEvidence


def first_feature(rows: np.ndarray) -> np.ndarray:
    return rows[:, 0]


def by_hand(values: tuple[float, ...], **more: Any) -> AttributionEvidence:
    return AttributionEvidence(
        values=np.array([values]), inputs=np.array([[1.0, 5.0, 5.0]]),
        background=np.array([[0.0, 7.0, 7.0], [1.0, 7.0, 7.0]]), **more,
    )  # fmt: skip


def test_answers_of_a_model_worked_by_hand() -> None:
    right = by_hand((1, 0, 0), respond=first_feature)
    assert right.output.tolist() == [1.0] and right.counts.tolist() == [1, 2]
    assert right.removed.tolist() == [[[0.5, 0.5]]] and right.only.tolist() == [[[1.0, 1.0]]]
    wrong = by_hand((0, 1, 0), respond=first_feature)
    # ties beyond the first are broken by the order of features: the second to go is the first
    assert wrong.removed.tolist() == [[[1.0, 0.5]]] and wrong.only.tolist() == [[[0.5, 1.0]]]
    assert wrong.best_removed.tolist() == [[[0.5, 0.5]]]


def test_stored_answers_are_those_of_the_model() -> None:
    random = np.random.default_rng(1)
    weights = random.normal(size=7)

    def respond(rows: np.ndarray) -> np.ndarray:
        return np.tanh(rows @ weights) * rows[:, 0]

    inputs = random.normal(size=(9, 7))
    evidence = AttributionEvidence(
        values=random.normal(size=(9, 7)), inputs=inputs, background=random.normal(size=(40, 7)),
        output=respond(inputs), groups=["a", "b", "c", "c", "d", "e", "e"],
    )  # fmt: skip
    for removal in ("background", "conditional"):
        options = {"draws": 5, "removal": removal, "seed": 3}
        asked = theodolite.attribution_plan(evidence, **options).ask(respond)
        plan, answers, rounds = theodolite.attribution_plan(evidence, **options), np.empty(0), 0
        while len(plan):
            assert len(plan.rows) == len(plan)
            answers, rounds = np.append(answers, respond(plan.rows)), rounds + 1
            plan = theodolite.attribution_plan(evidence, answers, **options)
        assert rounds == 1 + asked.counts[-1]
        for name in ("removed", "only", "chance_removed", "chance_only", "best_removed"):
            np.testing.assert_array_equal(getattr(plan.evidence, name), getattr(asked, name))
        assert (
            asked.removals.names == ("background", "conditional")[: 1 + (removal != "background")]
        )
    with pytest.raises(EvidenceError, match=r"same evidence, draws, removal and seed\?"):
        theodolite.attribution_plan(evidence, np.append(answers, 0.0), **options)


def naive_removed(
    evidence: AttributionEvidence, respond: Callable[[np.ndarray], np.ndarray], sample: int, k: int
) -> float:
    """All background rows, the k strongest features: one loop."""
    strongest = sorted(
        range(evidence.values.shape[1]), key=lambda j: (-abs(evidence.values[sample, j]), j)
    )[:k]
    answers = []
    for row in evidence.background:
        changed = evidence.inputs[sample].copy()
        changed[strongest] = row[strongest]
        answers.append(respond(changed[None])[0])
    return float(np.mean(answers))


def test_rows_against_a_loop() -> None:
    random = np.random.default_rng(5)
    inputs, background = random.normal(size=(6, 4)), random.normal(size=(3, 4))

    def respond(rows: np.ndarray) -> np.ndarray:
        return rows[:, 0] * rows[:, 1] + rows[:, 2]

    evidence = AttributionEvidence(
        values=random.integers(-2, 3, (6, 4)), inputs=inputs, background=background, respond=respond
    )
    for sample in range(6):
        for step, k in enumerate(evidence.counts):
            naive = naive_removed(evidence, respond, sample, k)
            assert evidence.removed[sample, 0, step] == pytest.approx(naive, abs=1e-12)
    away = np.abs(np.asarray(evidence.output)[:, None, None] - evidence.best_removed)
    own = np.abs(np.asarray(evidence.output)[:, None, None] - evidence.removed)
    assert (away >= own - 1e-12).all()


def test_conditional_rows_are_the_most_alike() -> None:
    background = np.array([[9.0, 0.0], [5.0, 10.0], [7.0, 0.1]])
    evidence = AttributionEvidence(
        values=np.array([[2.0, 1.0]]), inputs=np.array([[1.0, 0.0]]), background=background,
        output=np.array([1.0]),
    )  # fmt: skip
    answered = theodolite.attribution_plan(evidence, draws=2, removal="conditional").ask(
        first_feature
    )
    # like the sample in the second feature: rows 0 and 2, whose first features are 9 and 7
    assert answered.removed[0, 1].tolist() == [8.0]


def test_columns_of_a_group_go_together() -> None:
    evidence = by_hand((3, -3, 1), groups=[0, 0, 1], respond=lambda rows: rows.sum(axis=1))
    assert compute_strengths(evidence).tolist() == [[0.0, 1.0]]  # a group counts by its sum
    assert rank_features(compute_strengths(evidence)).tolist() == [[1, 0]]
    assert evidence.counts.tolist() == [1]
    assert evidence.removed.tolist() == [[[13.0]]]  # the third column alone: 1 + 5 + 7


def test_steps_stay_below_the_number_of_features() -> None:
    assert choose_removal_counts(30).tolist() == [1, 2, 3, 5, 8]
    assert choose_removal_counts(8).tolist() == [1, 2, 3, 5]
    with pytest.raises(EvidenceError, match="two or more"):
        choose_removal_counts(1)


def test_log_odds_against_probabilities_are_refused() -> None:
    random = np.random.default_rng(0)
    values = random.normal(size=(30, 3))
    log_odds = values.sum(axis=1) + 0.5
    probability = 1 / (1 + np.exp(-log_odds))
    with pytest.raises(EvidenceError, match="add up to log-odds"):
        AttributionEvidence(values=values, base=0.5, output=probability)
    with pytest.raises(EvidenceError, match="needed probabilities"):
        AttributionEvidence(values=values, output=log_odds, scale="probability")
    with pytest.raises(EvidenceError, match="one of probability, log-odds, raw"):
        AttributionEvidence(values=values, output=log_odds, scale="odds")
    same = AttributionEvidence(values=values, base=0.5, output=log_odds, scale="log-odds")
    assert same.warnings() == [] and len(same.base) == 30
    assert "miss the output" in replace(same, base=np.full(30, 1.5)).warnings()[0]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"respond": lambda rows: rows}, r"predict_proba\(rows\)\[:, 1\]"),
        ({"respond": lambda rows: rows[:, 0] * np.nan}, "finite"),
        ({"respond": first_feature, "output": np.array([3.0])}, "other answers than `output`"),
        ({"groups": [0, 0, 2]}, "no feature of"),
        ({"removed": np.zeros((1, 1, 2))}, "`output` as well"),
        ({"features": Features(("a", "b", "c"), categories=((), ("x", "y"), ()))}, "the code 5"),
        ({"respond": first_feature, "background": None}, "background"),
    ],
)
def test_refused_at_the_door(wrong: dict[str, Any], words: str) -> None:
    arrays = {"values": np.ones((1, 3)), "inputs": np.array([[1.0, 5.0, 5.0]])}
    arrays["background"] = np.zeros((2, 3))
    with pytest.raises(EvidenceError, match=words):
        AttributionEvidence(**{**arrays, **wrong})


def test_files_keep_all_of_it(tmp_path: Any) -> None:
    evidence = replace(
        plant_example(AttributionEvidence, 2),
        features=Features(tuple("abcdefghijklm"), categories=((),) * 13),
        groups=np.minimum(np.arange(13), 11),
    )  # fmt: skip
    evidence.save(tmp_path / "stored")
    again = load(tmp_path / "stored")
    assert again.features == evidence.features and again.scale.names == ("raw",)
    for name, _ in evidence.layouts():
        np.testing.assert_array_equal(getattr(again, name), getattr(evidence, name))


def test_plain_arrays_are_known_by_all_of_their_names() -> None:
    values = np.eye(3)
    assert type(from_arrays({"values": values, "inputs": values})) is AttributionEvidence
    assert type(from_arrays({"values": values})) is ConceptEvidence
    with pytest.raises(EvidenceError, match="which are of two kinds"):
        from_arrays({"values": values, "truth": values > 0, "inputs": values})
