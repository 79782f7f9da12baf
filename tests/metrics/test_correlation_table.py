"""Tables of correlations with votes, and p-values for many comparisons."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats
from statsmodels.stats.multitest import multipletests

from theodolite.errors import EvidenceError
from theodolite.metrics.accepted.correlation_table import corrected, correlation_table


def scores_and_votes(n: int = 60) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    random = np.random.default_rng(0)
    quality = random.normal(size=n)
    scores = {"follows": quality + random.normal(size=n), "noise": random.normal(size=n)}
    scores["noise"][:7] = np.nan
    votes = {f"Q{i}": np.clip((quality + random.normal(size=n)).round(), -2, 2) for i in range(3)}
    votes["Q1"][50:] = np.nan
    return scores, votes


@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_coefficients_and_p_are_those_of_scipy(method: str) -> None:
    scores, votes = scores_and_votes()
    rows = correlation_table(scores, votes, method=(method,), correction="none")
    assert [(row.question, row.score) for row in rows[:3]] == [
        ("Q0", "follows"), ("Q0", "noise"), ("Q1", "follows"),
    ]  # fmt: skip
    for row in rows:
        x, y = scores[row.score], votes[row.question]
        known = ~np.isnan(x) & ~np.isnan(y)
        theirs = {"pearson": stats.pearsonr, "spearman": stats.spearmanr}[method](
            x[known], y[known]
        )
        assert row.coefficient == pytest.approx(theirs.statistic, abs=1e-12)
        assert row.p == pytest.approx(theirs.pvalue, rel=1e-9)
        assert (row.n, row.left_out) == (known.sum(), 60 - known.sum())
        assert row.corrected_p == row.p
        if method == "pearson":
            interval = theirs.confidence_interval(0.95)
            assert (row.low, row.high) == pytest.approx(tuple(interval), abs=1e-9)
        assert row.low < row.coefficient < row.high


@given(
    st.lists(st.floats(0, 1) | st.just(float("nan")), min_size=1, max_size=12),
    st.sampled_from([("holm", "holm"), ("benjamini-hochberg", "fdr_bh")]),
)
@settings(max_examples=25)
def test_correction_is_that_of_statsmodels(p: list[float], names: tuple[str, str]) -> None:
    values = np.array(p)
    known = ~np.isnan(values)
    expected = values.copy()
    if known.any():
        expected[known] = multipletests(values[known], method=names[1])[1]
    assert_allclose(corrected(values, names[0]), expected, atol=1e-12)


def test_the_whole_table_is_one_family() -> None:
    scores, votes = scores_and_votes()
    rows = correlation_table(scores, votes)
    assert len(rows) == 12
    smallest = min(row.p for row in rows)
    assert min(row.corrected_p for row in rows) == pytest.approx(12 * smallest)
    gentle = correlation_table(scores, votes, correction="benjamini-hochberg")
    assert all(g.corrected_p <= r.corrected_p for g, r in zip(gentle, rows, strict=True))


def test_clusters_widen_what_is_not_independent() -> None:
    """Each explanation ten times over: as many numbers, no more knowledge."""
    random = np.random.default_rng(3)
    x = random.normal(size=30)
    y = 0.5 * x + random.normal(size=30)
    often = np.repeat(np.arange(30), 10)
    alone = correlation_table({"s": x}, {"q": y}, method=("pearson",))[0]
    naive = correlation_table({"s": x[often]}, {"q": y[often]}, method=("pearson",))[0]
    whole = correlation_table(
        {"s": x[often]}, {"q": y[often]}, method=("pearson",), clusters=often, seed=1
    )[0]
    assert naive.p < 1e-6 < 1e-3 < alone.p
    assert whole.p > 1e-4
    assert 0.5 < (whole.high - whole.low) / (alone.high - alone.low) < 1.5
    assert (naive.high - naive.low) < 0.5 * (whole.high - whole.low)
    again = correlation_table(
        {"s": x[often]}, {"q": y[often]}, method=("pearson",), clusters=often, seed=1
    )[0]
    assert again == whole


def test_undefined_is_no_comparison() -> None:
    x = np.arange(8.0)
    rows = correlation_table(
        {"s": x, "constant": x * 0 + 0.1, "few": np.where(x < 3, x, np.nan)}, {"q": x**2},
        method=("pearson",),
    )  # fmt: skip
    assert [np.isnan(row.p) for row in rows] == [False, True, True]
    assert np.isnan(rows[1].coefficient)
    assert (rows[2].n, rows[2].left_out, rows[2].coefficient) == (3, 5, pytest.approx(1.0, abs=0.1))
    assert rows[0].corrected_p == rows[0].p
    assert np.isnan(rows[1].corrected_p)


def test_full_correlations_in_clusters() -> None:
    """They do not vary when resampled: as many as there are images say so."""
    x = np.repeat(np.arange(8.0), 3)
    clusters = np.repeat(np.arange(8), 3)
    alone = correlation_table({"s": np.arange(8.0)}, {"q": np.arange(8.0)})
    for sign in (1, -1):
        for row, one in zip(
            correlation_table({"s": x}, {"q": sign * x}, clusters=clusters), alone, strict=True
        ):
            assert row.coefficient == pytest.approx(sign) and row.n == 24
            assert row.p < 1e-6 and -1 <= row.low <= row.high <= 1
            if sign == 1:
                assert (row.low, row.high) == pytest.approx((one.low, one.high))
    few = correlation_table({"s": x}, {"q": x}, clusters=np.repeat([0, 1], 12))
    assert all(np.isnan(row.p) for row in few)


def test_what_cannot_be_a_table() -> None:
    with pytest.raises(EvidenceError, match="infinite"):
        correlation_table({"s": np.array([1, 2, 3, 4, np.inf])}, {"q": np.arange(5.0)})
    with pytest.raises(EvidenceError, match="one number for each"):
        correlation_table({"s": np.zeros(3)}, {"q": np.zeros(4)})
    with pytest.raises(EvidenceError, match="clusters"):
        correlation_table({"s": np.zeros(3)}, {"q": np.zeros(3)}, clusters=np.zeros(2, int))
