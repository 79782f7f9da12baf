"""Mutual information: against definitions, scikit-learn, and distributions whose truth is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import digamma
from scipy.stats import norm
from sklearn.feature_selection._mutual_info import _compute_mi_cc, _compute_mi_cd
from sklearn.metrics import mutual_info_score

from theodolite._stats.information import (
    Columns,
    add_noise,
    break_ties,
    has_ties,
    ksg,
    ksg_terms,
    pair_terms,
    plug_in,
    plug_in_entropy,
    ross,
    ross_columns,
    ross_many,
    ross_terms,
    self_information,
)
from theodolite.errors import EvidenceError
from theodolite.metrics.leak_free._terms import WIDER, auc_terms, weighted_means


def naive_ksg(x: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    """By the definition, one sample at a time."""
    x, y = x.reshape(len(x), -1), y.reshape(len(y), -1)
    terms = []
    for i in range(len(x)):
        dx, dy = abs(x - x[i]).max(axis=1), abs(y - y[i]).max(axis=1)
        reach = np.nextafter(np.sort(np.delete(np.maximum(dx, dy), i))[k - 1], 0)
        terms.append(digamma((dx <= reach).sum()) + digamma((dy <= reach).sum()))
    return digamma(len(x)) + digamma(k) - np.array(terms)


def naive_ross(c: np.ndarray, d: np.ndarray, k: int) -> np.ndarray:
    c = c.reshape(len(c), -1)
    counts = np.array([(d == one).sum() for one in d])
    kept = counts > 1
    out = np.full(len(d), np.nan)
    for i in np.flatnonzero(kept):
        away = np.sqrt(((c - c[i]) ** 2).sum(axis=1))
        same = np.flatnonzero((d == d[i]) & (np.arange(len(d)) != i))
        near = min(k, counts[i] - 1)
        reach = np.nextafter(np.sort(away[same])[near - 1], 0)
        m = (away[kept] <= reach).sum()
        out[i] = digamma(kept.sum()) + digamma(near) - digamma(counts[i]) - digamma(m)
    return out


cases = st.tuples(
    st.integers(0, 2**32 - 1), st.integers(4, 60), st.integers(1, 3), st.booleans(), st.booleans()
)


@given(cases)
@settings(max_examples=150)
def test_ksg_is_its_definition_with_and_without_ties(
    case: tuple[int, int, int, bool, bool],
) -> None:
    seed, n, k, tied, saturated = case
    random = np.random.default_rng(seed)
    x, y = random.normal(size=(2, n)) * (30 if saturated else 1)
    if saturated:
        x, y = 1 / (1 + np.exp(-x)), 1 / (1 + np.exp(-y))
    if tied:
        x, y = x.round(1), y.round(1)
    np.testing.assert_allclose(ksg_terms(x, y, k=k), naive_ksg(x, y, k), rtol=0, atol=1e-12)
    a, b = random.normal(size=(2, n, 3))
    np.testing.assert_allclose(ksg_terms(a, b, k=k), naive_ksg(a, b, k), rtol=0, atol=1e-12)


@given(cases)
@settings(max_examples=150)
def test_ross_is_its_definition(case: tuple[int, int, int, bool, bool]) -> None:
    seed, n, k, tied, _ = case
    random = np.random.default_rng(seed)
    d = random.integers(0, 4, n)
    c = random.normal(size=(n, 3)).round(1 if tied else 9)
    for values in (c[:, 0], c):
        expected = naive_ross(values, d, k)
        np.testing.assert_allclose(ross_terms(values, d, k=k), expected, rtol=0, atol=1e-12)
    flags = random.random((n, 5)) < np.array([0.5, 0.02, 0.98, 0.3, 0.0])
    expected = np.stack([naive_ross(c, flag.astype(int), k) for flag in flags.T])
    np.testing.assert_allclose(ross_many(c, flags, k=k), expected, rtol=0, atol=1e-12)


def test_more_equal_points_than_neighbors_are_looked_at() -> None:
    random = np.random.default_rng(3)
    c = np.concatenate([np.ones((100, 2)), random.normal(size=(60, 2))])
    flags = random.random((160, 4)) < 0.5
    expected = np.stack([naive_ross(c, flag.astype(int), 3) for flag in flags.T])
    np.testing.assert_allclose(ross_many(c, flags, k=3), expected, rtol=0, atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(30, 200))
@settings(max_examples=60)
def test_agrees_with_scikit_learn(seed: int, n: int) -> None:
    random = np.random.default_rng(seed)
    x, y = random.normal(size=(2, n))
    y += x * random.random()
    # fewer than twice k of a label make scikit-learn multiply distances out, which rounds them
    labels = np.concatenate([np.repeat([0, 1, 2], 8), random.integers(0, 3, n - 24)])
    assert abs(max(0.0, ksg(x, y)) - _compute_mi_cc(x.copy(), y.copy(), 3)) < 1e-9
    assert abs(max(0.0, ross(x, labels)) - _compute_mi_cd(x.copy(), labels, 3)) < 1e-9
    other = random.integers(0, 3, n)
    assert abs(plug_in(labels, other) - mutual_info_score(labels, other)) < 1e-9


def test_all_pairs_at_once_are_the_pairs_one_by_one() -> None:
    random = np.random.default_rng(0)
    values = 1 / (1 + np.exp(-5 * (random.normal(size=(700, 6)) + random.normal(size=(700, 1)))))
    pairs = np.stack(np.triu_indices(6, 1), axis=1)
    blocks = list(pair_terms(Columns(values), pairs))
    result = np.concatenate([terms for _, terms in blocks])
    for terms, (i, j) in zip(result, pairs, strict=True):
        np.testing.assert_allclose(terms, naive_ksg(values[:, i], values[:, j], 3), atol=1e-12)


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.6, 0.9])
def test_normal_pairs_have_their_known_information(rho: float) -> None:
    """Bias small beside the spread, and intervals that cover: 95 % of 200, give or take."""
    random = np.random.default_rng(7)
    true, n, repeats = -0.5 * np.log(1 - rho**2), 400, 200
    result, errors = [], []
    for _ in range(repeats):
        x, noise = random.normal(size=(2, n))
        terms = ksg_terms(x, rho * x + np.sqrt(1 - rho**2) * noise)
        result.append(terms.mean())
        errors.append(WIDER * terms.std() / np.sqrt(n))
    assert abs(np.mean(result) - true) < 0.3 * np.std(result) + 0.002
    assert np.std(result) < 1.6 / np.sqrt(n)
    covered = np.mean(np.abs(np.array(result) - np.mean(result)) < 1.96 * np.array(errors))
    assert 0.92 <= covered <= 1.0


@pytest.mark.parametrize("apart", [0.0, 1.0, 3.0])
def test_mixed_pairs_have_their_known_information(apart: float) -> None:
    def term(x: float) -> float:
        a, b = norm.pdf(x), norm.pdf(x - apart)
        mean = (a + b) / 2
        return 0.5 * a * np.log(max(a, 1e-300) / mean) + 0.5 * b * np.log(max(b, 1e-300) / mean)

    true = quad(term, -12, 15)[0]
    random = np.random.default_rng(3)
    result, errors = [], []
    for _ in range(150):
        labels = random.integers(0, 2, 400)
        terms = ross_terms(random.normal(size=400) + apart * labels, labels)
        result.append(terms.mean())
        errors.append(WIDER * terms.std() / 20)
    assert abs(np.mean(result) - true) < 0.3 * np.std(result) + 0.002
    covered = np.mean(np.abs(np.array(result) - np.mean(result)) < 1.96 * np.array(errors))
    assert 0.92 <= covered <= 1.0


def test_what_is_called_entropy_is_a_constant() -> None:
    random = np.random.default_rng(0)
    keys = np.arange(500)
    for values in (
        random.uniform(size=500),
        random.normal(size=500),
        np.exp(random.normal(size=500)),
    ):
        result = self_information(values[:, None], keys, ["c"])
        assert result[0] == pytest.approx(4.957490, abs=5e-7)
        twice = [add_noise(values[:, None], keys, [name], seed=0)[:, 0] for name in "ab"]
        assert ksg(*twice) == pytest.approx(4.957490, abs=5e-7)
    tied = random.uniform(size=500).round(2)[:, None]
    assert self_information(tied, keys, ["c"])[0] < 4.6  # duplicates lower it


def test_ties_are_broken_the_same_in_every_order() -> None:
    random = np.random.default_rng(1)
    values = random.random((50, 3)).round(1)
    values[:, 2] = random.random(50)
    keys, names = np.arange(50), ("a", "b", "c")
    broken = break_ties(values, keys, names, seed=3)
    assert not has_ties(broken).any()
    assert (broken[:, 2] == values[:, 2]).all()
    assert 0 < np.abs(broken - values).max() < 1e-8
    order = random.permutation(50)
    assert (break_ties(values[order], keys[order], names, seed=3) == broken[order]).all()
    swapped = break_ties(values[:, [1, 0, 2]], keys, ("b", "a", "c"), seed=3)
    assert (swapped[:, [1, 0, 2]] == broken).all()
    assert (break_ties(values, keys, names, seed=4) != broken).any()


def test_too_few_samples_are_undefined() -> None:
    assert np.isnan(ksg(np.arange(3.0), np.arange(3.0)))
    assert np.isnan(ross(np.arange(3.0), np.arange(3)))
    assert np.isnan(plug_in_entropy(np.zeros(0, int)))
    assert ross_columns(np.zeros((0, 2)), np.zeros(0, int)).shape == (2, 0)
    with pytest.raises(EvidenceError, match="k: got 4"):
        ksg(np.arange(9.0), np.arange(9.0), k=4)


def test_areas_are_means_of_terms_and_vary_as_resampling_says() -> None:
    from sklearn.metrics import roc_auc_score  # noqa: PLC0415

    random = np.random.default_rng(5)
    truth = random.random(300) < 0.4
    scores = (random.normal(size=300) + truth).round(1)
    terms = auc_terms(scores, truth)
    assert terms.mean() == pytest.approx(roc_auc_score(truth, scores), abs=1e-12)
    rows = random.integers(0, 300, (400, 300))
    drawn = [roc_auc_score(truth[r], scores[r]) for r in rows]
    weights = np.stack([np.bincount(r, minlength=300) for r in rows]).astype(float)
    assert np.std(weighted_means(terms[None], weights)) == pytest.approx(np.std(drawn), rel=0.05)
    assert np.isnan(auc_terms(scores, np.ones(300, bool))).all()
