"""Predictive information of vectors: an oracle in loops, laws, planted truths and the interval."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from theodolite._stats.predictive_interval import doubt, fault_interval, predictive_moments
from theodolite._stats.predictive_vectors import predictive_vector_terms
from theodolite._stats.sampling import mix_bits


def oracle(points: np.ndarray, labels: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Out and inside of one stratum whose labels all recur: densities are computed one by one."""
    n, names = len(labels), sorted(set(labels.tolist()))
    groups = len(set(keys.tolist()))
    w = np.array([1 / (keys == key).sum() for key in keys])
    points = points - w @ points / w.sum()
    points = points / math.sqrt((w @ points**2).sum() / w.sum() / points.shape[1])
    folds = np.array([int(mix_bits(np.array([k], np.uint64))[0]) % 10 for k in keys])
    gains = np.zeros((2, 5, n))
    for i in range(n):
        left = keys != keys[i]
        sides = ((folds != folds[i], left, groups - 1), (w > 0, w > 0, groups))
        for side, (fit, count, total) in enumerate(sides):
            common = [w[count & (labels == y)].sum() + 0.5 for y in names]
            base = common[names.index(labels[i])] / (total + len(names) / 2)
            for m, rounded in enumerate((0.01, 0.1, 0.5, 0.9)):
                if w[fit].sum() > 1:
                    chance = discriminant(points, labels, w, fit, points[i], common, rounded)
                    gains[side, m + 1, i] = math.log(chance[names.index(labels[i])] / base)
    result = np.empty((2, n))
    for i in range(n):
        others = keys != keys[i]
        learned = (gains[0][:, others] * w[others]).sum(axis=1)
        shares = np.exp(learned - learned.max())
        shares /= shares.sum()
        result[:, i] = np.log((shares[:, None] * np.exp(gains[:, :, i].T)).sum(axis=0))
    return result


def discriminant(
    points: np.ndarray,
    labels: np.ndarray,
    w: np.ndarray,
    fit: np.ndarray,
    point: np.ndarray,
    common: list[float],
    rounded: float,
) -> np.ndarray:
    """The probability of each label at a point."""
    middle = (w[fit] @ points[fit]) / w[fit].sum()
    points, point = points - middle, point - middle
    means, covariance = [], np.zeros((points.shape[1],) * 2)
    for row in np.flatnonzero(fit):
        covariance += w[row] * np.outer(points[row], points[row])
    for y in sorted(set(labels.tolist())):
        own = fit & (labels == y)
        total = (w[own, None] * points[own]).sum(axis=0)
        means.append(total / (w[own].sum() + 1))
        covariance -= np.outer(total, means[-1])
    covariance /= max(w[fit].sum() - 1, 1)
    sphere = np.trace(covariance) / len(covariance) * np.eye(len(covariance))
    covariance = (1 - rounded) * covariance + rounded * sphere
    logs = [
        math.log(share) + multivariate_normal(mean, covariance).logpdf(point)
        for share, mean in zip(common, means, strict=True)
    ]
    likely = np.exp(np.array(logs) - max(logs))
    return likely / likely.sum()


