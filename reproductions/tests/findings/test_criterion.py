"""The leakage scores: worked numbers, naive oracles, planted leakage, and the faults they have."""

import numpy as np
import pytest
from scipy.stats import ttest_ind

from theodolite.errors import EvidenceError
from theodolite.metrics import (
    concept_task_leakage,
)
from theodolite_reproductions.findings.correlation import correlation_study
from theodolite_reproductions.findings.criterion import difference, leakage_criterion
from theodolite_reproductions.findings.weighted_leakage import weighted_leakage


def test_criterion() -> None:
    random = np.random.default_rng(0)
    low, high = random.normal(0.1, 0.01, 5), random.normal(0.3, 0.01, 5)
    wide = [random.normal(0.2, 0.1, 5) for _ in range(2)]
    assert leakage_criterion([high, wide[0]], [low, wide[1]]).outcome == "more"
    assert leakage_criterion([low, wide[0]], [high, wide[1]]).outcome == "less"
    assert leakage_criterion([high, high], [low, low]).outcome == "more"
    assert leakage_criterion([high, low], [low, high]).outcome == "contradictory"
    assert leakage_criterion([wide[0]], [wide[1]]).outcome == "too few repeats"
    assert leakage_criterion([wide[0]], [wide[1]], effect=1.0).outcome == "not there"
    assert leakage_criterion([high[:1]], [low]).outcome == "too few repeats"
    assert leakage_criterion([high[:0]], [low]).outcome == "undefined"
    result, expected = difference(low, wide[0]), ttest_ind(low, wide[0], equal_var=False)
    assert result.p == pytest.approx(expected.pvalue)
    interval = expected.confidence_interval(0.95)
    assert (result.low, result.high) == pytest.approx((interval.low, interval.high))


def test_criterion_keeps_its_level() -> None:
    """Two equal groups, two scores: called different in at most about 5 % of the cases."""
    random = np.random.default_rng(0)
    outcomes = [
        leakage_criterion(
            list(random.normal(size=(2, 5))), list(random.normal(size=(2, 5)))
        ).outcome
        for _ in range(2000)
    ]
    assert np.mean([o != "too few repeats" for o in outcomes]) < 0.06


def test_correlation_study() -> None:
    """Without errors it is Fisher's test; errors lower the correlation and raise the p-value."""
    from scipy.stats import norm, pearsonr  # noqa: PLC0415

    random = np.random.default_rng(0)
    x = random.random(12)
    y = x + 0.3 * random.random(12)
    none, some = np.zeros(12), np.full(12, 0.2)
    sure, unsure = (
        correlation_study((x, none), (y, none), draws=50),
        correlation_study((x, some), (y, some)),
    )
    r = pearsonr(x, y)[0]
    assert sure.r == pytest.approx(r)
    assert sure.p == pytest.approx(2 * norm.sf(abs(np.arctanh(r)) * 3), rel=0.01)
    assert sure.low < r < sure.high
    assert unsure.r < sure.r and unsure.p > sure.p
    # the paper's Table 2 counts model classes: r = 0.75 over 12 gives its p-value
    assert 2 * norm.sf(np.arctanh(0.75) * 3) == pytest.approx(3.4e-3, rel=0.05)
    assert np.isnan(correlation_study((x[:3], none[:3]), (y[:3], none[:3])).r)


def test_leakage_as_a_weighted_mean_over_concepts() -> None:
    random = np.random.default_rng(2)
    truth = random.random((200, 3)) < 0.5
    labels = truth.sum(axis=1)
    values = truth + random.normal(size=(200, 3)) * (0.1, 0.5, 1.0) + 0.2 * labels[:, None]
    each = concept_task_leakage(values, truth, labels)
    by_hand = (3 * each[0] + each[1]) / 4
    assert weighted_leakage(each, [3, 1, 0]) == pytest.approx(by_hand, abs=1e-12)
    assert weighted_leakage(each, [2, 2, 2]) == pytest.approx(each.mean(), abs=1e-12), "CTL itself"
    assert weighted_leakage([0.534740, np.nan], [0.5, 7]) == 0.534740, "undefined ones are left out"
    assert np.isnan(weighted_leakage([np.nan, 0.2], [1, 0]))
    for wrong in ([1, 2], [0, 0, 0], [1, -1, 1], [1, np.inf, 1]):
        with pytest.raises(EvidenceError, match="weights"):
            weighted_leakage(each, wrong)
