"""Data for concept bottlenecks: what the door refuses, folds, and TabularToy against the truth."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Classes, Concepts
from theodolite_reproductions.datasets.bottleneck_data import BottleneckData
from theodolite_reproductions.datasets.bottleneck_family import bottleneck_family
from theodolite_reproductions.datasets.tabular_toy import normalized_information, tabular_toy

MANY = 200_000


def fields(n: int = 40, **changed: Any) -> dict[str, Any]:
    random = np.random.default_rng(0)
    return {
        "name": "made up",
        "inputs": random.random((n, 3), dtype=np.float32),
        "truth": random.random((n, 4)) < 0.5,
        "labels": np.arange(n) % 3,
        "train": np.arange(n // 2),
        "validation": np.arange(n // 2, n // 2 + 5),
        "test": np.arange(n // 2 + 5, n),
        "concepts": Concepts(("a", "b", "c", "d")),
        "classes": Classes(("x", "y", "z")),
    } | changed


def changed_at(array: np.ndarray, place: Any, value: Any) -> np.ndarray:
    array = array.copy()
    array[place] = value
    return array


GOOD = fields()


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"inputs": GOOD["inputs"].astype(np.float64)}, "got float64"),
        ({"inputs": GOOD["inputs"].tolist()}, "got list"),
        ({"inputs": GOOD["inputs"][:, 0]}, r"\(samples, features\)"),
        ({"inputs": np.zeros((40, 8, 8, 4), np.uint8)}, r"\(samples, height, width\)"),
        ({"inputs": np.zeros((0, 3), np.float32)}, "none of them 0"),
        ({"inputs": changed_at(GOOD["inputs"], (7, 1), np.nan)}, "infinite in row 7"),
        ({"truth": GOOD["truth"].astype(float)}, "truth of made up: got float64"),
        ({"truth": GOOD["truth"][1:]}, r"\(39, 4\); needed true or false for \(40, 4\)"),
        ({"truth": GOOD["truth"][:, :2]}, r"\(40, 2\)"),
        ({"labels": GOOD["labels"][1:]}, "labels of made up: .* each of 40"),
        ({"labels": GOOD["labels"].astype(float)}, "a whole number"),
        ({"labels": GOOD["labels"] + 1}, "got 1 to 3; needed 0 to 2"),
        ({"labels": GOOD["labels"] - 1}, "got -1 to 1; needed 0 to 2"),
        ({"groups": np.zeros(3, int)}, "groups of made up"),
        ({"train": np.array([], int)}, "train rows of made up: got none"),
        ({"test": np.array([], int)}, "test rows of made up: got none"),
        ({"train": np.array([0, 40])}, "0 to 40; needed rows from 0 to 39"),
        ({"train": np.array([-1, 2])}, "-1 to 2"),
        ({"train": np.array([1, 1])}, "a row twice"),
        ({"validation": np.array([3])}, "validation rows of made up: got a row twice"),
        ({"test": np.array([21, 30])}, "test rows of made up: got a row twice"),
        ({"test": np.array([30.0])}, "whole numbers"),
    ],
)
def test_the_door_says_what_is_wrong(changed: dict[str, Any], says: str) -> None:
    with pytest.raises(EvidenceError, match=says):
        BottleneckData(**fields(**changed))


def test_images_with_and_without_colors_pass() -> None:
    for shape in ((40, 8, 6), (40, 8, 6, 3)):
        data = BottleneckData(**fields(inputs=np.zeros(shape, np.uint8)))
        assert ("inputs", "images of " + " x ".join(map(str, shape[1:]))) in data.summary()
    no_validation = BottleneckData(**fields(validation=np.array([], int)))
    assert no_validation.validation.dtype == np.int64


def test_concepts_are_left_out_by_name() -> None:
    data = BottleneckData(**fields())
    fewer = data.without(["d", "b"])
    assert fewer.concepts.names == ("a", "c") and len(fewer.concepts.kinds) == 2
    assert (fewer.truth == data.truth[:, [0, 2]]).all()
    assert fewer.labels is data.labels and "2 of 4 concepts" in fewer.notes[-1]
    assert data.truth.shape == (40, 4), "the original stays"
    for names, says in ((["e"], r"\['e'\]"), ("ab", "'ab'"), (["a", "b", "c", "d"], "all")):
        with pytest.raises(EvidenceError, match=says):
            data.without(names)


def test_folds_share_out_all_rows_but_the_test() -> None:
    data = BottleneckData(**fields(n=303))
    folds = [data.folded(i, 5) for i in range(5)]
    outside = np.sort(np.concatenate([data.train, data.validation]))
    held_out = np.sort(np.concatenate([fold.validation for fold in folds]))
    assert (held_out == outside).all(), "each row is held out once"
    for fold in folds:
        assert fold.test is data.test
        assert (np.sort(np.concatenate([fold.train, fold.validation])) == outside).all()
        counts = np.bincount(data.labels[fold.validation], minlength=3)
        assert counts.max() - counts.min() <= 2, "classes are dealt out evenly"
        assert (np.diff(fold.validation) > 0).all()
    assert (data.folded(1, 5).train == folds[1].train).all(), "the same again"
    assert (data.folded(1, 5, seed=1).train != folds[1].train).any()
    assert "Fold 3 of 5" in folds[3].notes[-1]
    for fold, of in ((5, 5), (-1, 5), (0, 1), (0, 1000)):
        with pytest.raises(EvidenceError, match=f"fold {fold} of {of}"):
            data.folded(fold, of)


def test_folds_keep_groups_together() -> None:
    groups = np.arange(303) // 4
    data = BottleneckData(**fields(n=303, groups=groups))
    for i in range(5):
        fold = data.folded(i, 5)
        assert not set(groups[fold.train]) & set(groups[fold.validation])
        assert 20 <= len(fold.validation) <= 45


def test_the_summary_names_what_makes_scores_undefined() -> None:
    truth = fields()["truth"]
    truth[25:, 1], truth[25:, 2] = True, False
    summary = dict(BottleneckData(**fields(truth=truth)).summary())
    assert summary["constant in the test rows"] == "b, c"
    assert summary["train / validation / test"] == "20 / 5 / 15"
    assert summary["classes"] == "3, 3 of them occur"


def test_what_concepts_tell_of_the_label() -> None:
    truth = np.array([[1, 1], [1, 1], [1, 1], [0, 1]], bool)
    data = BottleneckData(
        **fields(
            inputs=np.zeros((4, 1), np.float32), truth=truth, labels=np.array([0, 0, 1, 2]),
            train=np.array([0]), validation=np.array([1]), test=np.array([2]),
            concepts=Concepts(("a", "b")),
        )
    )  # fmt: skip
    assert data.told_by_concepts() == 0.75
    assert data.without(["a"]).told_by_concepts() == 0.5


@pytest.mark.parametrize("delta", [-0.5, -0.3, 0.0, 0.25, 0.75, 1.0])
def test_tabular_toy_has_the_true_information(delta: float) -> None:
    """p is within four standard errors, so 1 - h(p) is within those of p's interval."""
    data = tabular_toy(delta, n=MANY, seed=3)
    concepts_agree = 0.5 + np.arcsin(delta) / np.pi
    label_agrees = 0.75 + np.arcsin(delta) / (2 * np.pi)

    def between(p: float) -> tuple[float, float]:
        half = 4 * np.sqrt(p * (1 - p) / MANY)
        values = [1 - entropy(q) for q in (p - half, p, p + half)]
        return min(values), max(values)

    def entropy(p: float) -> float:
        return -sum(q * np.log2(q) for q in (p, 1 - p) if q > 1e-12)

    c, y = data.truth, data.labels == 1
    pairs = [(c[:, i] == c[:, j]).mean() for i, j in ((0, 1), (0, 2), (1, 2))]
    tasks = [(c[:, i] == y).mean() for i in range(3)]
    truths = normalized_information(delta)
    for result, p, truth in ((pairs, concepts_agree, truths[0]), (tasks, label_agrees, truths[1])):
        low, high = between(p)
        for share in result:
            assert low - 1e-9 <= 1 - entropy(share) <= high + 1e-9
        assert low - 1e-9 <= truth <= high + 1e-9
    assert abs(c.mean(axis=0) - 0.5).max() < 4 * 0.5 / np.sqrt(MANY)
    assert abs(y.mean() - 0.5) < 4 * 0.5 / np.sqrt(MANY), "fair coins, as the formula needs"


