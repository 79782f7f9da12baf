"""Paired differences: the same resamples for both runs, against naive ways to the same numbers."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import ttest_rel

from support.runs.compared_runs import BY_CONCEPT, METRICS, spoilt, written
from theodolite._runs.comparison.compare_runs import Comparison, compare_runs
from theodolite._runs.comparison.comparison_rows import ComparisonRow, settle_headlines
from theodolite._runs.comparison.intervals import ResamplingSource, compute_paired_interval
from theodolite._runs.comparison.loaded_runs import LoadedRun, load_run, load_runs
from theodolite._runs.comparison.table_differences import compute_table_difference
from theodolite._scoring.evaluate import Resampling
from theodolite._stats.multiple import correct_holm
from theodolite._stats.resampling import draw_poisson_weights
from theodolite.errors import EvidenceError, VerificationError
from theodolite.evidence.axes import Samples

digest_samples = st.lists(st.floats(-1, 1, allow_nan=False), min_size=4, max_size=40)


def naive(first: np.ndarray, second: np.ndarray, resamples: int, seed: int) -> list[float]:
    """The paired bootstrap written out: draw, take both means, subtract."""
    result = []
    for weights in draw_poisson_weights(np.arange(len(first)), resamples, seed):
        n = sum(weights)
        a = sum(w * x for w, x in zip(weights, first, strict=True)) / n if n else math.nan
        b = sum(w * x for w, x in zip(weights, second, strict=True)) / n if n else math.nan
        result.append(b - a)
    return result


def pair_of(tmp_path: Path, *evidence: object, **spec: object) -> Comparison:
    folders = [
        written(tmp_path / f"run{n}", one, **spec)  # type: ignore[arg-type]
        for n, one in enumerate(evidence)
    ]
    return compare_runs(load_runs(folders))[0]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """A run that is wrong about 40 % of the samples, and one that is about half of these."""
    return pair_of(tmp_path_factory.mktemp("two"), spoilt(0.4), spoilt(0.2))


def line_of(pair: Comparison, metric: str = "concept_existence") -> ComparisonRow:
    return next(line for line in pair.lines if line.score.metric == metric)


@settings(max_examples=40, deadline=None)
@given(digest_samples, st.integers(0, 5))
def test_interval_is_that_of_the_paired_t_test(moved: list[float], seed: int) -> None:
    values = np.array(moved)
    rows = np.array(naive(np.zeros(len(values)), values, 400, seed))
    test = compute_paired_interval(
        rows, float(values.mean()), ResamplingSource("samples", len(values), 0.95, 100.0)
    )
    if np.ptp(values) < 1e-6:
        return
    assert test is not None
    interval, p = test.interval, test.p
    half = (interval.high - interval.low) / 2
    error = values.std(ddof=1) / math.sqrt(len(values))
    spread = np.nanstd(rows) * math.sqrt(len(values) / (len(values) - 1))
    told = ttest_rel(values, np.zeros(len(values))).confidence_interval(0.95)
    assert_allclose(half / spread, (told.high - told.low) / 2 / error, rtol=1e-6)
    assert (p < 0.05) == (interval.low > 0 or interval.high < 0)


def test_whole_way_from_folders_is_the_naive_bootstrap(two: Comparison) -> None:
    result = line_of(two).difference
    assert result is not None and result.interval is not None
    runs = [run.evidence[0] for run in (two.first, two.second)]
    right = []
    for kinds in runs:
        (bundle,) = kinds.values()
        named = (bundle.values * bundle.weights.T[bundle.predicted]).argmax(axis=1)  # type: ignore[attr-defined]
        right.append(bundle.truth[np.arange(len(bundle)), named].astype(float))  # type: ignore[attr-defined]
    rows = np.array(naive(right[0], right[1], 100, 0))
    assert_allclose(result.value, right[1].mean() - right[0].mean())
    wanted = compute_paired_interval(
        rows, result.value, ResamplingSource("samples", 120, 0.95, 1.0)
    )
    assert wanted is not None
    ends = [wanted.interval.low, wanted.interval.high]
    assert_allclose([result.interval.low, result.interval.high], ends)
    assert_allclose(result.p, wanted.p)
    assert_allclose(wanted.p, ttest_rel(right[1], right[0]).pvalue, atol=0.01)


def test_what_is_hard_for_both_cancels_out(tmp_path: Path) -> None:
    pair = pair_of(tmp_path, spoilt(0.5), spoilt(0.45))
    line = line_of(pair)
    result = line.difference
    assert result is not None and result.interval is not None
    assert line.first is not None and line.second is not None
    alone = [one.interval for one in (line.first, line.second)]
    unpaired = math.hypot(*((one.high - one.low) for one in alone if one is not None))
    assert result.interval.high - result.interval.low < unpaired / 2
    assert line.outcome == "better" and result.interval.low > 0


def test_same_run_twice_differs_by_nothing(tmp_path: Path) -> None:
    pair = pair_of(tmp_path, spoilt(0.3), spoilt(0.3))
    assert {line.outcome for line in pair.lines} == {"the same"}
    for line in pair.lines:
        assert line.difference is not None and line.difference.value == 0.0
        assert {(one.low, one.high) for one in line.difference.intervals} == {(0.0, 0.0)}


def test_no_sample_that_differs_is_no_proof_of_sameness(tmp_path: Path) -> None:
    pair = pair_of(tmp_path, spoilt(0.3), spoilt(0.3, seed=1))
    line = line_of(pair)
    assert line.difference is not None and line.difference.interval is not None
    interval = line.difference.interval
    assert line.outcome == "undecided" and line.difference.value == 0.0
    assert_allclose(interval.high, 1 - 0.025 ** (1 / 120))
    assert_allclose(interval.low, -interval.high)


def test_swapped_runs_differ_the_other_way(two: Comparison) -> None:
    back = compare_runs([two.second, two.first])[0]
    turned = {"better": "worse", "worse": "better"}
    for one in two.lines:
        other = next(x for x in back.lines if x.score.options == one.score.options
                     and x.score.metric == one.score.metric)  # fmt: skip
        assert one.difference is not None and other.difference is not None
        assert one.difference.interval is not None and other.difference.interval is not None
        assert_allclose(one.difference.value, -other.difference.value)
        ends = (other.difference.interval.high, other.difference.interval.low)
        mine = (one.difference.interval.low, one.difference.interval.high)
        assert_allclose(mine, np.negative(ends), atol=1e-12)
        assert one.outcome == turned.get(other.outcome, other.outcome)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    random = np.random.default_rng(5)
    n, held = 40, 0
    for trial in range(200):
        hard = random.normal(size=n)
        moved = (0.3 + hard + random.normal(size=n) * 0.5) - hard * 0.9
        weights = draw_poisson_weights(np.arange(n), 200, trial)
        rows = weights @ moved / weights.sum(axis=1)
        test = compute_paired_interval(
            rows, float(moved.mean()), ResamplingSource("samples", n, 0.9, 50.0)
        )
        assert test is not None
        held += test.interval.low <= 0.3 <= test.interval.high
    assert 0.85 <= held / 200 <= 0.95


def test_samples_are_matched_by_name_in_any_order(two: Comparison, tmp_path: Path) -> None:
    second = spoilt(0.2)
    order = np.random.default_rng(1).permutation(len(second))
    moved = second[order]
    moved = replace(moved, samples=Samples(ids=moved.samples.ids))
    mixed = compare_runs([two.first, load_run(written(tmp_path / "mixed", moved))])[0]
    for one, other in zip(two.lines, mixed.lines, strict=True):
        assert one.difference is not None and other.difference is not None
        assert_allclose(one.difference.value, other.difference.value)
        assert_allclose(one.difference.p, other.difference.p, rtol=1e-9)


def test_only_shared_samples_count_and_that_is_said(two: Comparison, tmp_path: Path) -> None:
    few = [one[np.arange(100)] for one in (spoilt(0.4), spoilt(0.2))]
    cut_first, cut_second = (load_run(written(tmp_path / f"{n}", one)) for n, one in enumerate(few))
    pair = compare_runs([two.first, cut_second])[0]
    line = line_of(pair)
    assert (pair.n, pair.dropped) == (100, (20, 0))
    assert line.why == "on the 100 samples that both have"
    assert line.difference is not None
    cut = line_of(compare_runs([cut_first, cut_second])[0]).difference
    assert cut is not None
    assert_allclose(line.difference.value, cut.value)


@pytest.mark.parametrize("change", ["ids", "labels", "truth", "numbers"])
def test_other_samples_are_not_compared(two: Comparison, tmp_path: Path, change: str) -> None:
    first, second = spoilt(0.4), spoilt(0.2)
    if change == "ids":
        second = spoilt(0.2, ids="photo")
    elif change == "labels":
        second = replace(second, labels=second.labels[::-1].copy())
    elif change == "truth":
        second = replace(second, truth=~second.truth)
    else:  # numbers alone, not as many
        first = replace(first, samples=Samples.numbered(len(first)))
        second = replace(second, samples=Samples.numbered(len(second)))[np.arange(60)]
    runs = [two.first, load_run(written(tmp_path / "second", second))]
    if change == "numbers":
        runs[0] = load_run(written(tmp_path / "first", first))
    pair = compare_runs(runs)[0]
    assert {line.outcome for line in pair.lines} == {"not comparable"}
    assert all(line.difference is None and line.why for line in pair.lines)


def test_concepts_that_both_have_are_paired(tmp_path: Path) -> None:
    pair = pair_of(tmp_path, spoilt(0.4), spoilt(0.2), metrics=[BY_CONCEPT])
    result = line_of(pair, "concept_global_importance").difference
    assert result is not None and result.items is not None and result.interval is not None
    assert_allclose(result.items.differences.mean(), result.value)
    assert [(one.over, one.scope) for one in result.intervals] == [
        ("samples", "fixed"), ("concepts", "population"),
    ]  # fmt: skip
    assert (result.items.low <= result.items.differences).all()
    assert (result.items.high >= result.items.differences).all()


def test_seeds_are_averaged_and_must_agree(tmp_path: Path) -> None:
    first = [spoilt(0.4), spoilt(0.42)]
    second = [spoilt(0.2), spoilt(0.62)]
    pair = pair_of(tmp_path, first, second)
    line = line_of(pair)
    result = line.difference
    assert result is not None
    over_seeds = next(one for one in result.intervals if one.over == "seeds")
    assert line.first is not None and line.second is not None
    assert_allclose(result.value, line.second.value - line.first.value)
    assert over_seeds.low < 0 < over_seeds.high
    assert line.outcome == "undecided" and result.p > 0.05


def test_headlines_alone_are_corrected(two: Comparison) -> None:
    line = line_of(two)
    assert line.difference is not None and line.difference.these is not None
    test = replace(line.difference.these, p=0.03)
    weak = replace(line, difference=replace(line.difference, these=test))
    assert [one.outcome for one in settle_headlines([weak], 0.95)] == ["better"]
    assert [one.outcome for one in settle_headlines([weak, weak], 0.95)] == ["undecided"] * 2
    told = settle_headlines([weak, line], 0.95)
    assert_allclose([one.these.p for one in told], correct_holm([0.03, line.difference.p]).p)


def test_questions_say_what_their_scores_say(two: Comparison) -> None:
    asked = two.questions[0].line
    line = next(one for one in two.lines if one.difference is asked.difference)
    assert asked.difference is not None and (asked.these, asked.recipe) == (line.these, line.recipe)
    assert asked.these.p == asked.difference.p, "a single headline"
    others = [one for one in two.lines if one is not line]
    assert others and {one.outcome for one in others} == {"exploration"}


def test_without_evidence_the_table_of_samples_serves(two: Comparison) -> None:
    line = line_of(two)
    assert line.difference is not None and line.first is not None and line.second is not None
    runs = (two.first, two.second)
    told = compute_table_difference(runs, (line.first, line.second), Resampling(100))
    assert_allclose(told.value, line.difference.value)
    assert told.interval is not None and line.difference.interval is not None
    assert_allclose(told.interval.low, line.difference.interval.low)


def test_verdicts_and_runs_are_read_and_checked(tmp_path: Path) -> None:
    folder = written(tmp_path / "a", spoilt(0.4))
    run = load_run(folder)
    assert isinstance(run, LoadedRun) and run.verdicts["exists"].answer == "inconclusive"
    head = run.headline("exists")
    assert head is not None and head.metric == METRICS[0]["name"]
    with pytest.raises(EvidenceError, match="a folder twice"):
        load_runs([folder, folder])
    (folder / "scores.json").write_text((folder / "scores.json").read_text() + " ")
    with pytest.raises(VerificationError):
        load_run(folder)
