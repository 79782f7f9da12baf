"""Every source of chance counts: a difference must stand out from each of them."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import stdtr

from support.runs.compared_runs import spoilt
from theodolite._runs.comparison import table_differences as paired_table
from theodolite._runs.comparison.aligned_samples import (
    AlignedSamples,
    NotComparableError,
    align_samples,
)
from theodolite._runs.comparison.comparison_rows import (
    ComparisonRow,
    _write_remark,
    settle_headlines,
)
from theodolite._runs.comparison.intervals import ResamplingSource, compute_paired_interval
from theodolite._runs.comparison.loaded_runs import LoadedRun
from theodolite._runs.comparison.paired_differences import (
    ComparisonSide,
    ResampledRows,
    compute_difference,
)
from theodolite._scoring.plan import Plan
from theodolite._scoring.request import Resampling
from theodolite._stats.intervals import components
from theodolite._stats.resampling import draw_poisson_weights
from theodolite.evidence.axes import Samples
from theodolite.evidence.shards import Clusters
from theodolite.metrics.catalogue import catalogue
from theodolite.results import Detail, Interval, Score

BOTH = AlignedSamples((), 30, (0, 0), identical=False)


def side(each: np.ndarray, *, clusters: np.ndarray | None = None) -> ComparisonSide:
    """A run whose score of a concept is the mean over samples of ``each`` (samples, concepts)."""
    n, concepts = each.shape
    n_clusters = 0 if clusters is None else len(set(clusters.tolist()))
    about = None if clusters is None else Clusters(n_clusters, False, float(n_clusters))
    plan = Plan(catalogue()["concept_existence"], n, about, Resampling(60))
    rows = [np.ones((1, n))]
    for number, source in enumerate(plan.sources):
        keys = np.arange(n) if source == "samples" or clusters is None else clusters
        rows.append(draw_poisson_weights(keys, 60, number))
    weights = np.concatenate(rows)
    with np.errstate(invalid="ignore"):  # nothing was drawn
        values = weights @ each / weights.sum(axis=1, keepdims=True)
    names = tuple(f"c{j}" for j in range(concepts))
    detail = Detail("concepts", names, values[0], None, None)
    score = Score(
        "concept_global_importance", 1, "exists", float(np.nanmean(values[0])), "higher",
        (-10.0, 10.0), 10.0, concepts, 0, "concepts", detail=detail,
    )  # fmt: skip
    return ComparisonSide(ResampledRows(values, values[None], plan), (), score, (0,))


def test_errors_that_concepts_share_within_a_sample_are_not_taken_for_a_difference() -> None:
    random = np.random.default_rng(2)
    wrong = 0
    for _ in range(40):
        shared = random.normal(size=(30, 1)) + 0.1 * random.normal(size=(30, 10))
        first, second = side(np.zeros((30, 10))), side(shared)
        line = ComparisonRow(first.score, second.score, compute_difference(first, second))
        wrong += settle_headlines([line], 0.95)[0].outcome in ("better", "worse")
    assert wrong / 40 <= 0.15, (
        "chance alone may be called sure in one of twenty, not in nine of ten"
    )


def test_these_concepts_are_quoted_and_others_are_a_further_interval() -> None:
    random = np.random.default_rng(4)
    shared = 0.4 + random.normal(size=(30, 1)) + 0.1 * random.normal(size=(30, 25))
    first, second = side(np.zeros((30, 25))), side(shared)
    result = compute_difference(first, second)
    rows = second.rows.values.mean(axis=1)[1:]
    wanted = compute_paired_interval(
        rows, result.value, ResamplingSource("samples", 30, 0.95, 20.0)
    )
    assert wanted is not None
    assert [(one.over, one.scope) for one in result.intervals] == [
        ("samples", "fixed"), ("concepts", "population"),
    ]  # fmt: skip
    assert_allclose(result.p, wanted.p)
    parts = components(rows, second.rows.values[1:], second.rows.values[0], 30)
    assert parts is not None and result.population is not None
    assert_allclose(result.population.interval.error, math.sqrt(parts.variance))
    assert result.hardest is result.population and result.population.p >= result.p


def test_concepts_alone_vary_where_samples_change_nothing() -> None:
    moved = np.array([0.1, 0.3, 0.2, 0.5])
    result = compute_difference(side(np.zeros((30, 4))), side(np.tile(moved, (30, 1))))
    t = moved.mean() / (moved.std(ddof=1) / 2)
    assert result.interval is not None and result.interval.over == "concepts"
    assert_allclose(result.p, 2 * stdtr(3, -t))


def test_clusters_are_counted_for_the_items_as_well() -> None:
    random = np.random.default_rng(3)
    clusters = np.repeat(np.arange(4), 10)
    second = side(random.normal(size=(40, 3)), clusters=clusters)
    result = compute_difference(side(np.zeros((40, 3)), clusters=clusters), second)
    assert result.items is not None
    rows = second.rows.values
    wanted = compute_paired_interval(
        rows[1:61, 0], rows[0, 0], ResamplingSource("clusters", 4, 0.95, 20.0)
    )
    assert wanted is not None
    ends = [wanted.interval.low, wanted.interval.high]
    assert_allclose([result.items.low[0], result.items.high[0]], ends)


@pytest.mark.parametrize("more", ["first", "second"])
def test_items_of_either_run_alone_are_counted_and_said(more: str) -> None:
    each = np.random.default_rng(5).normal(size=(30, 4))
    sides = [side(each[:, :3]), side(each)]
    first, second = sides if more == "second" else sides[::-1]
    result = compute_difference(first, second)
    assert result.items is not None and result.items.dropped == 1
    said = _write_remark((first.score, second.score), result, BOTH)
    assert said.startswith("over the 3 concepts that both have") and "stored" not in said


def test_no_interval_goes_where_no_score_can() -> None:
    each = np.full((30, 10), 0.945)
    own = (Interval(0.9, 0.98, 0.95, "samples", "made up", 100),)
    sides = []
    for one in (side(each), side(each)):
        sides.append(replace(one, score=replace(one.score, bounds=(0.0, 1.0), intervals=own)))
    result = compute_difference(*sides)
    assert result.interval is not None
    assert_allclose([result.interval.low, result.interval.high], [-0.1, 0.1])
    said = _write_remark((sides[0].score, sides[1].score), result, BOTH)
    assert said.startswith("each of the 10 concepts scores the same in both")


def test_another_order_without_names_is_guessed_at() -> None:
    first, second = spoilt(0.4, 20), spoilt(0.4, 20)[np.arange(20)[::-1]]
    first, second = (replace(one, samples=Samples.numbered(20)) for one in (first, second))
    with pytest.raises(
        NotComparableError, match="perhaps the same samples in another order; save `ids"
    ):
        align_samples([[first], [second]], same_data=False)


def test_tables_of_samples_do_not_serve_for_numbers_and_clusters(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    score = replace(side(np.zeros((3, 2))).score, detail=None)
    run = object.__new__(LoadedRun)
    run.__dict__["folder"] = tmp_path
    clustered = replace(score, intervals=(Interval(0.0, 1.0, 0.95, "clusters", "made up", 9),))
    (tmp_path / paired_table.TABLE).write_text("not read")
    with pytest.raises(NotComparableError, match="belong together"):
        paired_table.compute_table_difference((run, run), (clustered, clustered), Resampling(60))
    monkeypatch.setattr(
        paired_table, "_read_sample_values", lambda *_: {"0": 0.5, "1": 0.7, "2": 0.1}
    )
    with pytest.raises(NotComparableError, match="numbers only"):
        paired_table.compute_table_difference((run, run), (score, score), Resampling(60))
