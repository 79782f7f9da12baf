"""Importances of concepts: naive definitions, axioms, and indices known in closed form."""

from itertools import permutations
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from theodolite.errors import EvidenceError
from theodolite.explainers.discovery import sobol
from theodolite.explainers.discovery.importance import (
    gradient_importance,
)
from theodolite.explainers.discovery.shapley import (
    concept_completeness_value,
    shapley_importance,
)
from theodolite.explainers.discovery.sobol import sobol_importance

seeds = st.integers(0, 2**32 - 1)


def same(values: np.ndarray) -> np.ndarray:
    return values


def curved(values: np.ndarray) -> np.ndarray:
    """Two outputs that are not linear."""
    return np.stack([np.sin(values).sum(axis=1), (values**2).sum(axis=1)], axis=1)


@given(seed=seeds, shape=st.tuples(*[st.integers(1, 5)] * 3))
def test_derivatives_of_a_linear_head_are_its_products(
    seed: int, shape: tuple[int, int, int]
) -> None:
    d, k, c = shape
    random = np.random.default_rng(seed)
    head, vectors = random.normal(size=(c, d)), random.normal(size=(k, d))
    expected = [[sum(head[i] * vectors[j]) for j in range(k)] for i in range(c)]
    assert_allclose(gradient_importance(head, vectors), expected, atol=1e-12)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_sobol_indices_of_a_linear_output_are_known(seed: int) -> None:
    """With masks uniform on [0, 1], concept k has the share (a_k p_k)^2 of the variance."""
    random = np.random.default_rng(seed)
    codes, vectors = random.random((5, 4)) + 0.1, random.normal(size=(4, 7))
    head = random.normal(size=(3, 7))
    result = sobol_importance(
        codes, lambda p: p @ vectors, lambda h: h @ head.T + 9, n_designs=4096, seed=seed
    )
    part = (codes[:, None, :] * (head @ vectors.T)) ** 2
    assert_allclose(result, (part / part.sum(axis=2, keepdims=True)).mean(axis=0), atol=0.02)
    few = sobol_importance(codes, lambda p: p @ vectors, lambda h: h @ head.T, seed=seed)
    assert (few >= 0).all()
    assert_allclose(few, result, atol=0.25)


def test_sobol_counts_what_concepts_do_together() -> None:
    """x y on [0, 1] has the variance 7/144, of which 4/144 go with x and as much with y."""
    result = sobol_importance(
        np.ones((1, 2)), same, lambda p: p.prod(axis=1, keepdims=True), n_designs=8192, seed=0
    )
    assert_allclose(result, [[4 / 7, 4 / 7]], atol=0.02)


def naive_sobol(codes: np.ndarray, n_designs: int, seed: int) -> np.ndarray:
    from scipy.stats import qmc  # noqa: PLC0415

    n, k = codes.shape
    points = qmc.Halton(2 * k, scramble=True, seed=np.random.default_rng(seed)).random(n_designs)
    result = np.zeros((2, k))
    for p in codes:
        first = np.array([curved((p * mask[:k])[None])[0] for mask in points])
        mean = first.sum(axis=0) / n_designs
        variance = ((first - mean) ** 2).sum(axis=0) / (n_designs - 1)
        for j in range(k):
            total = np.zeros(2)
            for m, mask in enumerate(points):
                changed = mask[:k].copy()
                changed[j] = mask[k + j]
                total += (first[m] - curved((p * changed)[None])[0]) ** 2
            result[:, j] += total / (2 * n_designs * variance) / n
    return result


def test_sobol_equals_the_naive_loops_in_blocks_of_any_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    codes = np.random.default_rng(0).normal(size=(5, 3))
    expected = naive_sobol(codes, 32, seed=4)
    assert_allclose(sobol_importance(codes, same, curved, seed=4), expected, atol=1e-9)
    monkeypatch.setattr(sobol, "NUMBERS_AT_ONCE", 1000)
    assert_allclose(sobol_importance(codes, same, curved, seed=4), expected, atol=1e-9)


def test_an_output_that_never_varies_has_no_sobol_index() -> None:
    codes = np.array([[1.0, 2.0], [0.0, 0.0]])

    def outputs(values: np.ndarray) -> np.ndarray:
        return np.stack([values[:, 0], 0 * values[:, 0] + 1 / 3], axis=1)

    result = sobol_importance(codes, same, outputs, seed=0)
    assert np.isnan(result[1]).all()
    # the sample without codes does not vary: the other alone counts
    assert_allclose(result[0], sobol_importance(codes[:1], same, outputs, seed=0)[0])
    assert result[0, 1] == 0
    with pytest.raises(EvidenceError, match="at least 2"):
        sobol_importance(codes, same, outputs, n_designs=1, seed=0)
    with pytest.raises(EvidenceError, match="no samples"):
        sobol_importance(codes[:0], same, outputs, seed=0)
    with pytest.raises(EvidenceError, match="NaN or infinity"):
        sobol_importance(codes, same, lambda h: h * np.nan, seed=0)


