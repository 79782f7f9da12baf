"""Intervals from variances, at the worked numbers and in their laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theodolite._stats.intervals import (
    Components,
    Estimate,
    components,
    fisher_interval,
    quantile,
    student_interval,
    two_sided_p,
    wilson_interval,
)
from theodolite._stats.multiple import correct_holm
from theodolite._stats.resampling import draw_poisson_weights

TABLE = np.array([[0.9, 0.6, 0.3], [0.8, 0.7, 0.1], [0.7, 0.4, 0.4], [1, 0.5, 0.2]])


def limit_components(table: np.ndarray) -> Components:
    """What the components are in the limit of many resamples: of row and column means."""
    g, k = table.shape
    samples = table.mean(axis=1).var(ddof=1) / g
    items = table.mean(axis=0).var(ddof=1) / k
    each = (table.var(axis=0, ddof=1) / g).mean()
    return Components(samples, items, max((each - samples) / (k - 1), 0.0), g, k)


def test_the_worked_table_of_samples_and_units() -> None:
    both = limit_components(TABLE)
    assert [round(v, 6) for v in (both.samples, both.items, both.rest)] == [
        0.000463,
        0.03,
        0.001852,
    ]
    assert round(both.variance, 6) == 0.03
    assert round(both.df, 6) == 1.997146
    assert round(quantile(both.df, 0.95), 6) == 4.308550
    these = student_interval(Estimate(0.55, both.samples, 3, "samples", 1000), 0.95)
    assert [round(these.low, 6), round(these.high, 6)] == [0.481525, 0.618475]
    population = student_interval(
        Estimate(0.55, both.variance, both.df, "units", 1000, "population"), 0.95
    )
    assert [round(population.low, 6), round(population.high, 6)] == [-0.196263, 1.296263]
    assert population.scope == "population"


def test_resamples_come_to_the_worked_components() -> None:
    weights = draw_poisson_weights(np.arange(4), 200_000, seed=3)
    weights = weights[weights.sum(axis=1) > 0]
    # for few rows a ratio of Poisson sums spreads more than the bootstrap: only the order is checked
    items = weights @ TABLE / weights.sum(axis=1, keepdims=True)
    both = components(items.mean(axis=1), items, TABLE.mean(axis=0), 4)
    assert both is not None
    limit = limit_components(TABLE)
    assert both.items == pytest.approx(limit.items)
    assert 1.0 < both.samples / limit.samples < 2.2
    assert 1.0 < both.rest / limit.rest < 2.2


def test_the_worked_wilson_interval_of_clusters() -> None:
    error = np.sqrt(4 / 3 * 0.75) / 12
    interval = wilson_interval(Estimate(0.75, error**2, 3, "clusters", 100), (0, 1), 12, 4, 0.95)
    assert [round(interval.low, 6), round(interval.high, 6)] == [0.321073, 0.950077]
    right = Estimate(1.0, 0.0, 29, "samples", 100)
    assert round(wilson_interval(right, (0, 1), 30, 30, 0.95).low, 6) == 0.877630
    few = Estimate(1.0, 0.0, 3, "clusters", 100)
    assert round(wilson_interval(few, (0, 1), 40, 4, 0.95).low, 6) == 0.283126


def test_fisher_and_student_agree_for_small_errors_and_zero() -> None:
    small = Estimate(0.3, 1e-8, 100, "samples", 10)
    fisher, plain = fisher_interval(small, 0.95), student_interval(small, 0.95)
    assert fisher.low == pytest.approx(plain.low, abs=1e-6)
    wide = fisher_interval(Estimate(0.95, 0.01, 20, "samples", 10), 0.95)
    assert -1 < wide.low < 0.95 < wide.high < 1


@given(st.floats(-3, 3), st.floats(0.01, 2), st.integers(2, 500))
def test_p_and_interval_agree(value: float, error: float, df: int) -> None:
    interval = student_interval(Estimate(value, error**2, df, "samples", 10), 0.95)
    p = two_sided_p(value, error, df)
    assert (interval.low > 0 or interval.high < 0) == (p < 0.05) or abs(p - 0.05) < 1e-9


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_that_of_the_book(p: list[float]) -> None:
    order = sorted(range(len(p)), key=lambda i: p[i])
    expected = [0.0] * len(p)
    for step, i in enumerate(order):
        before = expected[order[step - 1]] if step else 0.0
        expected[i] = max(before, min(1.0, (len(p) - step) * p[i]))
    assert correct_holm(p).p == pytest.approx(expected)


def test_holm_without_a_p_value_does_not_count() -> None:
    steps = correct_holm([0.02, np.nan, 0.01])
    assert steps.p[0] == pytest.approx(0.02)
    assert np.isnan(steps.p[1])
    assert steps.level.tolist() == pytest.approx([0.05, 0.05, 0.025])
