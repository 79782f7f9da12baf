"""Interval of the predictive estimate: worked numbers, an oracle in loops, planted truths."""

import math
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theodolite._stats import predictive
from theodolite._stats.predictive import PredictiveTerms, predictive_terms
from theodolite._stats.predictive_interval import (
    PredictiveMoments,
    ceiling_of,
    doubt,
    fault_interval,
    predictive_moments,
    row_weights,
)
from theodolite.results import Reason

WORKED = PredictiveMoments(
    value=0.025, upper_value=0.05, error=0.0186, rho=1 / 3, surprise=math.log(2), clusters=100,
    stratum_clusters=50, undefined=0.0, ceiling=0.9,
)  # fmt: skip


class TestWorkedNumbers:
    def test_the_two_ends(self) -> None:
        test = fault_interval(WORKED, 0.05, 0.95)
        assert pytest.approx(1.303840, abs=5e-7) == WORKED.wider
        assert test.low == pytest.approx(-0.023120, abs=5e-7)
        assert test.high == pytest.approx(0.116387, abs=5e-7)
        assert test.df == 99
        steep = replace(WORKED, rho=1e-6)  # nothing but the spread of the gains
        assert fault_interval(steep, 0.05, 0.95).high == pytest.approx(0.098120, abs=5e-7)

    def test_ends_and_p_values_say_the_same(self) -> None:
        random = np.random.default_rng(0)
        for _ in range(300):
            value, more, error = random.uniform([-0.02, 0, 0.001], [0.2, 0.03, 0.03])
            clusters = int(random.integers(50, 2000))
            moments = replace(
                WORKED, value=value, upper_value=value + more, error=error, clusters=clusters
            )
            test = fault_interval(moments, 0.05, 0.95)
            assert (test.high <= 0.05) == (test.p_below_tolerance <= 0.05)
            assert (test.low > 0.05) == (test.p_above_tolerance < 0.05)
            assert (test.low > 0) == (test.p_nonzero < 0.05)

    def test_few_clusters_tell_at_least(self) -> None:
        few = fault_interval(replace(WORKED, value=0.0, upper_value=0.0, clusters=49), 0.05, 0.95)
        assert (few.high, few.p_below_tolerance) == (1.0, 1.0)
        assert few.low > -1

    def test_without_any_spread(self) -> None:
        moments = replace(WORKED, value=0.0, upper_value=0.0, error=0.0, clusters=5000)
        test = fault_interval(moments, 0.05, 0.95)
        assert test.low == 0
        assert test.high < 0.05
        assert test.p_nonzero == 1
        assert test.p_below_tolerance < 0.001

    def test_arrays_and_back(self) -> None:
        assert PredictiveMoments.of(WORKED.arrays()) == WORKED


def naive(
    terms: PredictiveTerms, labels: np.ndarray, clusters: np.ndarray, strata: np.ndarray
) -> tuple[float, float, float, float]:
    """Value, upper value, error and rho, row by row."""
    weights = naive_weights(labels, clusters)
    values, uppers, moves = [], [], []
    for j in range(len(strata)):
        rows = [i for i in range(len(labels)) if not math.isnan(terms.out[j, i])]
        if not rows:
            continue
        n = sum(weights[i] for i in rows)
        surprise = sum(weights[i] * terms.surprise[j, i] for i in rows) / n
        value = sum(weights[i] * terms.out[j, i] for i in rows) / n / surprise
        middle = sum(weights[i] * (terms.out[j, i] + terms.inside[j, i]) / 2 for i in rows) / n
        entropy = 0.0
        for i in rows:
            near = [k for k in rows if strata[j, k] == strata[j, i]]
            same = [k for k in near if labels[k] == labels[i]]
            share = sum(weights[k] for k in same) / sum(weights[k] for k in near)
            entropy -= weights[i] * math.log(share) / n
        values.append(value)
        uppers.append(max(value, middle / entropy))
        own = dict.fromkeys(range(len(labels)), 0.0)
        own |= {i: weights[i] * (terms.out[j, i] / surprise - value) / n for i in rows}
        moves.append(own)
    mean = [sum(own[i] for own in moves) / len(moves) for i in range(len(labels))]
    there = {clusters[i] for i in range(len(labels)) if not np.isnan(terms.out[:, i]).all()}
    sums = [sum(mean[i] for i in range(len(labels)) if clusters[i] == g) for g in there]
    error = math.sqrt(len(there) / (len(there) - 1) * sum(s**2 for s in sums))
    alone = sum(sum(v**2 for v in own.values()) for own in moves) / len(moves)
    rho = sum(v**2 for v in mean) / alone if alone else 1.0
    rho = min(1.0, max(1 / len(moves), rho))
    return float(np.mean(values)), float(np.mean(uppers)), error, rho