def game(n: int, seed: int, classes: int = 1) -> np.ndarray:
    """A worth for each of the sets of n players."""
    return np.random.default_rng(seed).normal(size=(2**n, classes))


def worth_of(table: np.ndarray, sets: np.ndarray) -> np.ndarray:
    return table[sets @ (1 << np.arange(sets.shape[1]))]


@given(n=st.integers(1, 5), seed=seeds)
def test_shapley_values_equal_the_mean_over_all_orders(n: int, seed: int) -> None:
    table = game(n, seed, classes=2)
    expected = np.zeros((2, n))
    for order in permutations(range(n)):
        before = 0
        for player in order:
            after = before | 1 << player
            expected[:, player] += (table[after] - table[before]) / factorial(n)
            before = after
    assert_allclose(shapley_importance(lambda s: worth_of(table, s), n), expected, atol=1e-9)


@given(n=st.integers(2, 8), seed=seeds)
def test_shapley_axioms(n: int, seed: int) -> None:
    table, other = game(n, seed), game(n, seed ^ 1)
    number = np.arange(2**n)
    swapped = number & ~3 | (number & 1) << 1 | (number & 2) >> 1
    symmetric = table + table[swapped]
    result = shapley_importance(lambda s: worth_of(symmetric, s)[:, 0], n)
    assert result.shape == (n,)
    assert_allclose(result.sum(), (symmetric[-1] - symmetric[0])[0], atol=1e-9)  # efficiency
    assert_allclose(result[0], result[1], atol=1e-9)  # symmetry
    dummy = table[number & ~1]
    assert_allclose(shapley_importance(lambda s: worth_of(dummy, s), n)[0, 0], 0, atol=1e-9)
    both = shapley_importance(lambda s: worth_of(symmetric + other, s)[:, 0], n)
    alone = shapley_importance(lambda s: worth_of(other, s)[:, 0], n)
    assert_allclose(both, result + alone, atol=1e-9)  # linearity


def test_sampled_shapley_values_are_close_and_add_up() -> None:
    random = np.random.default_rng(0)
    weights, pairs = random.normal(size=12), np.triu(random.normal(size=(12, 12)), 1)

    def worth(sets: np.ndarray) -> np.ndarray:
        x = sets.astype(float)
        return x @ weights + np.einsum("si,ij,sj->s", x, pairs, x) + 5

    exact = weights + (pairs + pairs.T).sum(axis=0) / 2
    result = shapley_importance(worth, 12, samples=1, seed=0)
    assert_allclose(result, exact, atol=1e-9)  # an order and its reverse: exact up to pairs

    def and_triples(sets: np.ndarray) -> np.ndarray:
        return worth(sets) + 4.0 * sets[:, :3].all(axis=1)

    expected = exact + np.where(np.arange(12) < 3, 4 / 3, 0)
    result = shapley_importance(and_triples, 12, samples=400, seed=0)
    assert_allclose(result, expected, atol=0.15)
    assert not np.allclose(result, expected, atol=1e-6)
    ends = and_triples(np.stack([np.zeros(12, bool), np.ones(12, bool)]))
    assert_allclose(result.sum(), ends[1] - ends[0])
    again = shapley_importance(and_triples, 12, samples=400, seed=0)
    assert_array_equal(result, again)
    assert shapley_importance(lambda s: worth(s)[:, None] * [1, 2], 12, samples=1).shape == (2, 12)
    with pytest.raises(EvidenceError, match="at least 1"):
        shapley_importance(worth, 0)


def test_shapley_values_agree_with_the_package_shap() -> None:
    shap = pytest.importorskip("shap", reason="a peer, not a part")
    table = game(6, seed=3)
    explainer = shap.KernelExplainer(
        lambda masks: worth_of(table, masks.astype(bool))[:, 0], np.zeros((1, 6))
    )
    peer = explainer.shap_values(np.ones((1, 6)), nsamples=2**6, silent=True)
    result = shapley_importance(lambda s: worth_of(table, s)[:, 0], 6)
    assert_allclose(np.ravel(peer), result, atol=1e-6)


def test_completeness_counts_what_is_still_recognized() -> None:
    random = np.random.default_rng(0)
    codes, vectors = random.normal(size=(40, 3)), random.normal(size=(3, 5))
    head, labels = random.normal(size=(4, 5)), random.integers(0, 3, 40)
    value = concept_completeness_value(codes, labels, lambda p: p @ vectors, lambda h: h @ head.T)
    sets = np.array([[True, False, True], [False, False, False], [True, True, True]])
    expected = np.full((3, 4), np.nan)
    for s, chosen in enumerate(sets):
        for c in range(3):
            hits = []
            for p in codes[labels == c]:
                h = sum((p[k] * vectors[k] for k in np.flatnonzero(chosen)), np.zeros(5))
                hits.append(int(np.argmax(head @ h)) == c)
            expected[s, c] = np.mean(hits)
    assert_allclose(value(sets), expected)
    importances = shapley_importance(value, 3)
    assert importances.shape == (4, 3) and np.isnan(importances[3]).all()
    assert_allclose(importances[:3].sum(axis=1), (expected[2] - expected[1])[:3], atol=1e-12)
