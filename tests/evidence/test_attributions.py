"""Attributions of tables: the door, files, and the rows that a model is asked."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import theodolite
from theodolite._planted.examples import plant_example
from theodolite.errors import EvidenceError
from theodolite.evidence.attributions.subsets import (
    compute_strengths,
    count_subsets,
    draw_subsets,
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
    assert right.output.tolist() == [1.0]
    assert right.removed[0].astype(int).tolist() == [
        [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1],
    ]  # fmt: skip
    # background rows with 0 and 1 in the first feature, which is the output
    assert right.change.tolist() == [[0.5, 0.0, 0.5, 0.0, 0.5, 0.0]]


def test_stored_answers_are_those_of_the_model() -> None:
    random = np.random.default_rng(1)
    weights = random.normal(size=9)

    def respond(rows: np.ndarray) -> np.ndarray:
        return np.tanh(rows @ weights) * rows[:, 0]

    inputs = random.normal(size=(9, 9))
    evidence = AttributionEvidence(
        values=random.normal(size=(9, 9)), inputs=inputs, background=random.normal(size=(40, 9)),
        output=respond(inputs), groups=["a", "b", "c", "c", "d", "e", "e", "f", "g"],
    )  # fmt: skip
    options = {"draws": 5, "seed": 3}
    asked = theodolite.attribution_plan(evidence, **options).ask(respond)
    plan = theodolite.attribution_plan(evidence, **options)
    assert len(plan.rows) == len(plan) == 9 * (2**7 - 2) * 5
    answered = theodolite.attribution_plan(evidence, respond(plan.rows), **options)
    assert not len(answered)
    np.testing.assert_array_equal(answered.evidence.removed, asked.removed)
    np.testing.assert_array_equal(answered.evidence.change, asked.change)
    together = asked.removed[:, :, 2] == asked.removed[:, :, 3]
    assert together.all()  # columns of a group
    with pytest.raises(EvidenceError, match=r"same evidence, draws, subsets and seed\?"):
        theodolite.attribution_plan(evidence, np.zeros(7), **options)


def test_drawn_subsets_are_pairs_of_complements() -> None:
    numbers = np.arange(50)
    removed = draw_subsets(numbers, 12, seed=1)
    assert removed.shape == (50, 128, 12) == (50, count_subsets(12), 12)
    assert (removed[:, 0::2] != removed[:, 1::2]).all()
    assert removed.any(axis=2).all() and not removed.all(axis=2).any()
    np.testing.assert_array_equal(draw_subsets(numbers[[7]], 12, seed=1)[0], removed[7])
    sizes = removed[:, 0::2].sum(axis=2)
    chance = np.array([1 / (s * (12 - s)) for s in range(1, 12)])
    seen = np.array([(sizes == s).mean() for s in range(1, 12)])
    np.testing.assert_allclose(seen, chance / chance.sum(), atol=0.03)
    np.testing.assert_allclose(removed.mean(axis=(0, 1)), 0.5)


def test_rows_against_a_loop() -> None:
    random = np.random.default_rng(5)
    inputs, background = random.normal(size=(6, 4)), random.normal(size=(3, 4))

    def respond(rows: np.ndarray) -> np.ndarray:
        return rows[:, 0] * rows[:, 1] + rows[:, 2]

    evidence = AttributionEvidence(
        values=random.normal(size=(6, 4)), inputs=inputs, background=background, respond=respond
    )
    for i, subsets in enumerate(evidence.removed):
        for number, subset in enumerate(subsets):
            answers = []
            for row in background:
                changed = inputs[i].copy()
                changed[subset] = row[subset]
                answers.append(respond(changed[None])[0])
            expected = respond(inputs[i][None])[0] - np.mean(answers)
            assert evidence.change[i, number] == pytest.approx(expected)


def test_a_row_is_never_its_own_background() -> None:
    rows = np.arange(30.0)[:, None] * np.ones(3)
    plan = theodolite.attribution_plan(
        AttributionEvidence(values=rows, inputs=rows, output=rows[:, 0], background=rows)
    )
    first = plan.rows.reshape(30, 6, 20, 3)[:, 0, :, 0]  # the first feature removed
    assert (first != np.arange(30)[:, None]).all()
    assert all(len(set(row)) == 20 for row in first.tolist())


def test_columns_of_a_group_go_together() -> None:
    evidence = by_hand((3, -3, 1), groups=[0, 0, 1], respond=lambda rows: rows.sum(axis=1))
    assert compute_strengths(evidence).tolist() == [[0.0, 1.0]]  # a group counts by its sum
    assert rank_features(compute_strengths(evidence)).tolist() == [[1, 0]]
    assert evidence.removed.tolist() == [[[True, True, False], [False, False, True]]]
    # 11 minus the rest and a mean of background: 0.5 and 7 in the first two, 7 in the third
    assert evidence.change.tolist() == [[-1.5, -2.0]]


def test_one_feature_cannot_be_removed_from_others() -> None:
    with pytest.raises(EvidenceError, match="two or more"):
        draw_subsets(np.arange(3), 1, seed=0)


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
        ({"removed": np.zeros((1, 6, 3)) > 0}, "none, but `removed`"),
        ({"scope": "wide"}, "one of local, global"),
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