def naive_weights(labels: np.ndarray, clusters: np.ndarray) -> list[float]:
    """Pairs of rows are looked at; no rows are written over in what this is used for."""
    n = len(labels)
    size = {g: int((clusters == g).sum()) for g in set(clusters.tolist())}
    if len(set(size.values())) == 1:
        return [1.0] * n
    within = []
    for g in size:
        own = np.flatnonzero(clusters == g)
        if len(own) > 1:
            within.append(np.mean([labels[i] == labels[k] for i in own for k in own if i != k]))
    between = [
        np.mean([labels[i] == labels[k] for i in np.flatnonzero(clusters == g)
                 for k in np.flatnonzero(clusters == h)])
        for g in size for h in size if g != h
    ]  # fmt: skip
    chance = np.mean(between)
    alike = min(max((np.mean(within) - chance) / max(1 - chance, 1e-12), 0.0), 1.0)
    return [1 / (1 + (size[g] - 1) * alike) for g in clusters.tolist()]


@given(seed=st.integers(0, 1 << 20), clustered=st.booleans(), missing=st.booleans())
@settings(max_examples=25, deadline=None)
def test_moments_are_what_loops_give(seed: int, clustered: bool, missing: bool) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(12, 40))
    clusters = random.integers(0, 12, n) if clustered else np.arange(n)
    clusters[-1] = clusters.max() + 1  # of one row, so that not all are written over
    labels = random.integers(0, 3, n)
    strata = random.integers(-1 if missing else 0, 2, (2, n))
    values = random.normal(size=(n, 2)) + labels[:, None]
    terms = predictive_terms(values, labels, clusters, strata)
    moments = predictive_moments(terms, labels, clusters, strata)
    if np.isnan(terms.out).all():
        assert math.isnan(moments.value)
        assert doubt(moments) is not None
        return
    expected = naive(terms, labels, clusters, strata)
    result = (moments.value, moments.upper_value, moments.error, moments.rho)
    np.testing.assert_allclose(result, expected, atol=1e-12)
    rows = strata >= 0
    assert moments.undefined == pytest.approx(np.isnan(terms.out[rows]).mean() if rows.any() else 0)


class TestRowWeights:
    def test_a_cluster_of_one_label_counts_once(self) -> None:
        clusters = np.repeat(np.arange(6), [1, 2, 3, 1, 5, 8])
        labels = np.array([0, 1, 0, 1, 0, 1])[clusters]
        weights = row_weights(labels, clusters)
        assert weights is not None
        np.testing.assert_allclose(np.bincount(clusters, weights), 1)

    def test_rows_of_any_label_count_each(self) -> None:
        clusters = np.repeat(np.arange(40), np.arange(2, 42))
        labels = np.arange(len(clusters)) % 2
        assert row_weights(labels, clusters) == pytest.approx(1)
        assert row_weights(labels, None) is None
        assert row_weights(labels[:80], np.repeat(np.arange(20), 4)) is None, "uniform_relevance"

    @given(seed=st.integers(0, 1 << 20), times=st.integers(2, 4))
    @settings(max_examples=20, deadline=None)
    def test_rows_written_over_and_moved_count_alike(self, seed: int, times: int) -> None:
        random = np.random.default_rng(seed)
        clusters, labels = random.integers(0, 9, 30), random.integers(0, 3, 30)
        labels = np.where(random.random(30) < 0.5, clusters % 3, labels)
        strata, values = random.integers(0, 2, (2, 30)), random.normal(size=(30, 2))
        terms = predictive_terms(values, labels, clusters, strata)
        once = predictive_moments(terms, labels, clusters, strata)
        order = random.permutation(np.repeat(np.arange(30), times))
        names = random.permutation(9)
        own = (names[labels[order]], names[clusters[order]], strata[:, order])
        terms = predictive_terms(values[order], *own)
        again = predictive_moments(terms, *own)
        for name in ("value", "upper_value", "error", "undefined", "clusters"):
            expected = getattr(once, name)
            assert getattr(again, name) == pytest.approx(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"clusters": 19}, "underpowered"),
        ({"stratum_clusters": 9}, "underpowered"),
        ({"undefined": 0.21}, "undefined"),
        ({"ceiling": 0.49}, "underpowered"),
        ({"ceiling": math.nan}, None),
        ({"value": math.nan, "clusters": 0}, "undefined"),
    ],
)
def test_when_it_cannot_tell(changes: dict[str, float], reason: Reason | None) -> None:
    because = doubt(replace(WORKED, **changes))
    assert (because and because.reason) == reason