def test_tabular_toy_is_split_as_published_and_seeded() -> None:
    data = tabular_toy()
    assert [len(rows) for rows in (data.train, data.validation, data.test)] == [7000, 2000, 1000]
    assert data.inputs.shape == (10_000, 7) and data.inputs.dtype == np.float32
    assert (tabular_toy().inputs == data.inputs).all() and (tabular_toy().train == data.train).all()
    assert (tabular_toy(seed=1).inputs != data.inputs).all()
    assert data.train[:3].tolist() == [9069, 2603, 7738], "train_test_split with random_state 42"
    # z + cos z is rising, so the inputs tell the concepts: z > 0 where it is above cos 0 = 1
    assert (data.truth == (data.inputs[:, 1:6:2] > 1)).all()


def test_tabular_toy_tasks() -> None:
    c1, c2, c3 = tabular_toy().truth.T.astype(int)
    assert (tabular_toy().labels == (c1 + c2 + c3 >= 2)).all()
    assert (tabular_toy(task="nonlinear").labels == (c1 + c2 + c3 - c1 * c2 >= 2)).all()
    assert (tabular_toy(task="parity").labels == c1 ^ c2 ^ c3).all()
    two = tabular_toy(task="two_concepts")
    assert (two.labels == (c1 | c2)).all() and len(two.concepts) == 2 and two.inputs.shape[1] == 7
    incomplete = tabular_toy(concepts="incomplete")
    assert incomplete.concepts.names == ("z1 > 0", "z2 > 0")
    assert (incomplete.labels == tabular_toy().labels).all()
    # c1 and c2 agree: known; else the third decides. The paper prints 0.786 for a trained head.
    assert incomplete.told_by_concepts() == pytest.approx(0.790, abs=0.01)


