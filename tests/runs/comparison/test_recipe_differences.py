"""Seeds as a source of chance: the variance of a recipe, its parts, and both claims."""

import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from support.runs.compared_runs import BY_CONCEPT, METRICS, spoilt, written
from theodolite._runs.comparison.compare_runs import Comparison, compare_runs
from theodolite._runs.comparison.comparison_rows import ClaimOutcome
from theodolite._runs.comparison.intervals import ResamplingSource, run_student_test
from theodolite._runs.comparison.loaded_runs import load_runs
from theodolite._runs.comparison.recipe_differences import (
    SeedVariances,
    estimate_seed_variances,
    run_recipe_test,
)
from theodolite._runs.comparison.shortage import find_model_shortage, find_recipe_shortage
from theodolite._stats.intervals import Estimate
from theodolite.report.pages.compare_runs_words import outcome_text, sentence, shortage_text

WIDE = ResamplingSource("samples", 500, 0.95, 1000.0)
FIRST, SECOND = np.array([71.0, 73.0, 72.0]), np.array([75.0, 78.0, 76.0])


def covariance(x: np.ndarray, y: np.ndarray) -> float:
    """Over resamples, as it is written."""
    return sum((a - x.mean()) * (b - y.mean()) for a, b in zip(x, y, strict=True)) / len(x)


def test_the_worked_numbers() -> None:
    value = float(SECOND.mean() - FIRST.mean())
    variances = SeedVariances(
        (3, 3), (float(FIRST.var(ddof=1)), float(SECOND.var(ddof=1))), (0.0, 0.0), 1.2**2, 500
    )
    assert_allclose(value, 4.333333, atol=5e-7)
    assert_allclose([v / 3 for v in variances.variances], [0.333333, 0.777778], atol=5e-7)
    assert_allclose(variances.variance, 2.551111, atol=5e-7)
    assert_allclose(variances.df, 17.969419, atol=5e-7)
    recipe = run_recipe_test(value, variances, WIDE)
    assert recipe is not None and recipe.interval.error is not None
    assert_allclose(recipe.interval.error, 1.597220, atol=5e-7)
    assert_allclose([recipe.interval.low, recipe.interval.high], [0.977290, 7.689377], atol=5e-7)
    assert_allclose(recipe.p, 0.014266, atol=5e-7)
    assert (recipe.interval.over, recipe.interval.scope) == ("seeds", "population")
    these = run_student_test(Estimate(value, 1.2**2, 499, "samples", 1000), WIDE, "worked")
    assert_allclose(these.p, 0.000336, atol=5e-7)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 4), st.integers(2, 4), st.integers(0, 100))
