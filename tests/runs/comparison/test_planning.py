"""How many would do: against simulated tests, and against large-sample formulas."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import ndtri, stdtr
from scipy.stats import ttest_1samp

from theodolite._runs.comparison.pilot import Pilot, compute_required_sizes
from theodolite._runs.comparison.sample_sizes import (
    RecipeVariances,
    compute_mean_power,
    compute_recipe_power,
    find_recipe_sample_size,
    find_sample_size,
    find_seed_count,
)

SIX = 0.05 / 6


@pytest.mark.parametrize(
    ("points", "alpha", "large", "exact"),
    [
        (5, 0.05, (283, 636, 1130), (285, 638, 1133)),
        (5, SIX, (436, 981, 1744), (440, 985, 1748)),
        (2, 0.05, (1766, 3973, 7064), (1768, 3976, 7066)),
        (2, SIX, (2725, 6130, 10899), (2729, 6134, 10903)),
    ],
)
def test_samples_for_a_power_of_four_fifths(
    points: int, alpha: float, large: tuple[int, ...], exact: tuple[int, ...]
) -> None:
    """The formula for many samples, (z + z)² sd² / d², is two to four too few: it takes the spread
    for known."""
    for sd, rough, wanted in zip((0.3, 0.45, 0.6), large, exact, strict=True):
        z = ndtri(1 - alpha / 2) + ndtri(0.8)
        assert round(z**2 * sd**2 / (points / 100) ** 2) == rough
        assert find_sample_size(points / 100, sd, alpha, 0.8) == wanted
        assert compute_mean_power(points / 100, sd, wanted, alpha) >= 0.8
        assert compute_mean_power(points / 100, sd, wanted - 1, alpha) < 0.8


@pytest.mark.parametrize(
    ("points", "alpha", "wanted"),
    [(5, 0.05, (3, 3, 5)), (5, SIX, (3, 4, 7)), (2, 0.05, (3, 6, 17)), (2, SIX, (4, 9, 27))],
)
def test_seeds_with_samples_to_spare(points: int, alpha: float, wanted: tuple[int, ...]) -> None:
    result = [find_seed_count(points, RecipeVariances(sd), alpha, 0.8) for sd in (0.5, 1.0, 2.0)]
    assert tuple(result) == wanted


@pytest.mark.parametrize(
    ("effect", "varied", "seeds", "alpha"),
    [
        (5.0, RecipeVariances(2.0), 4, 0.05),  # just below .8, as the pooled test would not say
        (2.0, RecipeVariances(1.0), 8, SIX),
        (5.0, RecipeVariances(1.1, 0.5, 2000), 3, SIX),
        (3.0, RecipeVariances(2.0, 0.3, 300, paired=True), 5, 0.05),
    ],
)
def test_power_is_that_of_simulated_recipes(
    effect: float, varied: RecipeVariances, seeds: int, alpha: float
) -> None:
    random, draws = np.random.default_rng(6), 40_000
    sides = 1 if varied.paired else 2
    values = random.normal(0.0, varied.spread, (sides, draws, seeds))
    shared = random.normal(0.0, math.sqrt(varied.common), draws) if varied.common else 0.0
    moved = effect + values[-1].mean(axis=1) + shared
    moved -= values[0].mean(axis=1) if sides == 2 else 0.0
    parts = values.var(axis=2, ddof=1) / seeds
    variance = parts.sum(axis=0) + varied.common
    rest = varied.common**2 / (varied.clusters - 1)
    df = variance**2 / ((parts**2).sum(axis=0) / (seeds - 1) + rest)
    seen = 2 * stdtr(df, -np.abs(moved) / np.sqrt(variance)) <= alpha
    assert_allclose(compute_recipe_power(effect, varied, seeds, alpha), seen.mean(), atol=0.009)


@settings(max_examples=30, deadline=None)
@given(st.floats(0.05, 1.0), st.floats(0.05, 2.0), st.floats(0.001, 0.2), st.floats(0.3, 0.95))
def test_the_number_is_the_least(effect: float, sd: float, alpha: float, power: float) -> None:
    n = find_sample_size(effect, sd, alpha, power)
    assert n is not None
    assert compute_mean_power(effect, sd, n, alpha) >= power
    assert n == 2 or compute_mean_power(effect, sd, n - 1, alpha) < power
    seeds = find_seed_count(effect, RecipeVariances(sd / 10), alpha, power)
    assert seeds is not None
    assert seeds == 2 or compute_recipe_power(
        effect, RecipeVariances(sd / 10), seeds - 1, alpha
    ) < (power + 1e-9)


def test_power_is_that_of_the_t_test() -> None:
    random = np.random.default_rng(7)
    p = ttest_1samp(random.normal(0.5, 1.0, (20_000, 12)), 0.0, axis=1).pvalue
    assert_allclose(compute_mean_power(0.5, 1.0, 12, 0.05), (p <= 0.05).mean(), atol=0.011)


def test_no_number_does_where_the_other_source_blocks() -> None:
    few_samples = RecipeVariances(1.0, common=4.0, clusters=200)
    assert find_seed_count(2.0, few_samples, 0.05, 0.8) is None
    assert find_recipe_sample_size(2.0, RecipeVariances(2.1, 0.5, 500), (2.0, 3), 0.05) is None
    n = find_recipe_sample_size(5.0, RecipeVariances(1.4, 1.0, 500), (1.0, 4), 0.05)
    assert n is not None
    more = RecipeVariances(math.sqrt(1 + 0.96 * 500 / n), 500 / n, n)
    assert_allclose(compute_recipe_power(5.0, more, 4, 0.05), 0.8, atol=0.01)
    assert find_sample_size(0.0, 1.0, 0.05, 0.8) is None
    assert find_sample_size(1.0, float("nan"), 0.05, 0.8) is None


def test_a_plan_has_a_line_for_each_thing_that_varies() -> None:
    whole = Pilot(
        sd=0.45, n=500, recipe=RecipeVariances(0.01), item_sd=0.05,
        recipe_at_hand=RecipeVariances(0.02, common=0.02**2, clusters=500),
    )  # fmt: skip
    result = {
        size.what: (size.alone, size.strictest) for size in compute_required_sizes(whole, 0.02, 0.8)
    }
    assert result["samples, for these models"] == (3976, 6134)
    assert result["seeds of each run, for the recipe, with samples to spare"] == (6, 9)
    assert result["seeds of each run, for the recipe, with 500 samples"] == (None, None)
    assert result["concepts, for others like these"] == (
        find_sample_size(0.02, 0.05, 0.05, 0.8), find_sample_size(0.02, 0.05, SIX, 0.8),
    )  # fmt: skip
    assert list(compute_required_sizes(Pilot(why="nothing"), 0.02, 0.8)) == []