def test_tabular_toy_refuses_what_cannot_be() -> None:
    for delta in (-0.51, 1.01, float("nan")):
        with pytest.raises(EvidenceError, match=r"from -0\.5 to 1"):
            tabular_toy(delta)
        with pytest.raises(EvidenceError, match="delta"):
            normalized_information(delta)
    with pytest.raises(EvidenceError, match="at least 10"):
        tabular_toy(n=5)
    with pytest.raises(EvidenceError, match="a task with three"):
        tabular_toy(task="two_concepts", concepts="incomplete")
    assert len(tabular_toy(n=10).test) == 1


def test_numbers_stand_in_for_images() -> None:
    family = bottleneck_family(
        "dsprites",
        {
            "a": {"inputs": "numbers"},
            "b": {"of": "shapes3d"},
            "c": {"of": "shapes3d", "noise": 0.1},
        },
    )
    a, b, c = family.members.values()
    assert (a.inputs.shape, b.inputs.shape) == ((23_040, 5), (16_000, 6))
    assert a.inputs.dtype == np.float32 and a.inputs.min() == 0 and a.inputs.max() <= 1
    assert ((a.inputs[:, 3] < 0.5) == a.truth[:, 3]).all(), "on the left"
    assert (b.truth == c.truth).all() and (b.labels == c.labels).all()
    assert 0.09 < (c.inputs - b.inputs).std() < 0.11
    assert "noise of 0.1" in c.notes[0] and "latents" in b.name and "re-rendered" not in a.name
    with pytest.raises(EvidenceError, match="moon"):
        bottleneck_family("dsprites", {"a": {"of": "moon"}})


def test_lesions_are_a_form_of_a_family(shared_data: Path) -> None:
    forms = {"all": {}, "fewer": {"concepts": "incomplete"}, "noisy": {"noise": 0.3}}
    family = bottleneck_family("ham10k_concepts", forms, lesions=shared_data / "ham10k_concepts")
    whole, fewer, noisy = family.members.values()
    assert noisy.inputs.shape == (3_445, 18) and "noise of 0.3" in noisy.notes[0]
    assert 0.29 < (noisy.inputs - noisy.truth).std() < 0.31 and (noisy.labels == whole.labels).all()
    assert (len(whole.concepts), len(fewer.concepts)) == (18, 10)
    assert whole.classes.names == ("benign", "malignant") and len(whole) == 3_445
    parts = [len(rows) / len(whole) for rows in (whole.train, whole.validation, whole.test)]
    assert sum(parts) == pytest.approx(1) and set(np.unique(whole.labels)) == {0, 1}
