"""Predictive information: worked numbers, an oracle that leaves clusters out by deleting them."""

import math
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from theodolite._stats import predictive
from theodolite._stats.predictive import PredictiveTerms, predictive_terms

VALUES = np.arange(1, 9) / 10
LABELS = np.array([0, 0, 0, 1, 0, 1, 1, 1])


def terms(values: np.ndarray, *others: np.ndarray | None, compiled: bool = False) -> np.ndarray:
    """Rows of one column: out, inside, surprise."""
    with patch.object(predictive, "SMALL_TERMS", 0 if compiled else 1 << 40):
        result: PredictiveTerms = predictive_terms(np.asarray(values)[:, None], *others)
    return np.stack([result.out[0], result.inside[0], result.surprise[0]])


@pytest.mark.parametrize("compiled", [False, True])
class TestWorkedNumbers:
    def test_eight_rows(self, compiled: bool) -> None:
        out, inside, surprise = terms(VALUES, LABELS, compiled=compiled)
        expected = [0.598064, 0.466004, 0.323358, -0.375251]
        np.testing.assert_allclose(out, [*expected, *expected[::-1]], atol=5e-7)
        assert out.mean() == pytest.approx(0.253044, abs=5e-7)
        assert inside.mean() == pytest.approx(0.267706, abs=5e-7)
        assert surprise == pytest.approx(-math.log(0.4375))

    def test_ties_and_what_says_less(self, compiled: bool) -> None:
        tied = np.array([0.1, 0.1, 0.3, 0.3, 0.3, 0.6, 0.6, 0.8])
        out, inside, _ = terms(tied, LABELS, compiled=compiled)
        assert out.mean() == pytest.approx(0.298482, abs=5e-7)
        assert (out + inside).mean() / 2 == pytest.approx(0.301174, abs=5e-7)
        hard = terms((VALUES > 0.45).astype(float), LABELS, compiled=compiled)
        assert hard[0].mean() == pytest.approx(-0.043033, abs=5e-7)
        assert (terms(np.ones(8), LABELS, compiled=compiled)[:2] == 0).all()

    def test_copies_count_once_if_they_are_declared(self, compiled: bool) -> None:
        twice = [np.repeat(array, 2) for array in (VALUES, LABELS, np.arange(8))]
        once = terms(VALUES, LABELS, compiled=compiled)
        np.testing.assert_allclose(terms(*twice, compiled=compiled)[:, ::2], once, atol=1e-12)
        undeclared = terms(*twice[:2], compiled=compiled)[0].mean()
        assert undeclared == pytest.approx(0.345519, abs=5e-7)