def test_common_is_the_mean_over_pairs_of_different_seeds(a: int, b: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    shared = random.normal(size=(1, 31)) * [[*[1.0] * 15, *[-0.5] * 16]]
    first, second = random.normal(size=(a, 31)), shared + random.normal(size=(b, 31))
    result = estimate_seed_variances(first, second, 20)
    assert result is not None
    pairs = [
        covariance(second[j, 1:] - first[i, 1:], second[m, 1:] - first[k, 1:])
        for i, k in itertools.permutations(range(a), 2)
        for j, m in itertools.permutations(range(b), 2)
    ]
    assert_allclose(result.common, max(np.mean(pairs) * 20 / 19, 0.0), atol=1e-12)
    assert result.seeds == (a, b)
    assert_allclose(result.variances, [first[:, 0].var(ddof=1), second[:, 0].var(ddof=1)])
    own = np.mean([covariance(x[1:], x[1:]) for x in first]) - np.mean(
        [covariance(first[i, 1:], first[k, 1:]) for i, k in itertools.permutations(range(a), 2)]
    )
    assert_allclose(result.own[0], max(own * 20 / 19, 0.0), atol=1e-12)


def test_paired_seeds_have_the_variance_of_their_differences() -> None:
    random = np.random.default_rng(1)
    start = random.normal(size=(4, 1)) * 5
    first, second = (start + random.normal(size=(4, 41)) for _ in range(2))
    apart = estimate_seed_variances(first, second, 30)
    result = estimate_seed_variances(first, second, 30, paired=True)
    assert result is not None and apart is not None and result.paired and not apart.paired
    moved = second - first
    assert_allclose(result.of_seeds, moved[:, 0].var(ddof=1) / 4)
    pairs = [covariance(moved[i, 1:], moved[k, 1:]) for i, k in itertools.permutations(range(4), 2)]
    assert_allclose(result.common, max(np.mean(pairs) * 30 / 29, 0.0), atol=1e-12)
    assert result.variance < apart.variance / 3, "what both share in training cancels out"
    parts = result.of_seeds**2 / 3 + result.common**2 / 29
    assert_allclose(result.df, result.variance**2 / parts)


def test_seeds_that_are_the_same_leave_the_samples_alone() -> None:
    random = np.random.default_rng(2)
    first, second = (np.repeat(random.normal(size=(1, 61)), 3, axis=0) for _ in range(2))
    result = estimate_seed_variances(first, second, 40)
    assert result is not None and result.of_seeds == 0.0 and result.own == pytest.approx((0, 0))
    assert_allclose(result.common, (second - first)[0, 1:].var() * 40 / 39)
    assert_allclose(result.df, 39)


def test_undefined_seeds_do_not_count_and_one_does_not_tell() -> None:
    random = np.random.default_rng(3)
    first, second = random.normal(size=(3, 31)), random.normal(size=(3, 31))
    first[1] = np.nan
    result = estimate_seed_variances(first, second, 20)
    wanted = estimate_seed_variances(first[[0, 2]], second, 20)
    assert result == wanted and result is not None and result.seeds == (2, 3)
    first[0] = np.nan
    assert estimate_seed_variances(first, second, 20) is None
    assert estimate_seed_variances(first[2:], second, 20) is None
    assert run_recipe_test(1.0, None, WIDE) is None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs that are .2 apart on the mean over seeds; those of "wild" lie far apart."""
    root = tmp_path_factory.mktemp("seeds")
    both = [*METRICS, BY_CONCEPT]
    written(root / "a", [spoilt(s, seed=i) for i, s in enumerate((0.4, 0.42, 0.41))], metrics=both)
    written(root / "b", [spoilt(s, seed=i) for i, s in enumerate((0.2, 0.22, 0.21))], metrics=both)
    shares = (0.05, 0.5, 0.08)
    written(root / "wild", [spoilt(s, seed=i) for i, s in enumerate(shares)], metrics=both)
    written(root / "single", spoilt(0.2, seed=9), metrics=both)
    for name, start in (("p", 0.3), ("q", 0.25)):
        seeds = [spoilt(start + s, seed=i) for i, s in enumerate((0.0, 0.2, 0.4))]
        written(root / name, seeds, metrics=both, paired_seeds=True)
    return root


def pair_of(folder: Path, *names: str) -> Comparison:
    return compare_runs(load_runs([folder / name for name in names]))[0]


def test_both_claims_are_made_where_seeds_agree(folder: Path) -> None:
    line = pair_of(folder, "a", "b").questions[0].line
    assert (line.these.outcome, line.recipe.outcome) == ("better", "better")
    assert outcome_text(line) == (
        "better on these models; better for the recipe (3 seeds, spread 0.8 points)"
    )
    assert shortage_text(line) == ""
    delta = line.difference
    assert delta is not None and delta.recipe is not None and delta.interval is not None
    assert delta.recipe.interval.high - delta.recipe.interval.low > 0


def test_neither_claim_vetoes_the_other_and_it_is_said_what_blocks(folder: Path) -> None:
    pair = pair_of(folder, "a", "wild")
    line = pair.questions[0].line
    delta = line.difference
    assert delta is not None
    assert (line.these.outcome, line.recipe.outcome) == ("better", "undecided")
    assert outcome_text(line).startswith(
        "better on these models; not shown for the recipe (3 seeds, spread 17."
    )
    assert sentence(pair) == (
        "On these models wild is better than a in 1 question, worse in none, none undecided. "
        "For the recipe, trained again: better in no question, worse in none, 1 undecided."
    )
    shortage = find_recipe_shortage(delta, line.recipe.alpha)
    assert shortage is not None and shortage.by == "seeds" and shortage.samples is None
    assert shortage.seeds is not None and shortage.seeds > 3
    assert shortage_text(line).startswith(f"the recipe: seeds block; {shortage.seeds} seeds of ")


def test_where_neither_alone_would_do_both_are_said(folder: Path) -> None:
    line = pair_of(folder, "single", "b").questions[0].line
    delta = line.difference
    assert delta is not None
    both = SeedVariances((3, 3), (0.02**2, 0.02**2), (0.0, 0.0), 0.02**2, 120)
    claim = ClaimOutcome("undecided", 0.2, 0.05)
    for second, says in (
        (delta.first + 0.02, "more than 17 seeds of each run and 944 samples"),
        (delta.first + 1e-9, "a difference this small cannot be detected"),
    ):
        weak = replace(delta, second=second, variances=both, seeds=(3, 3))
        text = shortage_text(replace(line, difference=weak, these=ClaimOutcome(), recipe=claim))
        assert text.startswith("the recipe: samples block; ") and text.endswith(says)


def test_one_seed_does_not_tell_of_the_recipe(folder: Path) -> None:
    pair = pair_of(folder, "a", "single")
    line = pair.questions[0].line
    assert (line.these.outcome, line.recipe.outcome) == ("better", "cannot be told")
    assert outcome_text(line) == (
        "better on these models; inconclusive for the recipe (3 seeds and one seed)"
    )
    assert sentence(pair).endswith("For the recipe, trained again: inconclusive (one seed).")
    assert shortage_text(line) == "the recipe: needs two or more seeds of each run"


def test_seeds_are_paired_where_both_specs_say_so(folder: Path) -> None:
    line = pair_of(folder, "p", "q").questions[0].line
    assert line.difference is not None and line.difference.variances is not None
    assert line.difference.variances.paired
    assert (line.these.outcome, line.recipe.outcome) == ("better", "better")
    assert "3 seeds, spread of their differences 0.0 points" in outcome_text(line)
    mixed = pair_of(folder, "a", "q").questions[0].line
    assert mixed.difference is not None and mixed.difference.variances is not None
    assert not mixed.difference.variances.paired, "both must say so"


def test_lines_that_are_no_headline_claim_nothing(folder: Path) -> None:
    pair = pair_of(folder, "a", "b")
    heads = {id(question.line.difference) for question in pair.questions}
    others = [line for line in pair.lines if id(line.difference) not in heads]
    assert len(others) >= 2
    for line in others:
        assert (line.these.outcome, line.recipe.outcome) == ("exploration", "exploration")
        assert outcome_text(line) == "" and math.isnan(line.these.p)
        assert line.difference is not None and line.difference.p <= 1


def test_all_seeds_are_resampled_with_the_same_weights(folder: Path) -> None:
    line = pair_of(folder, "a", "wild").questions[0].line
    delta = line.difference
    assert delta is not None and delta.interval is not None and delta.variances is not None
    assert delta.interval.error is not None
    # these models: the parts of the sample noise, put together again
    parts = delta.variances
    over_samples = parts.common + sum(own / 3 for own in parts.own)
    assert_allclose(delta.interval.error**2, over_samples)
    short = find_model_shortage(delta, 0.05)
    assert short is not None and short.samples is not None and short.samples < 120