@st.composite
def strata(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vectors, labels that at least two clusters have, and keys of clusters."""
    random = np.random.default_rng(draw(st.integers(0, 1 << 20)))
    n, d = draw(st.integers(12, 30)), draw(st.integers(1, 3))
    labels = np.arange(n) % draw(st.integers(2, 3))
    keys = random.permutation(1000)[:n]
    if draw(st.booleans()):
        keys = keys[np.arange(n) // 2]
    shift = draw(st.sampled_from([0.0, 1.0, 3.0]))
    return random.normal(size=(n, d)) + shift * labels[:, None], labels, keys


@given(stratum=strata())
@settings(max_examples=8, deadline=None)
def test_it_is_what_densities_give(stratum: tuple[np.ndarray, ...]) -> None:
    points, labels, keys = stratum
    terms = predictive_vector_terms(points[:, None], labels, keys)
    np.testing.assert_allclose(
        np.stack([terms.out[0], terms.inside[0]]), oracle(*stratum), atol=1e-8
    )


@given(stratum=strata(), seed=st.integers(0, 1 << 16))
@settings(max_examples=8, deadline=None)
def test_laws(stratum: tuple[np.ndarray, ...], seed: int) -> None:
    """Size, turning and place of vectors, order and copies of rows, names of labels."""
    points, labels, keys = stratum
    expected = predictive_vector_terms(points[:, None], labels, keys).out
    random = np.random.default_rng(seed)
    turn = np.linalg.qr(random.normal(size=(points.shape[1],) * 2))[0]
    for other in (1e300 * points / np.abs(points).max(), points @ turn, points + 3):
        same = predictive_vector_terms(other[:, None], labels, keys).out
        np.testing.assert_allclose(same, expected, atol=1e-8)
    order = random.permutation(np.repeat(np.arange(len(labels)), 2))
    names = random.permutation(5)
    moved = predictive_vector_terms(points[order][:, None], names[labels[order]], keys[order])
    np.testing.assert_allclose(moved.out, expected[:, order], atol=1e-9)
    constant = predictive_vector_terms(0 * points[:, None] + 2, labels, keys)
    assert (constant.out == 0).all()
    assert (constant.inside == 0).all()


def test_strata_are_apart() -> None:
    random = np.random.default_rng(0)
    group, labels = random.integers(-1, 2, 200), random.integers(0, 2, 200)
    points, keys = random.normal(size=(200, 1, 3)), np.arange(200)
    whole = predictive_vector_terms(points, labels, keys, group[None])
    assert np.isnan(whole.out[0, group < 0]).all()
    rows = group == 1
    alone = predictive_vector_terms(points[rows], labels[rows], keys[rows])
    np.testing.assert_array_equal(whole.out[0, rows], alone.out[0])
    assert whole.parameters is not None
    assert whole.parameters.tolist() == [6]


@pytest.mark.parametrize(
    ("clusters", "size", "d", "shift", "expected"),
    [
        (1000, 1, 4, 2.0, 0.494), (1000, 1, 16, 2.0, 0.478), (200, 5, 4, 2.0, 0.487),
        (1000, 1, 16, 0.0, 0.0), (200, 5, 16, 0.0, 0.0),
    ],
)  # fmt: skip
def test_what_one_coordinate_tells_is_found(
    clusters: int, size: int, d: int, shift: float, expected: float
) -> None:
    """Neighbor estimates score 0.95 and more for clean clusters of five."""
    random, scores = np.random.default_rng([clusters, d]), []
    for _ in range(5):
        keys = np.repeat(np.arange(clusters), size)
        labels = random.integers(0, 2, clusters)[keys]
        points = random.normal(size=(clusters, d))[keys]
        points += 0.1 * random.normal(size=points.shape)
        points[:, 0] += shift * labels
        terms = predictive_vector_terms(points[:, None], labels, keys)
        scores.append(predictive_moments(terms, labels, keys).value)
    assert np.mean(scores) == pytest.approx(expected, abs=0.05 if shift else 0.01)


@pytest.mark.parametrize(("shift", "share"), [(0.0, 0.0), (0.762, 0.1)])
def test_a_leak_too_weak_for_so_many_dimensions_is_not_called_free(
    shift: float, share: float
) -> None:
    """Nothing is gained there on clusters left out; it shows in what is learned."""
    random, free, covered, upper = np.random.default_rng(4), 0, 0, []
    for _ in range(8):
        labels, group = random.integers(0, 2, 300), random.integers(0, 2, (3, 300))
        points = random.normal(size=(300, 3, 24))
        points[:, :, 0] += shift * labels[:, None]
        terms = predictive_vector_terms(points, labels, np.arange(300), group)
        moments = predictive_moments(terms, labels, None, group)
        test = fault_interval(moments, 0.05, 0.95)
        free, covered = free + (test.high <= 0.05), covered + (test.low <= share <= test.high)
        upper.append(moments.upper_value)
    assert covered >= 7
    assert np.mean(upper) == pytest.approx(share, abs=0.03)
    assert free == 0 or not shift


def test_too_many_dimensions_cannot_be_told() -> None:
    moments = predictive_moments(
        predictive_vector_terms(np.zeros((60, 1, 30)), np.arange(60) % 2, np.arange(60)),
        np.arange(60) % 2,
        per_dimension=2.0,
    )
    because = doubt(moments)
    assert because is not None
    assert because.reason == "underpowered"
