"""Verdicts: every position of an interval, and every equality; power and chance beside SciPy."""

import math

import pytest
from scipy import stats

from theodolite.errors import EvidenceError
from theodolite_reproductions.claims.entry import REASONS
from theodolite_reproductions.claims.ledger import ledger
from theodolite_reproductions.claims.power import (
    SEEN,
    detectable_correlation,
    detectable_effect,
    expected_by_chance,
    sign_test,
    units_for_correlation,
)
from theodolite_reproductions.claims.verdict import (
    effect_verdict,
    equivalence_verdict,
    not_testable,
    rank_verdict,
    verdict_of,
)

EFFECT, MARGIN = 0.1, 0.1


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.3, -0.2, "contradicted (reversed)"),
        (-0.2, 0.05, "contradicted (absent)"),
        (-0.2, 0.2, "underpowered"),
        (0.02, 0.08, "confirmed (smaller)"),
        (0.02, 0.3, "confirmed"),
        (0.2, 0.3, "confirmed"),
        # equalities
        (0.0, 0.3, "underpowered"),
        (0.0, 0.05, "contradicted (absent)"),
        (-0.2, 0.0, "contradicted (absent)"),
        (0.0, 0.0, "contradicted (absent)"),
        (-0.2, EFFECT, "underpowered"),
        (0.02, EFFECT, "confirmed"),
    ],
)
def test_positions_against_nothing_and_the_smallest_effect(
    low: float, high: float, verdict: str
) -> None:
    assert str(effect_verdict(low, high, EFFECT)) == verdict


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.3, -0.2, "contradicted"),
        (-0.2, 0.05, "underpowered"),
        (-0.05, 0.05, "confirmed"),
        (-0.2, 0.2, "underpowered"),
        (0.05, 0.2, "underpowered"),
        (0.2, 0.3, "contradicted"),
        # equalities
        (-MARGIN, 0.05, "underpowered"),
        (-0.05, MARGIN, "underpowered"),
        (MARGIN, 0.3, "underpowered"),
        (-0.3, -MARGIN, "underpowered"),
        (0.0, 0.0, "confirmed"),
    ],
)
def test_positions_against_a_margin(low: float, high: float, verdict: str) -> None:
    assert str(equivalence_verdict(low, high, MARGIN)) == verdict


def test_ranks_by_share_of_resamples() -> None:
    words = [rank_verdict(share).word for share in (1.0, 0.95, 0.94, 0.06, 0.05, 0.0)]
    assert words == ["confirmed"] * 2 + ["underpowered"] * 2 + ["contradicted"] * 2
    with pytest.raises(EvidenceError, match="0 to 1"):
        rank_verdict(1.2)


def test_each_type_has_its_own_rule() -> None:
    entry = ledger().entry
    assert str(verdict_of(entry("P003-F0-05"), 0.1, 0.15)) == "confirmed (smaller)"
    assert str(verdict_of(entry("P003-F0-14"), -10, 10)) == "confirmed"
    assert str(verdict_of(entry("P000-F0-09"), 0.97, 0.97)) == "confirmed"
    assert str(verdict_of(entry("P001-T3-01"), -0.01, 0.01)) == "confirmed"
    assert str(verdict_of(entry("P001-T3-01"), 0.01, 0.02)) == "contradicted"
    for name in ("P000-D-01", "P000-F-01", "P003-T1-01", "P003-F0-16"):
        with pytest.raises(EvidenceError):
            verdict_of(entry(name), 0.1, 0.2)


@pytest.mark.parametrize("bounds", [(math.nan, 1.0), (0.0, math.nan), (0.2, 0.1)])
def test_no_interval_no_verdict(bounds: tuple[float, float]) -> None:
    with pytest.raises(EvidenceError, match="bounds"):
        effect_verdict(*bounds, 0.1)
    with pytest.raises(EvidenceError, match="bounds"):
        equivalence_verdict(*bounds, 0.1)


def test_each_reason_is_a_verdict() -> None:
    assert [str(not_testable(reason)) for reason in REASONS] == [
        f"not testable here ({reason})" for reason in REASONS
    ]


def test_power_is_scipys() -> None:
    assert pytest.approx(stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) == SEEN
    found = 1 - stats.norm.cdf(stats.norm.ppf(0.975), loc=detectable_effect(0.3) / 0.3)
    assert found == pytest.approx(0.8)
    assert [units_for_correlation(r) for r in (0.75, 0.49, 0.36, -0.33, 0.1)] == [
        12, 31, 59, 70, 783,
    ]  # fmt: skip
    assert detectable_correlation(783) == pytest.approx(0.1, abs=1e-4)
    assert math.isnan(detectable_correlation(3))


@pytest.mark.parametrize(("more", "of"), [(8, 8), (7, 8), (14, 15), (7, 9), (0, 5), (3, 6)])
def test_signs_are_scipys_binomial_test(more: int, of: int) -> None:
    assert sign_test(more, of) == pytest.approx(stats.binomtest(more, of).pvalue)


def test_chance_confirms_one_in_forty() -> None:
    assert expected_by_chance(80) == pytest.approx(2.0)


@pytest.mark.parametrize("call", [lambda: units_for_correlation(0), lambda: units_for_correlation(1),
                                  lambda: detectable_effect(-1), lambda: sign_test(3, 2)])  # fmt: skip
def test_what_makes_no_sense_is_refused(call: object) -> None:
    with pytest.raises(EvidenceError):
        call()  # type: ignore[operator]
