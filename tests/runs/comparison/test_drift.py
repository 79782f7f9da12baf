"""Drift of attributions: by hand, by a naive oracle, its interval and its answers."""

import itertools
import os
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import theodolite
from theodolite._runs.comparison.aligned_samples import NotComparableError
from theodolite._runs.comparison.attribution_shares import (
    Magnitudes,
    ShareDrift,
    compute_share_drift,
    compute_total_variation,
)
from theodolite._runs.comparison.drift import compute_version_drift
from theodolite._scoring.request import Resampling
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.attribution import AttributionEvidence
from theodolite.evidence.kinds.concept import ConceptEvidence

FULL = os.environ.get("THEODOLITE_FULL") == "1"
DRAWS = Resampling(200)


def attributions(shares: list[float], n: int = 40, seed: int = 0, **more: object):
    """Attributions with these shares, exactly, and signs that do not matter."""
    random = np.random.default_rng(seed)
    signs = random.choice([-1.0, 1.0], (n, len(shares)))
    ids = np.array([f"row {i}" for i in range(n)])
    return AttributionEvidence(values=signs * shares, samples=Samples(ids=ids), **more)


def noisy(shares: list[float], noise: float, n: int = 200, seed: int = 0):
    random = np.random.default_rng(seed)
    values = np.array(shares) * random.lognormal(0, noise, (n, len(shares)))
    return AttributionEvidence(
        values=values, samples=Samples(ids=np.array([f"row {i}" for i in range(n)]))
    )


def test_by_hand() -> None:
    drift = theodolite.attribution_drift(
        attributions([0.5, 0.3, 0.2]), attributions([0.2, 0.3, 0.5], seed=1), resampling=DRAWS
    )
    assert_allclose(drift.value, 0.3)
    assert_allclose(drift.features.differences, [-0.3, 0, 0.3], atol=1e-12)
    assert [row["name"] for row in drift.to_records()][-1] == "feature 1"


def test_shares_and_resamples_as_a_naive_reader_counts_them() -> None:
    old, new = noisy([5, 3, 2, 1], 0.8), noisy([3, 4, 2, 2], 0.8, seed=1)
    drift = theodolite.attribution_drift(old, new, resampling=DRAWS).features
    for bundle, shares in ((old, drift.before), (new, drift.after)):
        sizes = [float(np.mean([abs(v) for v in column])) for column in bundle.values.T]
        assert_allclose(shares, [size / sum(sizes) for size in sizes])
    pairs = zip(drift.before, drift.after, strict=True)
    assert_allclose(drift.value, sum(abs(a - b) for a, b in pairs) / 2)
    assert drift.interval is not None
    assert drift.interval.low < drift.value < drift.interval.high
    assert (drift.low < drift.differences).all()
    assert (drift.differences < drift.high).all()


def test_features_that_one_version_lacks_have_no_share_there() -> None:
    old = attributions([0.6, 0.4], features=("age", "job"))
    new = attributions([0.4, 0.6], features=("job", "town"))
    drift = theodolite.attribution_drift(old, new, resampling=DRAWS).features
    assert drift.names == ("age", "job", "town")
    assert_allclose(drift.before, [0.6, 0.4, 0])
    assert_allclose(drift.after, [0, 0.4, 0.6])
    assert_allclose(drift.value, 0.6)


def test_a_swap_inside_a_group_is_seen_over_features_and_hidden_over_groups() -> None:
    random = np.random.default_rng(0)
    size = random.lognormal(size=(80, 1))
    ids = Samples(ids=np.array([f"{i}" for i in range(80)]))
    groups = ("town", "town", "age")
    old, new, *again = (
        AttributionEvidence(values=size * shares, groups=groups, samples=ids)
        for shares in ([3, 1, 4], [1, 3, 4], [3, 1.2, 4], [3, 1, 4.1], [2.9, 1, 4])
    )
    drift = theodolite.attribution_drift(old, new, floor=again, resampling=DRAWS)
    assert drift.groups is not None
    assert drift.answer == "no"
    assert_allclose([drift.value, drift.groups.value], [0.25, 0], atol=1e-12)
    over = theodolite.attribution_drift(old, new, floor=again, over="groups", resampling=DRAWS)
    assert over.answer == "yes"
    assert over.to_records()[0]["name"] in ("town", "age")
    with pytest.raises(EvidenceError, match="features without groups"):
        theodolite.attribution_drift(
            attributions([1, 2]), attributions([2, 1]), over="groups", resampling=DRAWS
        )


