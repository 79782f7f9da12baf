"""Concept global importance against its definition and the worked example."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import cosine_similarity

from theodolite._planted.concepts import planted_concepts
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics import concept_global_importance
from theodolite.metrics.exists.concept_global_importance import ConceptGlobalImportance
from theodolite.testing.strategies import concept_evidence

THETA = np.array([[1, -1], [0.5, 0], [-2, 3]])
TRUTH = np.array([[0.9, 0.1], [0.4, 0.6], [0, 1]])
U = np.array([[1, 2, -1], [3, 0, 1], [-1, 1, 2], [0, 0.5, 4], [2, -1, 3]])
GIVEN = {
    "weights": THETA,
    "labels": np.array([0, 0, 1, 1, 0]),
    "predicted": (U @ THETA).argmax(axis=1),
}


def test_worked_example() -> None:
    concepts = concept_global_importance(U, TRUTH, over="concepts", **GIVEN)
    classes = concept_global_importance(U, TRUTH, over="classes", **GIVEN)
    expected_concepts = [
        [0.624695, 0.554700, 0.832050],
        [0.937425, 0.942990, 1.000000],
        [0.990992, 0.554700, 1.000000],
    ]
    expected_classes = [[0.487447, 0.783498], [0.998969, 0.927318], [0.985030, 0.857781]]
    assert_allclose(concepts, expected_concepts, atol=5e-7)
    assert_allclose(classes, expected_classes, atol=5e-7)


def cosine(a: list[float], b: list[float]) -> float:
    lengths = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(x * x for x in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / lengths if lengths else math.nan


def naive(evidence: ConceptEvidence, form: int, over: str) -> list[float]:
    k, c = evidence.weights.shape
    matrix = [[math.nan] * c for _ in range(k)]
    for cls in range(c):
        rows = [
            i for i in range(len(evidence)) if evidence.labels[i] == cls == evidence.predicted[i]
        ]
        for j in range(k):
            weight = float(evidence.weights[j, cls])
            mean = sum(float(evidence.values[i, j]) for i in rows) / len(rows) if rows else math.nan
            matrix[j][cls] = {1: weight, 2: mean, 3: weight * mean}[form]
    truth = evidence.class_truth.tolist()
    if over == "classes":
        return [
            math.nan
            if math.isnan(matrix[0][cls])
            else cosine([matrix[j][cls] for j in range(k)], [truth[j][cls] for j in range(k)])
            for cls in range(c)
        ]
    kept = [cls for cls in range(c) if not math.isnan(matrix[0][cls])]
    return [cosine([matrix[j][x] for x in kept], [truth[j][x] for x in kept]) for j in range(k)]


@given(
    evidence=concept_evidence(),
    form=st.sampled_from([1, 2, 3]),
    over=st.sampled_from(["concepts", "classes"]),
)
def test_equals_the_definition(evidence: ConceptEvidence, form: int, over: str) -> None:
    result = ConceptGlobalImportance.of(evidence).value(form=(form,), over=over)
    assert_allclose(result[0], naive(evidence, form, over), rtol=1e-9, atol=1e-12)


@given(evidence=concept_evidence())
def test_form_one_equals_scikit_learn(evidence: ConceptEvidence) -> None:
    result = ConceptGlobalImportance.of(evidence).value(form=(1,))[0]
    expected = np.diag(cosine_similarity(evidence.weights, evidence.class_truth))
    assert_allclose(result, expected, atol=1e-12)


def test_planted_perfect_and_worst() -> None:
    perfect = planted_concepts()
    head = np.asarray(perfect.class_truth)
    given = {"labels": perfect.labels, "predicted": perfect.predicted}
    for sign in (1.0, -1.0):
        result = concept_global_importance(
            perfect.values, head, form=(1,), weights=sign * head, **given
        )
        assert_allclose(result, sign)


def test_undefined_is_nan() -> None:
    never_right = GIVEN | {"predicted": np.array([1, 1, 1, 1, 1])}
    by_class = concept_global_importance(U, TRUTH, over="classes", **never_right)
    assert np.isnan(by_class[1:, 0]).all()
    assert not np.isnan(by_class[0]).any()
    by_concept = concept_global_importance(U, TRUTH, over="concepts", **never_right)
    assert not np.isnan(by_concept[:, 2]).any()
    no_direction = np.array([[0.0, 0.0], [0.4, 0.6], [0, 1]])
    assert np.isnan(concept_global_importance(U, no_direction, **GIVEN)[:, 0]).all()


def test_huge_and_tiny_numbers_keep_their_direction() -> None:
    plain = concept_global_importance(U, TRUTH, **GIVEN)
    for scale in (1e-300, 1e150):
        scaled = concept_global_importance(
            U, TRUTH, weights=THETA * scale, labels=GIVEN["labels"], predicted=GIVEN["predicted"]
        )
        assert_allclose(scaled, plain, rtol=1e-9)


def test_unknown_form_is_refused() -> None:
    with pytest.raises(EvidenceError, match="one or more of 1, 2, 3"):
        concept_global_importance(U, TRUTH, form=(4,), **GIVEN)
