"""Concept vectors: scikit-learn's own SVM, drawn and projected as said."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.svm import SVC

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Concepts
from theodolite.models.concept_bank import ConceptBank, draw_examples, fit_concept_bank

CONCEPTS = Concepts(("horn", "tail"))


def planted(n: int = 300, d: int = 16, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    directions = np.linalg.qr(random.normal(size=(d, 2)))[0].T
    presence = random.random((n, 2)) < 0.5
    features = random.normal(size=(n, d)) * 0.3 + (2.0 * presence - 1.0) @ directions
    return features, presence, directions


def test_equals_a_linear_svm_fitted_directly() -> None:
    features, presence, _ = planted()
    examples = draw_examples(
        presence, None, n_positive=40, n_negative=40, concepts=CONCEPTS, seed=3
    )
    for c in (0.01, 1.0):
        bank = fit_concept_bank(features, examples, CONCEPTS, regulariser=c)
        for j in range(2):
            rows = np.concatenate([examples.positive[j], examples.negative[j]])
            direct = SVC(C=c, kernel="linear").fit(features[rows], presence[rows, j])
            assert_allclose(bank.vectors[j], direct.coef_[0], rtol=1e-2, atol=1e-3)
            assert_allclose(bank.intercepts[j], direct.intercept_[0], rtol=1e-2, atol=1e-2)


def test_planted_directions_are_found() -> None:
    features, presence, directions = planted()
    examples = draw_examples(
        presence, None, n_positive=100, n_negative=100, concepts=CONCEPTS, seed=0
    )
    bank = fit_concept_bank(features, examples, CONCEPTS, regulariser=0.01)
    unit = bank.vectors / np.linalg.norm(bank.vectors, axis=1, keepdims=True)
    assert (np.sum(unit * directions, axis=1) > 0.95).all()


def test_examples_show_what_they_should_without_repetition() -> None:
    _, presence, _ = planted(50)
    known = np.ones_like(presence)
    known[:10] = False
    drawn = draw_examples(presence, known, n_positive=30, n_negative=5, concepts=CONCEPTS, seed=1)
    for j in range(2):
        assert presence[drawn.positive[j], j].all() and not presence[drawn.negative[j], j].any()
        assert len(set(drawn.positive[j])) == len(drawn.positive[j]) <= 30
        assert len(drawn.negative[j]) == 5
        assert min(drawn.positive[j]) >= 10


def test_a_seed_gives_one_draw_and_adding_a_concept_changes_no_other() -> None:
    _, presence, _ = planted(60)
    both = draw_examples(presence, None, n_positive=9, n_negative=9, concepts=CONCEPTS, seed=7)
    one = draw_examples(
        presence[:, :1], None, n_positive=9, n_negative=9, concepts=Concepts(("horn",)), seed=7
    )
    other = draw_examples(presence, None, n_positive=9, n_negative=9, concepts=CONCEPTS, seed=8)
    assert (both.positive[0] == one.positive[0]).all()
    assert (both.positive[0] != other.positive[0]).any()


def test_a_concept_that_is_never_there_is_named() -> None:
    with pytest.raises(EvidenceError, match="concept 'tail': got no training sample with it"):
        draw_examples(
            np.array([[1, 0], [0, 0]], bool), None, n_positive=1, n_negative=1,
            concepts=CONCEPTS, seed=0,
        )  # fmt: skip


def test_projections() -> None:
    bank = ConceptBank(CONCEPTS, np.array([[3.0, 4.0], [0.0, 2.0]]), np.array([5.0, -1.0]))
    features = np.array([[1.0, 2.0]])
    assert_allclose(bank.project(features, "dot"), [[11.0, 4.0]])
    assert_allclose(bank.project(features, "margin"), [[16.0 / 5, 3.0 / 2]])