def test_concepts_of_a_bottleneck_drift_by_what_they_contribute() -> None:
    values = np.array([[1.0, 2.0], [3.0, 1.0]] * 10)
    weights = np.array([[1.0, 0.0], [0.5, 2.0]])
    predicted = np.array([0, 1] * 10)
    old = ConceptEvidence(values=values, weights=weights, predicted=predicted, labels=predicted)
    new = replace(old, weights=weights[::-1])
    drift = theodolite.attribution_drift(old, new, at_most=0.1, resampling=DRAWS).features
    assert drift.over == "concepts"
    # first rows give 1 and 1, second rows 0 and 2; then 0.5 and 2, 6 and 0
    assert_allclose(drift.before, [0.25, 0.75])
    assert_allclose(drift.after, [6.5 / 8.5, 2 / 8.5])
    with pytest.raises(EvidenceError, match="without `weights`"):
        theodolite.attribution_drift(replace(old, weights=None), new)


def answer(floor: int, at_most: float | None, new: list[float]) -> str:
    """Of an old version of 50, 30, 20 per cent, whose retrainings differ by up to 5 points."""
    again = [attributions([0.5 + moved, 0.3 - moved, 0.2]) for moved in (0.05, 0.02, 0.01)[:floor]]
    old = attributions([0.5, 0.3, 0.2])
    drift = theodolite.attribution_drift(
        old, attributions(new), floor=again, at_most=at_most, resampling=DRAWS
    )
    assert drift.floor is None or len(drift.floor.pairs) == floor * (floor + 1) // 2
    return drift.answer


@pytest.mark.parametrize(
    ("floor", "at_most", "moved", "expected"),
    [
        (3, None, 0.20, "no"), (3, None, 0.02, "yes"), (3, None, 0.0, "yes"),
        (2, None, 0.20, "inconclusive"), (0, None, 0.20, "inconclusive"),
        (0, 0.1, 0.20, "no"), (0, 0.3, 0.20, "yes"),
        (3, 0.3, 0.20, "yes"), (3, 0.01, 0.02, "yes"), (2, 0.01, 0.04, "yes"),
    ],
)  # fmt: skip
def test_the_line_is_the_larger_of_floor_and_at_most(
    floor: int, at_most: float | None, moved: float, expected: str
) -> None:
    assert answer(floor, at_most, [0.5 - moved, 0.3 + moved, 0.2]) == expected


def test_an_interval_across_the_line_is_partly() -> None:
    old, new = noisy([5, 3, 2], 1.0, n=60), noisy([4, 4, 2], 1.0, n=60, seed=1)
    first = theodolite.attribution_drift(old, new, resampling=DRAWS)
    drift = theodolite.attribution_drift(old, new, at_most=first.value, resampling=DRAWS)
    assert drift.answer == "partly"
    assert f"{100 * first.value:.1f} % is accepted" in drift.summary


def test_each_seed_is_held_against_the_one_at_its_place_and_seeds_are_the_floor() -> None:
    old = [attributions([0.5 + 0.01 * k, 0.5 - 0.01 * k]) for k in range(4)]
    new = [attributions([0.3 + 0.01 * k, 0.7 - 0.01 * k]) for k in range(4)]
    drift = theodolite.attribution_drift(old, new, resampling=DRAWS)
    assert_allclose(drift.value, 0.2)
    assert drift.floor is not None
    assert_allclose(drift.floor.largest, 0.03)
    assert drift.answer == "no"


def test_what_is_not_comparable_says_why() -> None:
    old, other = attributions([0.5, 0.5]), attributions([0.5, 0.5], n=39)
    with pytest.raises(EvidenceError, match="other samples: only 39"):
        theodolite.attribution_drift(old, other)
    scales = [attributions([0.5, 0.5], scale=scale) for scale in ("probability", "log-odds")]
    with pytest.raises(EvidenceError, match="scales: log-odds and probability"):
        theodolite.attribution_drift(*scales)
    with pytest.raises(NotComparableError, match="no attributions"):
        compute_version_drift([[{}], [{}]])
    with pytest.raises(EvidenceError, match="not percent"):
        theodolite.attribution_drift(old, old, at_most=20)
    numbered = [AttributionEvidence(values=np.ones((4, 2)) * k) for k in (1, 2)]
    with pytest.raises(EvidenceError, match="numbers only"):
        theodolite.attribution_drift(*numbered)
    same_rows = [replace(bundle, inputs=np.eye(4)[:, :2]) for bundle in numbered]
    assert theodolite.attribution_drift(*same_rows, resampling=DRAWS).value == 0
    with pytest.raises(EvidenceError, match="inputs at the same rows differ"):
        theodolite.attribution_drift(same_rows[0], replace(same_rows[1], inputs=np.ones((4, 2))))


