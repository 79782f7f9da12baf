"""Concept existence against its definition, written naively, and the worked example."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from theodolite._planted.concepts import planted_concepts
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics import concept_existence
from theodolite.metrics.exists.concept_existence import ConceptExistence
from theodolite.testing.strategies import concept_evidence

THETA = np.array([[1, -1], [0.5, 0], [-2, 3]])
U = np.array([[1, 2, -1], [3, 0, 1], [-1, 1, 2], [0, 0.5, 4], [2, -1, 3]])
LABELS = np.array([0, 0, 1, 1, 0])
TRUTH = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1], [1, 0, 1]], dtype=bool)
PREDICTED = (U @ THETA).argmax(axis=1)


@pytest.mark.parametrize(
    ("rank_by", "expected"),
    [
        ("weight", [1.0, 0.7, 0.533333]),
        ("value", [1.0, 0.8, 0.533333]),
        ("contribution", [0.8, 0.5, 0.533333]),
    ],
)
def test_worked_example(rank_by: str, expected: list[float]) -> None:
    result = concept_existence(
        U, TRUTH, top=(1, 2, 3), rank_by=rank_by, weights=THETA, predicted=PREDICTED
    )
    assert_allclose(result, expected, atol=5e-7)


def naive(
    evidence: ConceptEvidence, top: int, rank_by: str, order: str, population: str, named: str
) -> float:
    shares = []
    for i in range(len(evidence)):
        k = evidence.predicted[i]
        if population == "correct" and evidence.labels[i] != k:
            continue
        u, theta = evidence.values[i], evidence.weights[:, k]
        scores = {"contribution": u * theta, "weight": theta, "value": u}[rank_by]
        if order == "absolute":
            scores = abs(scores)
        able = [j for j in range(len(scores)) if named == "any" or u[j] > 0]
        ranking = sorted(able, key=lambda j: (-scores[j], j))[:top]
        known = [j for j in ranking if evidence.known is None or evidence.known[i, j]]
        if known:
            shares.append(sum(evidence.truth[i, j] for j in known) / len(known))
    return float(np.mean(shares)) if shares else float("nan")


@given(
    evidence=concept_evidence(ties=True),
    rank_by=st.sampled_from(["contribution", "weight", "value"]),
    order=st.sampled_from(["signed", "absolute"]),
    population=st.sampled_from(["all", "correct"]),
    named=st.sampled_from(["any", "positive"]),
)
def test_equals_the_definition(
    evidence: ConceptEvidence, rank_by: str, order: str, population: str, named: str
) -> None:
    result = ConceptExistence.of(
        evidence, top=(1, 3, 5), rank_by=rank_by, order=order, population=population, named=named
    ).value()
    expected = [naive(evidence, top, rank_by, order, population, named) for top in (1, 3, 5)]
    assert_allclose(result, expected, rtol=1e-12)


@pytest.mark.parametrize(("alignment", "expected"), [(1.0, 1.0), (0.0, 0.0)])
def test_planted_perfect_and_worst(alignment: float, expected: float) -> None:
    result = ConceptExistence.of(planted_concepts(alignment=alignment)).value()
    assert_allclose(result, expected)


def test_naming_everything_is_the_mean_prevalence() -> None:
    result = ConceptExistence.of(planted_concepts(alignment=0.3), top=(12,)).value()
    assert_allclose(result, 0.5)


def test_undefined_is_nan_and_counted() -> None:
    state = ConceptExistence.of(
        ConceptEvidence(
            values=np.ones((2, 2)), truth=np.ones((2, 2)), known=np.array([[0, 0], [1, 0]])
        ),
        top=(1,),
        rank_by="value",
    )
    assert state.value() == [1.0]
    assert (state.defined, state.asked) == (1.0, 2.0)


def test_a_concept_is_not_named_because_it_is_absent() -> None:
    """The first is absent, with a value and a weight below 0: the largest contribution."""
    evidence = ConceptEvidence(
        values=np.array([[-2.0, 1.0, 0.5], [-1.0, -1.0, -1.0]]),
        truth=np.array([[0, 1, 0], [1, 1, 1]], bool),
        weights=np.array([[-3.0], [2.0], [1.0]]),
        predicted=np.array([0, 0]),
    )
    assert ConceptExistence.of(evidence, top=(1,)).value() == [0.5]
    state = ConceptExistence.of(evidence, top=(1, 3), named="positive")
    assert_allclose(state.value(), [1.0, 0.5])  # of three, two can be named
    assert_allclose(state.defined, 1.0)  # nothing named: undefined, not 0
    assert_allclose(state.asked, 2.0)


@pytest.mark.parametrize(
    ("top", "needed"),
    [((), "whole numbers"), ((0,), "1 or more"), ((4,), "1 to 3, the concepts that can be named")],
)
def test_impossible_lengths_are_refused(top: tuple[int, ...], needed: str) -> None:
    with pytest.raises(EvidenceError, match=needed):
        concept_existence(U, TRUTH, top=top, rank_by="value")


def test_a_missing_array_is_named() -> None:
    with pytest.raises(EvidenceError, match="rank by 'value'"):
        concept_existence(U, TRUTH, top=(1,))
    with pytest.raises(EvidenceError, match="labels"):
        ConceptExistence.of(
            ConceptEvidence(values=U, truth=TRUTH), rank_by="value", population="correct", top=(1,)
        )