def oracle(values: np.ndarray, labels: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Out and inside of one stratum, in loops: each cluster's rows are deleted and counted anew."""
    for label in set(labels):
        if len(set(clusters[labels == label])) < 2:
            keep = labels != label
            result = np.full((2, len(values)), np.nan)
            result[:, keep] = oracle(values[keep], labels[keep], clusters[keep])
            return result
    groups = sorted(set(clusters))
    if len(groups) < 4 or len(set(labels)) < 2:
        return np.full((2, len(values)), np.nan)
    weights = np.array([1 / (clusters == c).sum() for c in clusters])
    ranks = np.array(
        [(weights[values < v].sum() + weights[values == v].sum() / 2) / len(groups) for v in values]
    )
    models = [lambda *_: 0.0]
    seen: list[list[int]] = [[0] * len(values)]
    for level in (2, 4, 8, 16, 32, 64, 128):
        bins = [min(int(level * u + 1e-9), level - 1) for u in ranks]
        grouping = [bins.index(b) for b in bins]
        if level <= max(2, len(groups) / 4) and grouping not in seen:
            seen.append(grouping)
            models += [table(np.array(bins), prior) for prior in (2, 8, 32)]
    if len(models) > 1:
        edge = 1 / (4 * len(groups))
        models.append(normal(norm.ppf(np.clip(ranks, edge, 1 - edge))))
    shape = (len(models), len(values))
    out, inside = np.zeros(shape), np.zeros(shape)
    for m, model in enumerate(models):
        for i, cluster in enumerate(clusters):
            out[m, i] = model(i, clusters != cluster, weights, labels, len(groups) - 1)
            inside[m, i] = model(i, clusters == clusters, weights, labels, len(groups))
    result = np.empty((2, len(values)))
    for i, cluster in enumerate(clusters):
        others = clusters != cluster
        gained = (out[:, others] * weights[others]).sum(axis=1)
        shares = np.exp(gained - gained.max())
        shares /= shares.sum()
        result[0, i] = math.log((shares * np.exp(out[:, i])).sum())
        result[1, i] = math.log((shares * np.exp(inside[:, i])).sum())
    return result


def base(label: int, seen: np.ndarray, weights: np.ndarray, labels: np.ndarray, n: int) -> float:
    own = weights[seen & (labels == label)].sum()
    return float((own + 0.5) / (n + len(set(labels)) / 2))


def table(bins: np.ndarray, prior: float):
    def gain(i: int, seen: np.ndarray, weights: np.ndarray, labels: np.ndarray, n: int) -> float:
        chance = base(labels[i], seen, weights, labels, n)
        near = seen & (bins == bins[i])
        same = weights[near & (labels == labels[i])].sum()
        return math.log((same + prior * chance) / (weights[near].sum() + prior)) - math.log(chance)

    return gain


def normal(z: np.ndarray):
    def gain(i: int, seen: np.ndarray, weights: np.ndarray, labels: np.ndarray, n: int) -> float:
        means, sums = {}, {}
        for label in set(labels):
            own = seen & (labels == label)
            sums[label] = (weights * z)[own].sum()
            means[label] = sums[label] / (weights[own].sum() + 1)
        squares = (weights * z**2)[seen].sum()
        spread = squares - sum(sums[label] * means[label] for label in means)
        variance = max(spread / max(n - 1, 1), 0.05)
        likelihood = {
            label: base(label, seen, weights, labels, n)
            * math.exp(-((z[i] - mean) ** 2) / (2 * variance))
            for label, mean in means.items()
        }
        share = likelihood[labels[i]] / sum(likelihood.values())
        return math.log(share) - math.log(base(labels[i], seen, weights, labels, n))

    return gain


@st.composite
def strata(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values, with and without ties, labels and clusters of one stratum."""
    n = draw(st.integers(4, 28))
    random = np.random.default_rng(draw(st.integers(0, 1 << 20)))
    labels = random.integers(0, draw(st.integers(2, 4)), n)
    clusters = random.integers(0, draw(st.integers(4, 24)), n) if draw(st.booleans()) else None
    values = random.normal(size=n) + draw(st.sampled_from([0.0, 1.0, 4.0])) * labels
    if draw(st.booleans()):
        values = np.round(values)
    return values, labels, np.arange(n) if clusters is None else clusters


@pytest.mark.parametrize("compiled", [False, True])
@given(stratum=strata())
@settings(max_examples=25, deadline=None)
def test_it_is_what_deleting_each_cluster_gives(
    compiled: bool, stratum: tuple[np.ndarray, ...]
) -> None:
    result = terms(*stratum, compiled=compiled)
    np.testing.assert_allclose(result[:2], oracle(*stratum), atol=1e-10)


@pytest.mark.parametrize("compiled", [False, True])
@given(stratum=strata(), seed=st.integers(0, 1 << 16))
@settings(max_examples=15, deadline=None)
def test_only_the_order_of_values_counts(
    compiled: bool, stratum: tuple[np.ndarray, ...], seed: int
) -> None:
    values, labels, clusters = stratum
    expected = terms(values, labels, clusters, compiled=compiled)
    for recoded in (1e25 * values, np.exp(values), np.float32(values), values * 1e300):
        same = len(np.unique(recoded)) == len(np.unique(values))
        if same:  # float32 may make values equal
            result = terms(recoded, labels, clusters, compiled=compiled)
            np.testing.assert_array_equal(result, expected)
    order = np.random.default_rng(seed).permutation(len(values))
    names = np.random.default_rng(seed).permutation(40)
    moved = terms(values[order], names[labels[order]], names[clusters[order]], compiled=compiled)
    np.testing.assert_allclose(moved, expected[:, order], atol=1e-12)
    thrice = [np.repeat(array, 3) for array in stratum]
    np.testing.assert_allclose(terms(*thrice, compiled=compiled)[:, ::3], expected, atol=1e-12)


@pytest.mark.parametrize("compiled", [False, True])
def test_strata_are_apart_and_rows_of_none_are_undefined(compiled: bool) -> None:
    random = np.random.default_rng(0)
    n = 400
    strata, labels = random.integers(-1, 2, n), random.integers(0, 3, n)
    values = random.normal(size=n) + labels + 10 * strata
    whole = terms(values, labels, None, strata[None], compiled=compiled)
    assert np.isnan(whole[:, strata < 0]).all()
    for stratum in (0, 1):
        rows = strata == stratum
        alone = terms(values[rows], labels[rows], compiled=compiled)
        np.testing.assert_array_equal(whole[:, rows], alone)
    told = terms(strata.astype(float), labels, None, strata[None], compiled=compiled)
    assert (told[:2][:, strata >= 0] == 0).all(), "nothing but the stratum tells nothing more"


def test_too_few_clusters_or_labels_are_undefined() -> None:
    assert np.isnan(terms(VALUES, LABELS, LABELS)).all(), "two clusters"
    assert np.isnan(terms(VALUES, np.zeros(8, int))).all(), "one label"
    once = np.array([0, 0, 0, 1, 0, 1, 1, 2])  # nobody else has the last label
    assert np.isnan(terms(VALUES, once)[:, -1]).all()
    np.testing.assert_array_equal(terms(VALUES, once)[:, :-1], terms(VALUES[:-1], once[:-1]))


@pytest.mark.parametrize("kind", ["float", "percent", "int8", "uint16", "two digits"])
@pytest.mark.parametrize("share", [0.0, 0.2])
def test_a_recoded_value_leaks_no_more_and_no_less(kind: str, share: float) -> None:
    """Integers were once counted as categories: uint16 codes of a clean model scored 0.99."""
    random = np.random.default_rng(3)
    n, shift = 300, 1.07 if share else 0.0  # about 0.2 of the entropy of two labels
    estimates = []
    for _ in range(20):
        labels = random.integers(0, 2, n)
        values = norm.cdf(random.normal(size=n) + shift * (labels - 0.5))
        recoded = {
            "float": values,
            "percent": np.round(100 * values),
            "int8": np.round(127 * values),
            "uint16": np.round(65535 * values),
            "two digits": np.round(values, 2),
        }[kind]
        out, _, surprise = terms(recoded, labels)
        estimates.append(out.mean() / surprise.mean())
    assert np.mean(estimates) == pytest.approx(share, abs=0.035)


def test_clean_copies_are_clean_where_they_are_declared() -> None:
    """Neighbor estimates found each row's copy: 150 clean samples twice leaked 0.35."""
    random = np.random.default_rng(5)
    shares = []
    for _ in range(20):
        values, labels = random.normal(size=150), random.integers(0, 2, 150)
        copies = [np.repeat(array, 2) for array in (values, labels, np.arange(150))]
        out, _, surprise = terms(*copies)
        shares.append(out.mean() / surprise.mean())
    assert -0.03 < np.mean(shares) < 0.005


def test_many_columns_in_threads_are_as_one_by_one() -> None:
    random = np.random.default_rng(8)
    labels, values = random.integers(0, 4, 3000), random.normal(size=(3000, 24))
    together = predictive_terms(values, labels)
    for column in (0, 23):
        alone = terms(values[:, column], labels, compiled=True)
        np.testing.assert_array_equal(together.out[column], alone[0])
