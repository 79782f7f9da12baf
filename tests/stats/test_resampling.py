"""Resampling: the same in every shard, a bootstrap in effect, intervals that cover."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from theodolite._stats.resampling import (
    boundary_interval,
    draw_poisson_weights,
    mean_interval,
    percentile_interval,
)


def test_weights_are_poisson() -> None:
    drawn = draw_poisson_weights(np.arange(2000), 500, seed=3)
    assert_allclose(drawn.mean(), 1.0, atol=0.005)
    assert_allclose(drawn.var(), 1.0, atol=0.01)
    assert_allclose((drawn == 0).mean(), np.exp(-1), atol=0.003)
    assert_allclose((drawn >= 3).mean(), 1 - np.exp(-1) * 2.5, atol=0.003)


def test_weights_of_samples_and_of_resamples_are_unrelated() -> None:
    drawn = draw_poisson_weights(np.arange(400), 400, seed=0) - 1
    for other in (drawn.T @ drawn / 400, drawn @ drawn.T / 400):
        off = other[~np.eye(400, dtype=bool)]
        assert_allclose(off.mean(), 0.0, atol=0.005)
        assert_allclose(off.std(), 1 / np.sqrt(400), rtol=0.05)


def test_weights_depend_on_the_sample_and_the_seed_alone() -> None:
    whole = draw_poisson_weights(np.arange(50), 7, seed=1)
    order = np.random.default_rng(0).permutation(50)
    assert (draw_poisson_weights(order, 7, seed=1) == whole[:, order]).all()
    assert (draw_poisson_weights(np.arange(50), 3, seed=1) == whole[:3]).all()
    assert (draw_poisson_weights(np.arange(50), 7, seed=2) != whole).any()


def test_samples_of_one_cluster_are_drawn_together() -> None:
    drawn = draw_poisson_weights(np.array([4, 4, 9, 4]), 100, seed=5)
    assert (drawn[:, 0] == drawn[:, 1]).all() and (drawn[:, 0] == drawn[:, 3]).all()
    assert (drawn[:, 0] != drawn[:, 2]).any()


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_intervals_cover_as_often_as_they_say(share: float) -> None:
    """300 data sets of 150 samples: the 95 % interval holds the truth in 91 to 98 of 100."""
    hits = 0
    for seed in range(300):
        sample = (np.random.default_rng(seed).random(150) < share).astype(float)
        weights = draw_poisson_weights(np.arange(150), 400, seed=seed)
        result = percentile_interval(
            weights @ sample / weights.sum(axis=1), float(sample.mean()), 0.95, "samples"
        )
        assert result is not None
        hits += result.low <= share <= result.high
    assert 0.91 <= hits / 300 <= 0.98


def test_a_biased_resampling_is_moved_to_the_value() -> None:
    result = percentile_interval(np.linspace(-1.0, 1.0, 1001) + 5.0, 7.0, 0.9, "samples")
    assert result is not None
    assert_allclose((result.low, result.high), (6.1, 7.9), atol=1e-9)


def test_nothing_varied_or_nothing_defined_is_no_interval() -> None:
    assert percentile_interval(np.full(10, 0.3), 0.3, 0.95, "samples") is None
    assert percentile_interval(np.full(10, np.nan), np.nan, 0.95, "samples") is None
    assert mean_interval(np.array([0.5]), 0.95, "seeds") is None
    assert boundary_interval(0.5, (0.0, 1.0), 10, 0.95, "samples") is None


def test_all_samples_on_the_bound() -> None:
    result = boundary_interval(1.0, (0.0, 1.0), 10, 0.95, "samples")
    assert result is not None
    assert result.high == 1.0
    assert_allclose(result.low**10, 0.025)  # a share this low gives ten of ten this rarely
    low = boundary_interval(-1.0, (-1.0, 1.0), 10, 0.95, "samples")
    assert low is not None and low.low == -1.0
    assert_allclose(low.high + 1, 2 * (1 - result.low))


def test_seeds_by_student() -> None:
    result = mean_interval(np.array([1.0, 2.0, 3.0, np.nan]), 0.95, "seeds")
    assert result is not None and result.n == 3
    assert_allclose(result.high - 2.0, 4.302653 / np.sqrt(3), rtol=1e-6)