def test_undefined_is_not_nothing() -> None:
    drift = theodolite.attribution_drift(
        attributions([0.0, 0.0]), attributions([0.5, 0.5]), at_most=0.5, resampling=DRAWS
    )
    assert np.isnan(drift.value)
    assert drift.answer == "inconclusive"
    assert drift.to_json()["features"]["drift"] is None
    few = theodolite.attribution_drift(
        noisy([1, 2], 1.0, n=3), noisy([2, 1], 1.0, n=3), at_most=0.9, resampling=DRAWS
    )
    assert few.drift.interval is None
    assert few.answer == "inconclusive"


def test_the_same_attributions_have_not_drifted_at_all() -> None:
    old = noisy([5, 3, 2], 1.0)
    drift = theodolite.attribution_drift(old, old, at_most=0.0, resampling=DRAWS)
    assert drift.answer == "yes"
    assert (drift.value, drift.drift.interval.low, drift.drift.interval.high) == (0, 0, 0)
    assert not drift.drift.low.any() and not drift.drift.high.any()


def test_rows_of_one_cluster_are_drawn_together() -> None:
    def clustered(evidence: AttributionEvidence, repeats: int) -> ShareDrift:
        rows = np.repeat(np.arange(len(evidence)), repeats)
        ids = np.array([f"{i}" for i in range(len(rows))])
        samples = Samples(ids=ids, clusters=rows)
        return AttributionEvidence(values=evidence.values[rows], samples=samples)

    pair = noisy([5, 3, 2], 1.0, n=50), noisy([4, 4, 2], 1.0, n=50, seed=1)
    alone = theodolite.attribution_drift(*pair, resampling=DRAWS).drift.interval
    together = theodolite.attribution_drift(
        *(clustered(bundle, 5) for bundle in pair), resampling=DRAWS
    ).drift.interval
    assert alone is not None
    assert together is not None
    assert together.over == "clusters"
    assert_allclose([together.low, together.high], [alone.low, alone.high], atol=1e-9)


def planted(random: np.random.Generator, n: int, p: int, move: float, tail: float):
    """Attributions of two versions, and the drift between their expectations."""
    old = np.exp(-3 * np.arange(p) / p)
    old /= old.sum()
    new = (1 - move) * old + move * np.roll(old, p // 2)
    luck = random.normal(size=(2, n, p))
    luck[1] = 0.5 * luck[0] + np.sqrt(0.75) * luck[1]
    sizes = np.exp(tail * luck - tail**2 / 2) * np.stack([old, new])[:, None]
    names = tuple(f"{j}" for j in range(p))
    return [Magnitudes(names, side) for side in sizes], float(compute_total_variation(old, new))


CELLS = list(itertools.product((50, 200, 800), (5, 30), (0.0, 0.1, 0.5), (0.5, 1.2)))
SHORT = [(50, 30, 0.0, 1.2), (200, 5, 0.0, 0.5), (200, 30, 0.1, 1.2), (50, 5, 0.5, 1.2)]


@pytest.mark.parametrize(("n", "p", "move", "tail"), CELLS if FULL else SHORT)
def test_the_interval_covers_the_drift_of_the_population(
    n: int, p: int, move: float, tail: float
) -> None:
    """Also where nothing drifts, and every percentile of resamples lies above the truth."""
    draws = 300 if FULL else 100
    random = np.random.default_rng([n, p, int(10 * move), int(10 * tail)])
    samples = Samples(index=np.arange(n))
    missed = 0
    for seed in range(draws):
        (old, new), truth = planted(random, n, p, move, tail)
        interval = compute_share_drift([old], [new], samples, Resampling(200, seed=seed)).interval
        assert interval is not None
        missed += not interval.low <= truth <= interval.high
    assert missed / draws <= (0.09 if FULL else 0.11)
