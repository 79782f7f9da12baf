"""Weighted sums: right, and the same in whatever order samples are added."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from theodolite._stats.resampling import draw_poisson_weights
from theodolite._stats.weighted_sums import MAX_WEIGHT, sum_weighted

N = 2_048
WEIGHTS = draw_poisson_weights(np.arange(N), 40, seed=2)


def each(kind: str) -> np.ndarray:
    random = np.random.default_rng(5)
    values: dict[str, np.ndarray] = {
        "normal": random.normal(size=(N, 2, 3)),
        "of all sizes": random.normal(size=(N, 4)) * 10.0 ** random.integers(-12, 12, (N, 4)),
        "thirds": np.full((N, 1), 1 / 3),
        "tiny": random.normal(size=(N, 2)) * 1e-305,
        "whole": random.integers(-9, 9, (N, 3)).astype(float),
        "hits": random.random(N) < 0.3,
        "no columns": np.zeros((N, 0)),
    }
    return values[kind]


@pytest.mark.parametrize(
    "kind", ["normal", "of all sizes", "thirds", "tiny", "whole", "hits", "no columns"]
)
def test_sums_are_right_and_do_not_depend_on_the_order(kind: str) -> None:
    values = each(kind)
    sums = sum_weighted(WEIGHTS, values)
    assert sums.shape == (40, *values.shape[1:])
    assert_allclose(sums, np.tensordot(WEIGHTS, values, axes=1), rtol=1e-9,
                    atol=1e-12 * np.abs(values).max(initial=0))  # fmt: skip
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(N)
        assert_array_equal(sum_weighted(WEIGHTS[:, order], values[order]), sums)


def test_sums_are_rounded_once() -> None:
    values = each("normal")[:, 0, :1]
    some = np.minimum(WEIGHTS, 1.0)
    exact = [math.fsum(row * values[:, 0]) for row in some]
    assert_allclose(sum_weighted(some, values)[:, 0], exact, rtol=2.3e-16)


def test_no_weight_is_larger_than_there_is_room_for() -> None:
    assert draw_poisson_weights(np.arange(2_000), 500, seed=0).max() < MAX_WEIGHT


@pytest.mark.filterwarnings("ignore:invalid value")
def test_what_is_no_number_stays_so() -> None:
    values = np.array([[np.nan, np.inf, 1.0], [1.0, 2.0, 3.0]])
    sums = sum_weighted(np.ones((1, 2)), values)
    assert np.isnan(sums[0, 0])
    assert sums[0, 1:].tolist() == [np.inf, 4.0]
