"""Differences that are there are seen, in short: python benchmarks/compare_power.py is the long form.

In 0.1.0 three seeds showed five points in 4 of 100 comparisons."""

from pathlib import Path

import numpy as np
import pytest
from compare_power import STRICTEST, Cell, PlantedVersions, formula_draw, pipeline_draw

from support.runs.compared_runs import written
from theodolite._runs.comparison.compare_runs import compare_runs
from theodolite._runs.comparison.loaded_runs import load_runs

FIVE_POINTS = Cell(n=2000, points=5.0, seed_sd=1.0, seeds=3)
NONE = Cell(n=2000, points=0.0, seed_sd=1.0, seeds=3)


@pytest.fixture(scope="module")
def drawn_p() -> np.ndarray:
    random = np.random.default_rng(1)
    return np.array([formula_draw(FIVE_POINTS, random) for _ in range(3000)])


def test_three_seeds_show_five_points(drawn_p: np.ndarray) -> None:
    recipe, these = (drawn_p <= STRICTEST).mean(axis=0)
    assert recipe >= 0.7 and these >= 0.94


def test_no_difference_is_seldom_called_one() -> None:
    random = np.random.default_rng(2)
    p = np.array([formula_draw(NONE, random)[0] for _ in range(2000)])
    assert (p <= 0.05).sum() <= 131 and (p <= STRICTEST).sum() <= 35


def test_real_resamples_show_it_as_often() -> None:
    """What is common to seeds, from real resamples: as planted, and the tests as strong."""
    random, versions = np.random.default_rng(3), PlantedVersions(FIVE_POINTS)
    deltas = [pipeline_draw(versions, random, 100) for _ in range(60)]
    common = [1e4 * delta.variances.common for delta in deltas if delta.variances is not None]
    assert abs(np.mean(common) / FIVE_POINTS.common - 1) < 0.15
    recipe = [delta.recipe.p <= STRICTEST for delta in deltas if delta.recipe is not None]
    assert len(recipe) == 60 and np.mean(recipe) >= 0.7 - 3 * np.sqrt(0.7 * 0.3 / 60)
    assert np.mean([delta.p <= STRICTEST for delta in deltas]) >= 0.94


def test_whole_runs_say_it(tmp_path: Path) -> None:
    random, versions = np.random.default_rng(4), PlantedVersions(FIVE_POINTS)
    top = [{"name": "concept_existence", "options": {"top": [1]}}]
    outcomes = []
    for number in range(3):
        folders = [
            written(tmp_path / f"{number}{name}", seeds, metrics=top, sealed=True)
            for name, seeds in zip("ab", versions.draw(random), strict=True)
        ]
        line = compare_runs(load_runs(folders))[0].questions[0].line
        outcomes.append((line.these.outcome, line.recipe.outcome))
        assert line.difference is not None and line.difference.variances is not None
        assert line.difference.variances.seeds == (3, 3)
    assert [these for these, _ in outcomes] == ["better"] * 3
    assert {recipe for _, recipe in outcomes} <= {"better", "undecided"}
    assert "better" in {recipe for _, recipe in outcomes}
