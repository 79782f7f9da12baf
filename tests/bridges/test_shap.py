"""What shap explains of a table comes over as it is, or is refused."""

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from theodolite.bridges.shap import attribution_evidence
from theodolite.errors import EvidenceError

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.normal(size=(30, 4))
WEIGHTS = np.array([2.0, -1.0, 0.5, 0.0])


def linear(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows @ WEIGHTS + 1)


def probability(rows: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-linear(rows))))


def explained(**more: Any) -> SimpleNamespace:
    """What an explainer of a linear model gives."""
    given = {
        "values": ROWS * WEIGHTS, "base_values": 1.0, "data": ROWS,
        "feature_names": ["a", "b", "c", "d"], "output_names": None,
    }  # fmt: skip
    return SimpleNamespace(**(given | more))


def test_values_base_rows_and_names_come_over() -> None:
    evidence = attribution_evidence(explained(), model=linear)
    assert_allclose(evidence.values, ROWS * WEIGHTS)
    assert_allclose(evidence.inputs, ROWS)
    assert_allclose(evidence.base, np.ones(30))
    assert_allclose(evidence.output, linear(ROWS))
    assert evidence.features.names == ("a", "b", "c", "d")
    assert evidence.removed is None
    without = attribution_evidence(explained(base_values=None, data=None, feature_names=None))
    assert without.inputs is None
    assert without.features.names == ("feature 0", "feature 1", "feature 2", "feature 3")


def test_with_a_background_the_model_is_asked_without_features() -> None:
    evidence = attribution_evidence(explained(), model=linear, background=ROWS[:20], scale="raw")
    assert evidence.removed is not None
    assert evidence.scale.names == ("raw",)


@pytest.mark.parametrize("base", [np.array([3.0, 1.0]), np.tile([3.0, 1.0], (30, 1))])
def test_of_several_outputs_one_must_be_chosen(base: np.ndarray) -> None:
    values = np.stack([ROWS, ROWS * WEIGHTS], axis=2)
    several = explained(values=values, base_values=base, output_names=["no", "yes"])
    with pytest.raises(EvidenceError, match=r"attributions of 2 outputs.*'yes'"):
        attribution_evidence(several)
    for output in (1, "yes"):
        evidence = attribution_evidence(
            several, output=output, model=lambda rows: np.stack([rows[:, 0], linear(rows)], axis=1)
        )
        assert_allclose(evidence.values, ROWS * WEIGHTS)
        assert_allclose(evidence.base, np.ones(30))
        assert_allclose(evidence.output, linear(ROWS))
    for output in (2, "maybe"):
        with pytest.raises(EvidenceError, match="output"):
            attribution_evidence(several, output=output)


def test_what_does_not_add_up_is_refused_with_the_gap() -> None:
    gap = np.abs(linear(ROWS) - probability(ROWS))
    share = 100 * gap.mean() / probability(ROWS).std()
    with pytest.raises(EvidenceError, match=f"by {gap.mean():.3g} on average, {share:.0f} %") as no:
        attribution_evidence(explained(), model=probability)
    assert "log-odds" in str(no.value)
    with pytest.raises(EvidenceError, match="miss the model's output by 1 on average"):
        attribution_evidence(explained(base_values=0.0), model=linear)
    with pytest.raises(EvidenceError, match="needed a number from 0 to 1"):
        attribution_evidence(
            explained(), model=lambda rows: np.stack([linear(rows), linear(rows)], axis=1)
        )


def test_text_and_images_are_refused_with_the_page_for_them() -> None:
    words = [np.array(["a ", "cat"]), np.array(["no ", "dogs ", "here"])]
    ragged = np.empty(2, object)
    ragged[:] = [np.zeros(2), np.zeros(3)]
    for values, data in ((ragged, words), (np.zeros((2, 2)), (words[0], words[0]))):
        with pytest.raises(EvidenceError, match=r"masked text.*docs/tokens.md"):
            attribution_evidence(explained(values=values, data=data))
    for shape in ((2, 8, 8, 3), (2, 8, 8, 3, 10), (2, 8, 8)):
        with pytest.raises(EvidenceError, match=r"images.*docs/saliency.md"):
            attribution_evidence(explained(values=np.zeros(shape), data=np.zeros(shape)))


def test_columns_of_words_are_refused() -> None:
    table = np.array([["clerk", 1], ["cook", 2]], object)
    with pytest.raises(EvidenceError, match="categories as codes"):
        attribution_evidence(explained(values=np.zeros((2, 2)), data=table, base_values=0.0))


def test_inputs_are_left_as_they_are() -> None:
    given = explained()
    before = given.values.copy(), given.data.copy()
    attribution_evidence(given, model=linear, background=ROWS[:5])
    assert_allclose(given.values, before[0], rtol=0)
    assert_allclose(given.data, before[1], rtol=0)


def test_neither_library_is_needed() -> None:
    """Nor loaded, where it is installed."""
    code = (
        "import sys, theodolite.bridges.shap, theodolite.bridges.lime\n"
        "print([name for name in ('shap', 'lime', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
