"""The bottleneck's head: linear in the concept values themselves."""

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Concepts
from theodolite.models.concept_bank import ConceptBank
from theodolite.models.posthoc import fit_posthoc


def problem(n_classes: int, seed: int = 0) -> tuple[ConceptBank, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    bank = ConceptBank(
        Concepts(("a", "b", "c")), random.normal(size=(3, 5)) * 7, random.normal(size=3)
    )
    labels = np.arange(120) % n_classes
    features = random.normal(size=(n_classes, 5))[labels] * 3 + random.normal(size=(120, 5)) + 2
    return bank, features, labels


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("projection", ["dot", "margin"])
def test_equals_scikit_learn_on_standardized_values(
    n_classes: int, projection: Literal["dot", "margin"]
) -> None:
    bank, features, labels = problem(n_classes)
    model = fit_posthoc(bank, (features, labels), n_classes, projection=projection)
    values = model.concepts(features)
    assert_allclose(values, bank.project(features, projection))
    standard = ((values - values.mean(0)) / values.std(0)).astype(np.float32)
    direct = LogisticRegression(C=1.0, max_iter=200, tol=1e-3).fit(standard, labels)
    logits = values @ model.weights + model.bias
    expected = direct.decision_function(standard)
    if n_classes == 2:
        assert_allclose(logits[:, 1] - logits[:, 0], 2 * expected, rtol=1e-4, atol=1e-3)
    else:
        assert_allclose(logits, expected, rtol=1e-4, atol=1e-3)
    assert (model.predict(values) == direct.predict(standard)).all()


@pytest.mark.parametrize("projection", ["dot", "margin", "centered"])
def test_projections_share_outputs_and_contributions_ignore_lengths(
    projection: Literal["dot", "margin", "centered"],
) -> None:
    bank, features, labels = problem(3)
    bank = replace(bank, means=(features @ bank.vectors.T).mean(axis=0))
    plain = fit_posthoc(bank, (features, labels), 3)
    other = plain.projected(projection)
    outputs = plain.concepts(features) @ plain.weights + plain.bias
    assert_allclose(other.concepts(features) @ other.weights + other.bias, outputs, atol=1e-9)
    assert_allclose(other.projected("dot").weights, plain.weights, rtol=1e-12)
    offset, _ = bank.scale(projection)
    contributions = other.concepts(features)[:, :, None] * other.weights
    by_hand = (features @ bank.vectors.T + offset)[:, :, None] * plain.weights
    assert_allclose(contributions, by_hand, atol=1e-9)
    if projection == "centered":
        assert_allclose(other.concepts(features).mean(axis=0), 0.0, atol=1e-12)


def test_centered_values_need_means() -> None:
    bank, features, _ = problem(3)
    with pytest.raises(EvidenceError, match="projection: got centered, without means"):
        bank.project(features, "centered")


@pytest.mark.parametrize("head", ["logistic", "elastic_net"])
def test_learns_and_is_the_same_again(head: Literal["logistic", "elastic_net"]) -> None:
    bank, features, labels = problem(3)
    one, two = (fit_posthoc(bank, (features, labels), 3, head=head, seed=5) for _ in range(2))
    assert (one.weights == two.weights).all()
    assert (one.predict(one.concepts(features)) == labels).mean() > 0.7


def test_a_class_without_training_samples_is_never_chosen() -> None:
    bank, features, labels = problem(3)
    model = fit_posthoc(bank, (features, labels), 5)
    assert model.predict(model.concepts(features)).max() <= 2
    assert (model.weights[:, 3:] == 0).all()


def test_a_concept_that_never_varies_does_no_harm() -> None:
    bank, features, labels = problem(3)
    flat = ConceptBank(bank.concepts, np.vstack([bank.vectors[:2], np.zeros(5)]), bank.intercepts)
    model = fit_posthoc(flat, (features, labels), 3)
    assert np.isfinite(model.weights).all()
