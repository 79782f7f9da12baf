"""Neighbor estimates that count ties, and each cluster once, against plain loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import digamma as psi

from theodolite._stats.information import Columns, has_ties, ksg_terms, ross_terms
from theodolite._stats.neighbors import (
    _compute_pair_terms_native,
    _compute_pair_terms_numpy,
    average_over_cluster_rows,
    label_terms,
    label_vector_terms,
    stratified_pair_terms,
)

cases = st.tuples(
    st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 3), st.sampled_from([0, 1, 9])
)
Case = tuple[int, int, int, int]


def case_of(case: Case, columns: int) -> tuple[np.ndarray, np.ndarray]:
    seed, n, _, digits = case
    random = np.random.default_rng(seed)
    return random.normal(size=(n, columns)).round(digits) + 0.0, random.integers(0, 3, n)


def naive_label_term(away: np.ndarray, labels: np.ndarray, i: int, k: int) -> float:
    others = [j for j in range(len(labels)) if j != i]
    same = [j for j in others if labels[j] == labels[i]]
    if not same:
        return np.nan
    near = min(k, len(same))
    reach = sorted(away[j] for j in same)[near - 1]
    at_least = sum(away[j] <= reach for j in same)
    within = sum(away[j] <= reach for j in others)
    n, n_same = len(others), len(same)
    if reach == 0:
        return float(psi(n + 1) + psi(at_least + 1) - psi(n_same + 1) - psi(within + 1))
    if at_least > near:
        return float(psi(n) + psi(at_least) - psi(n_same) - psi(within))
    return float(psi(n + 1) + psi(near) - psi(n_same + 1) - psi(within))


@given(cases)
@settings(max_examples=60)
def test_labels_equal_the_definition(case: Case) -> None:
    values, labels = case_of(case, 1)
    n, k, x = len(values), case[2], values[:, 0]
    away = np.abs(x[:, None] - x[None, :])
    expected = [naive_label_term(away[i], labels, i, k) for i in range(n)]
    assert_allclose(label_terms(x, labels, k=k), expected, atol=1e-12)


@given(cases)
@settings(max_examples=30)
def test_vectors_equal_the_definition(case: Case) -> None:
    values, labels = case_of(case, 2)
    away = np.sqrt(((values[:, None] - values[None]) ** 2).sum(axis=2))
    expected = [naive_label_term(away[i], labels, i, case[2]) for i in range(len(values))]
    assert_allclose(label_vector_terms(values, labels, k=case[2]), expected, atol=1e-12)


def naive_pair_term(x: np.ndarray, y: np.ndarray, i: int, k: int) -> float:
    others = [j for j in range(len(x)) if j != i]
    away = {j: max(abs(x[j] - x[i]), abs(y[j] - y[i])) for j in others}
    far = sorted(away.values())[k - 1]
    near, n = sum(d <= far for d in away.values()), len(others)
    inside = [sum(abs(c[j] - c[i]) <= far for j in others) for c in (x, y)]
    nearer = [sum(abs(c[j] - c[i]) < far for j in others) for c in (x, y)]
    if far == 0:
        return float(psi(n + 1) + psi(near + 1) - psi(inside[0] + 1) - psi(inside[1] + 1))
    if near > k:
        return float(psi(n) + psi(near) - psi(inside[0]) - psi(inside[1]))
    return float(psi(n + 1) + psi(k) - psi(nearer[0] + 1) - psi(nearer[1] + 1))


@given(cases)
@settings(max_examples=60)
def test_pairs_equal_the_definition(case: Case) -> None:
    values, _ = case_of(case, 3)
    n, k = len(values), case[2]
    strata = np.random.default_rng(case[0]).integers(0, 2, (3, n))
    pairs = np.array([(0, 1), (2, 1)])
    plain = _compute_pair_terms_numpy(values.T, pairs, strata, k)
    compiled = _compute_pair_terms_native(Columns(values), pairs, strata, has_ties(values), k)
    expected = np.full((2, n), np.nan)
    for p, (a, b) in enumerate(pairs):
        for code in range(4):
            rows = np.flatnonzero(2 * strata[a] + strata[b] == code)
            if len(rows) > k:
                x, y = values[rows, a], values[rows, b]
                expected[p, rows] = [naive_pair_term(x, y, i, k) for i in range(len(rows))]
    assert_allclose(plain, expected, atol=1e-12)
    assert_allclose(compiled, expected, atol=1e-12)


def test_without_ties_and_clusters_as_published() -> None:
    random = np.random.default_rng(0)
    x, y = random.normal(size=(2, 200))
    labels = random.integers(0, 3, 200)
    assert_allclose(label_terms(x, labels), ross_terms(x, labels), atol=1e-12)
    vectors = random.normal(size=(200, 3))
    assert_allclose(label_vector_terms(vectors, labels), ross_terms(vectors, labels), atol=1e-12)
    strata = np.zeros((2, 200), int)
    ((_, terms),) = stratified_pair_terms(np.stack([x, y], axis=1), np.array([[0, 1]]), strata)
    assert_allclose(terms[0], ksg_terms(x, y), atol=1e-12)


def test_a_column_without_spread_tells_nothing() -> None:
    random = np.random.default_rng(0)
    labels = random.integers(0, 3, 50)
    assert_allclose(label_terms(np.full(50, 0.3), labels), 0, atol=1e-12)
    assert_allclose(label_vector_terms(np.full((50, 2), 0.3), labels), 0, atol=1e-12)
    for other in (np.full(50, 2.0), random.normal(size=50), random.integers(0, 4, 50) * 1.0):
        values = np.stack([np.full(50, 0.3), other], axis=1)
        ((_, terms),) = stratified_pair_terms(values, np.array([[0, 1]]), np.zeros((2, 50), int))
        assert_allclose(terms, 0, atol=1e-12)


@pytest.mark.parametrize("digits", [0, 1, 9])
def test_unrelated_values_tell_about_nothing(digits: int) -> None:
    random = np.random.default_rng(1)
    means = []
    for _ in range(40):
        x, labels = random.normal(size=100).round(digits), random.random(100) < 0.3
        means.append(label_terms(x, labels.astype(int)).mean())
    assert -0.03 < np.mean(means) < 0.015


def test_copies_count_once() -> None:
    random = np.random.default_rng(2)
    x, labels = random.normal(size=100), random.integers(0, 2, 100)
    rows = np.repeat(np.arange(100), random.integers(1, 5, 100))
    rows = random.permutation(rows)

    def terms_of(some: np.ndarray) -> np.ndarray:
        return label_terms(x[rows[some]], labels[rows[some]])

    alone = terms_of(np.arange(len(rows))).mean()
    result = average_over_cluster_rows(rows, len(rows), terms_of)
    assert alone > 0.3
    assert_allclose(result, label_terms(x, labels)[rows], atol=1e-12)


def test_each_cluster_gives_one_row_at_a_time_and_each_row_has_its_turn() -> None:
    clusters = np.array([3, 1, 3, 1, 3, 7])
    rounds = []

    def terms_of(rows: np.ndarray) -> np.ndarray:
        rounds.append(rows.tolist())
        return np.where(rows == 5, [len(rounds)], np.nan * rows)[None]

    result = average_over_cluster_rows(clusters, 6, terms_of)
    assert rounds == [[0, 1, 5], [2, 3, 5], [1, 4, 5]]
    assert_allclose(result, [[np.nan] * 5 + [2.0]])  # the mean of 1, 2 and 3
    assert average_over_cluster_rows(clusters[:0], 0, lambda rows: rows * 1.0).shape == (0,)
