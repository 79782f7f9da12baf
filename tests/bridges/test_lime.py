"""What LIME explains of a table comes over by the numbers of features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from theodolite.bridges.lime import attribution_evidence
from theodolite.errors import EvidenceError

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.normal(size=(200, 4))


def answer(rows: np.ndarray) -> np.ndarray:
    """The probability of the second class: by the first and third feature."""
    return np.asarray(1 / (1 + np.exp(-2 * rows[:, 0] + rows[:, 2])))


@pytest.fixture(scope="module")
def explainer():
    tabular = pytest.importorskip("lime.lime_tabular", reason="needs theodolite[tabular]")

    def make(**options):
        return tabular.LimeTabularExplainer(ROWS, random_state=0, **options)

    return make


@pytest.fixture(scope="module")
def explanations(explainer):
    tables = explainer(feature_names=["a", "b", "c", "d"])
    both = lambda rows: np.stack([1 - answer(rows), answer(rows)], axis=1)  # noqa: E731
    return [tables.explain_instance(row, both, num_features=2, num_samples=200) for row in ROWS[:6]]


def test_weights_come_over_by_number_and_what_was_left_out_is_counted(explanations) -> None:
    evidence = attribution_evidence(explanations, n_features=4, label=1, inputs=ROWS[:6])
    for row, explanation in zip(evidence.values, explanations, strict=True):
        weights = dict(explanation.as_map()[1])
        assert_allclose(row, [weights.get(feature, 0.0) for feature in range(4)])
    assert (np.count_nonzero(evidence.values, axis=1) == 2).all()
    assert evidence.conversions == (
        "LIME left out 2.0 of 4 features of a row on average: they count 0.",
    )
    assert_allclose(evidence.output, answer(ROWS[:6]))
    assert_allclose(evidence.base, [explanation.intercept[1] for explanation in explanations])
    # what drives the model is named first
    assert np.abs(evidence.values).mean(axis=0).argmax() == 0


def test_of_a_regression_the_label_is_1_and_slopes_have_no_base(explainer) -> None:
    tables = explainer(mode="regression", discretize_continuous=False)
    given = [tables.explain_instance(row, answer, num_samples=200) for row in ROWS[:3]]
    evidence = attribution_evidence(given, n_features=4, label=1)
    assert_allclose(evidence.output, answer(ROWS[:3]))
    assert evidence.base is None
    assert evidence.conversions == ()


def test_the_model_is_asked_where_there_is_a_background(explanations) -> None:
    evidence = attribution_evidence(
        explanations, n_features=4, label=1, inputs=ROWS[:6], model=answer, background=ROWS[:30],
        features=["a", "b", "c", "d"],
    )  # fmt: skip
    assert evidence.removed is not None
    assert evidence.features.names == ("a", "b", "c", "d")


def test_what_does_not_fit_is_refused(explanations) -> None:
    with pytest.raises(EvidenceError, match="one that was explained: 1"):
        attribution_evidence(explanations, n_features=4, label=0)
    with pytest.raises(EvidenceError, match="n_features"):
        attribution_evidence(explanations, n_features=1, label=1)
    with pytest.raises(EvidenceError, match="one for each row"):
        attribution_evidence(explanations[0], n_features=4, label=1)
    with pytest.raises(EvidenceError, match="as_map"):
        attribution_evidence([{1: []}], n_features=4, label=1)
