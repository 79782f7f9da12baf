"""Predictive information between values: an oracle that deletes clusters, laws, planted truths."""

import math
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from theodolite._stats import predictive_pairs
from theodolite._stats.predictive_pairs import predictive_pair_terms

PAIR = np.array([[0, 1]])


def pair(
    x: np.ndarray,
    y: np.ndarray,
    clusters: np.ndarray | None = None,
    strata: np.ndarray | None = None,
    *,
    compiled: bool = False,
) -> np.ndarray:
    """Rows: out, inside."""
    with patch.object(predictive_pairs, "SMALL_TERMS", 0 if compiled else 1 << 40):
        values = np.stack([x, y], axis=1)
        ((_, terms),) = predictive_pair_terms(values, PAIR, clusters, strata)
    return np.asarray(terms[:, 0])


def oracle(x: np.ndarray, y: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Out and inside of one stratum, in loops: each cluster's rows are deleted and counted anew."""
    names, n = sorted(set(clusters.tolist())), len(x)
    groups = len(names)
    if groups < 4:
        return np.full((2, n), np.nan)
    w = np.array([1 / (clusters == g).sum() for g in clusters])
    ranks = [[(w[v < a].sum() + w[v == a].sum() / 2) / groups for a in v] for v in (x, y)]
    edge = 1 / (4 * groups)
    scores = [norm.ppf(np.clip(u, edge, 1 - edge)) for u in ranks]
    scores = [z / max(math.sqrt((w * z**2).sum() / groups), 1e-300) for z in scores]
    models = [lambda *_: 0.0]
    seen: list[tuple[list[int], list[int]]] = []
    for level in (2, 4, 8):
        if level > 2 and level**2 > groups / 2:
            continue
        bins = [np.array([min(int(level * u + 1e-9), level - 1) for u in side]) for side in ranks]
        grouping = tuple([side.tolist().index(b) for b in side] for side in bins)
        if min(len(set(side.tolist())) for side in bins) > 1 and grouping not in seen:
            seen.append(grouping)
            models += [table(bins, level, prior, w) for prior in (2, 8, 32)]
    if max(w[v == a].sum() for v in (x, y) for a in v) <= groups / 2 + 1e-9:
        models += [copula(scores, k, w) for k in (0, 8)]
    gains = np.zeros((2, len(models), n))
    for m, model in enumerate(models):
        for i in range(n):
            gains[0, m, i] = model(i, clusters != clusters[i], groups - 1)
            gains[1, m, i] = model(i, clusters == clusters, groups)
    result = np.empty((2, n))
    for i in range(n):
        others = clusters != clusters[i]
        learned = (gains[0][:, others] * w[others]).sum(axis=1)
        shares = np.exp(learned - learned.max())
        shares /= shares.sum()
        result[:, i] = np.log((shares[:, None] * np.exp(gains[:, :, i].T)).sum(axis=0))
    return result


def table(bins: list[np.ndarray], level: int, prior: float, w: np.ndarray):
    def gain(i: int, seen: np.ndarray, n: int) -> float:
        near = [seen & (side == side[i]) for side in bins]
        p, q = ((w[rows].sum() + 0.5) / (n + level / 2) for rows in near)
        both = w[near[0] & near[1]].sum()
        return math.log((both + prior * p * q) / (n + prior)) - math.log(p * q)

    return gain


def copula(scores: list[np.ndarray], k: int, w: np.ndarray):
    def gain(i: int, seen: np.ndarray, n: int) -> float:
        r = float((w * scores[0] * scores[1])[seen].sum()) / (n + k + 1)
        r = min(max(r, -0.995), 0.995)
        x, y = scores[0][i], scores[1][i]
        away = (r * r * (x * x + y * y) - 2 * r * x * y) / (2 * (1 - r * r))
        return -math.log(1 - r * r) / 2 - away

    return gain


@st.composite
def two_values(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values with and without ties, related and not, and clusters."""
    n = draw(st.integers(3, 40))
    random = np.random.default_rng(draw(st.integers(0, 1 << 20)))
    x, y = random.normal(size=(2, n))
    y = y + draw(st.sampled_from([0.0, 1.0, -6.0])) * x
    if draw(st.booleans()):
        y = np.round(y)
    if draw(st.booleans()):
        x = np.maximum(x, draw(st.sampled_from([-0.5, 0.5])))
    clusters = random.integers(0, draw(st.integers(4, 40)), n) if draw(st.booleans()) else None
    return x, y, np.arange(n) if clusters is None else clusters


@pytest.mark.parametrize("compiled", [False, True])
@given(values=two_values())
@settings(max_examples=25, deadline=None)
def test_it_is_what_deleting_each_cluster_gives(
    compiled: bool, values: tuple[np.ndarray, ...]
) -> None:
    np.testing.assert_allclose(pair(*values, compiled=compiled), oracle(*values), atol=1e-10)


@pytest.mark.parametrize("compiled", [False, True])
@given(values=two_values(), seed=st.integers(0, 1 << 16))
@settings(max_examples=12, deadline=None)
def test_only_the_order_of_values_counts(
    compiled: bool, values: tuple[np.ndarray, ...], seed: int
) -> None:
    x, y, clusters = values
    expected = pair(x, y, clusters, compiled=compiled)
    np.testing.assert_array_equal(
        pair(1e25 * x, np.exp(y / 4), clusters, compiled=compiled), expected
    )
    np.testing.assert_allclose(pair(y, x, clusters, compiled=compiled), expected, atol=1e-12)
    order = np.random.default_rng(seed).permutation(len(x))
    names = np.random.default_rng(seed).permutation(40)
    moved = pair(x[order], y[order], names[clusters[order]], compiled=compiled)
    np.testing.assert_allclose(moved, expected[:, order], atol=1e-12)
    thrice = [np.repeat(array, 3) for array in values]
    np.testing.assert_allclose(pair(*thrice, compiled=compiled)[:, ::3], expected, atol=1e-12)


@pytest.mark.parametrize("compiled", [False, True])
def test_strata_of_both_are_apart(compiled: bool) -> None:
    random = np.random.default_rng(0)
    strata = random.integers(-1, 2, (2, 300))
    x, y = random.normal(size=(2, 300)) + 10 * strata
    whole = pair(x, y, None, strata, compiled=compiled)
    assert np.isnan(whole[:, (strata < 0).any(axis=0)]).all()
    for a in (0, 1):
        for b in (0, 1):
            rows = (strata[0] == a) & (strata[1] == b)
            alone = pair(x[rows], y[rows], compiled=compiled)
            np.testing.assert_array_equal(whole[:, rows], alone)
    told = pair(*strata.astype(float), None, strata, compiled=compiled)
    assert (told[:, (strata >= 0).all(axis=0)] == 0).all()


def test_blocks_and_threads_are_as_one_by_one() -> None:
    random = np.random.default_rng(3)
    values, strata = random.normal(size=(2500, 8)), random.integers(0, 2, (8, 2500))
    pairs = np.stack(np.triu_indices(8, 1), axis=1)
    with patch.object(predictive_pairs, "BLOCK_BYTES", 16 * 2500 * 10):
        blocks = list(predictive_pair_terms(values, pairs, None, strata))
    assert len(blocks) == 3
    together = np.concatenate([terms for _, terms in blocks], axis=1)
    for at in (0, 27):
        i, j = pairs[at]
        alone = pair(values[:, i], values[:, j], None, strata[[i, j]], compiled=True)
        np.testing.assert_array_equal(together[:, at], alone)


@pytest.mark.parametrize(
    ("n", "squared", "expected", "away"),
    [
        (100, 0.0, 0.0, 0.03), (100, 0.49, 0.390, 0.06), (100, 0.9025, 0.838, 0.03),
        (500, 0.09, 0.077, 0.03), (500, 0.49, 0.475, 0.03), (500, 0.9025, 0.891, 0.02),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["float", "int8"])
def test_squared_correlations_are_found(
    kind: str, n: int, squared: float, expected: float, away: float
) -> None:
    """Integers were once counted as categories: pairs of int8 codes scored 0.994 whatever."""
    random = np.random.default_rng([n, int(1e4 * squared)])
    scores = []
    for _ in range(25):
        x, y = random.normal(size=(2, n))
        y = math.sqrt(squared) * x + math.sqrt(1 - squared) * y
        if kind == "int8":
            x, y = (np.round(127 * norm.cdf(v)) for v in (x, y))
        out = pair(x, y, None, random.integers(0, 2, (2, n)), compiled=True)[0]
        scores.append(1 - np.exp(-2 * np.nanmean(out)))
    assert np.mean(scores) == pytest.approx(expected, abs=away)


def test_clean_clusters_are_clean() -> None:
    """Neighbor estimates score 0.89 here."""
    random = np.random.default_rng(7)
    clusters, scores = np.repeat(np.arange(60), 5), []
    for _ in range(20):
        x, y = random.normal(size=(2, 60))[:, clusters] + 0.05 * random.normal(size=(2, 300))
        scores.append(1 - np.exp(-2 * pair(x, y, clusters, compiled=True)[0].mean()))
    assert -0.06 < np.mean(scores) < 0.01
