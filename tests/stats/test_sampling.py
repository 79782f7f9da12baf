"""Chance made from numbers: uniform, unrelated, and the same in every cut and order."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from theodolite._stats import sampling
from theodolite._stats.sampling import (
    SAMPLE_HASH,
    draw_other_rows,
    draw_pool,
    hash_to_uniforms,
    merge_pools,
)
from theodolite.metrics.base import added


def test_uniform_numbers_are_uniform() -> None:
    drawn = hash_to_uniforms(np.arange(1000), (10, 10), seed=3)
    assert drawn.shape == (1000, 10, 10)
    assert drawn.min() >= 0 and drawn.max() < 1
    counts = np.histogram(drawn, bins=50, range=(0, 1))[0]
    assert_allclose(counts, 2000, rtol=0.1)
    assert_allclose(drawn.mean(), 0.5, atol=0.003)
    assert_allclose(drawn.var(), 1 / 12, rtol=0.01)


@pytest.mark.parametrize("step", [1, 64, 2**32])
def test_those_of_numbers_positions_and_seeds_are_unrelated(step: int) -> None:
    drawn = hash_to_uniforms(np.arange(300) * step, (300,), seed=0)
    other = hash_to_uniforms(np.arange(300) * step, (300,), seed=1)
    for rows in (drawn, drawn.T, np.concatenate([drawn, other])):
        related = np.corrcoef(rows)
        off = related[~np.eye(len(related), dtype=bool)]
        assert_allclose(off.mean(), 0.0, atol=0.005)
        assert_allclose(off.std(), 1 / np.sqrt(300), rtol=0.05)
        assert np.abs(off).max() < 0.35


def test_they_depend_on_number_position_and_seed_alone() -> None:
    whole = hash_to_uniforms(np.arange(50), (4, 3), seed=1)
    order = np.random.default_rng(0).permutation(50)
    assert_array_equal(hash_to_uniforms(order, (4, 3), seed=1), whole[order])
    assert_array_equal(
        hash_to_uniforms(order[:9].astype(np.uint8), (4, 3), seed=1), whole[order[:9]]
    )
    assert_array_equal(hash_to_uniforms(np.arange(50), (2, 3), seed=1), whole[:, :2])
    assert_array_equal(hash_to_uniforms(np.arange(50), (), seed=1), whole[:, 0, 0])
    assert (hash_to_uniforms(np.arange(50), (4, 3), seed=2) != whole).all()
    assert hash_to_uniforms(np.array([], int), (4, 3), seed=1).shape == (0, 4, 3)


def test_orders_made_of_them_are_all_equally_likely() -> None:
    orders = hash_to_uniforms(np.arange(60_000), (3,), seed=0).argsort(axis=1)
    counts = np.unique(orders, axis=0, return_counts=True)[1]
    assert_allclose(counts, 10_000, rtol=0.04)


def test_a_pool_of_all_does_not_depend_on_cuts_or_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "POOL", 50)
    numbers = np.random.default_rng(0).choice(2**40, 333, replace=False)
    whole = draw_pool(numbers, {"number": numbers})
    assert len(np.unique(whole["~number"])) == 50
    for size in (1, 10, 60, 400):
        cuts = [numbers[at : at + size] for at in range(0, 333, size)]
        pools = [draw_pool(part, {"number": part}) for part in cuts]
        for ordered in (pools, pools[::-1]):
            result = ordered[0]
            for pool in ordered[1:]:
                result = merge_pools(result, pool)
            for name, array in whole.items():
                assert_array_equal(result[name], array)


def test_merging_keeps_pools_sums_and_constants_apart() -> None:
    def piece(numbers: list[int]) -> dict[str, np.ndarray]:
        pool = draw_pool(np.array(numbers), {"number": np.array(numbers)})
        return {
            **{f"kind: one:{name}": array for name, array in pool.items()},
            **{f"kind: two:{name}": array[:1] for name, array in pool.items()},
            "kind: two:sum": np.array(len(numbers)),
            "3:=same": np.array(7),
        }

    result = added(piece([1, 2]), piece([3]))
    assert sorted(result["kind: one:~number"].tolist()) == [1, 2, 3]
    assert len(result["kind: two:~hash"]) == 2
    assert result["kind: two:sum"] == 3
    assert result["3:=same"] == 7
    assert result.keys() == piece([1]).keys()


def test_another_is_any_but_oneself() -> None:
    numbers = np.arange(6)
    pool = draw_pool(numbers, {"number": numbers})
    taken = pool["~number"][draw_other_rows(pool, numbers, (30_000,), seed=4)]
    for number in numbers:
        result, counts = np.unique(taken[number], return_counts=True)
        assert_array_equal(result, np.delete(numbers, number))
        assert_allclose(counts, 6000, rtol=0.06)
    assert draw_other_rows(pool, numbers, (), seed=4).shape == (6,)


def test_a_number_that_occurs_twice_is_not_another() -> None:
    pool = draw_pool(np.array([5, 5]), {})
    assert draw_other_rows(pool, np.array([5, 5, 6]), (), seed=0)[:2].tolist() == [-1, -1]
    assert len(pool[SAMPLE_HASH]) == 2