def test_three_clusters_are_no_error() -> None:
    clusters, labels = np.arange(12) % 3, np.arange(12) % 2
    terms = predictive_terms(np.arange(12.0)[:, None], labels, clusters)
    moments = predictive_moments(terms, labels, clusters, ceiling=math.nan)
    assert math.isnan(moments.value)
    assert moments.undefined == 1
    test = fault_interval(moments, 0.05, 0.95)
    assert (
        test.low,
        test.high,
        test.p_below_tolerance,
        test.p_nonzero,
        test.p_above_tolerance,
    ) == (-1, 1, 1, 1, 1)
    because = doubt(moments)
    assert because is not None
    assert because.reason == "undefined"


def test_the_label_itself_is_seen_or_not() -> None:
    random = np.random.default_rng(1)
    strata = random.integers(0, 2, (3, 60))
    few, many = random.integers(0, 2, 60), random.integers(0, 25, 60)
    assert ceiling_of(few, None, strata) > 0.95
    assert ceiling_of(many, None, strata) < 0.5
    numbers = np.broadcast_to(many[:, None], (60, 3)).astype(float)
    terms = predictive_terms(numbers, many, None, strata)
    exact = predictive_moments(terms, many, None, strata).value
    assert ceiling_of(many, None, strata) == pytest.approx(exact)


def leaking(
    random: np.random.Generator, n: int, shift: float, kind: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Values, labels, clusters of unequal size and strata; three concepts."""
    sizes: list[int] = []
    while sum(sizes) < n:
        sizes.append(min(int(random.random() ** (-1 / 1.2)), n - sum(sizes)))
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    labels = random.integers(0, 2, len(sizes))[clusters]
    truth = random.random((len(sizes), 3))[clusters] < 0.5
    if kind == "row":
        labels, truth = random.integers(0, 2, n), random.random((n, 3)) < 0.5
    between, within = random.normal(size=(len(sizes), 3))[clusters], random.normal(size=(n, 3))
    values = (between + within / 3) / math.sqrt(10 / 9) + shift * labels[:, None]
    return values, labels, clusters, truth.T.astype(int)


@pytest.mark.parametrize("kind", ["cluster", "row"])
@pytest.mark.parametrize("n", [200, 600])
@pytest.mark.parametrize("shift", [0.0, 0.8])
def test_unequal_clusters(kind: str, n: int, shift: float) -> None:
    """Clean models are not called leaking, nor leaking ones clean; most leaks are found at 600."""
    random = np.random.default_rng([n, int(10 * shift), len(kind)])
    runs, free, some = 0, 0, 0
    with patch.object(predictive, "SMALL_TERMS", 0):
        while runs < 60:
            values, *others = leaking(random, n, shift, kind)
            moments = predictive_moments(predictive_terms(values, *others), *others)
            if moments.clusters < 20:
                continue
            test = fault_interval(moments, 0.05, 0.95)
            runs, free, some = runs + 1, free + (test.high <= 0.05), some + (test.low > 0)
    if shift:
        assert free <= 1
        assert some >= (40 if n == 600 else 4)
    else:
        assert some <= 2  # 2.5 % would be 1.5
        assert free >= (30 if n == 600 else 0)
