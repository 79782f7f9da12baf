"""Values dealt out by whole clusters."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from theodolite._stats.shuffles import ClusterRows, group_by_size, permute_rows

ROWS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), min_size=1, max_size=30)


@settings(max_examples=100, deadline=None)
@given(ROWS, st.integers(0, 2**32))
def test_a_deal_takes_whole_clusters_from_any_row_on(
    rows: list[tuple[int, int]], seed: int
) -> None:
    """By the words of the definition: some cluster of the stratum, from some row on, in turn."""
    clusters, strata = np.array(rows).T
    sources = permute_rows(clusters, np.random.default_rng(seed), strata)
    for stratum in set(strata):
        places = {c: np.flatnonzero((clusters == c) & (strata == stratum))
                  for c in clusters[strata == stratum]}  # fmt: skip
        givers = []
        for own in places.values():
            first = sources[own[0]]
            giver = places[clusters[first]]
            turn = list(giver).index(first)
            assert strata[first] == stratum
            assert list(sources[own]) == [giver[(r + turn) % len(giver)] for r in range(len(own))]
            givers.append(clusters[first])
        assert sorted(givers) == sorted(places)  # each is dealt once


def test_single_rows_are_permuted_and_all_orders_are_as_likely() -> None:
    random = np.random.default_rng(0)
    drawn = [tuple(permute_rows(np.array([7, 3, 5]), random)) for _ in range(1200)]
    counts = [drawn.count(order) for order in itertools.permutations(range(3))]
    assert sum(counts) == 1200
    assert max(abs(np.array(counts) - 200)) < 52  # four standard errors


def test_starts_are_as_likely() -> None:
    random = np.random.default_rng(0)
    first = [int(permute_rows(np.zeros(4, int), random)[0]) for _ in range(800)]
    assert max(abs(np.bincount(first) - 200)) < 50


def test_the_order_of_rows_does_not_matter() -> None:
    clusters = np.array([4, 1, 1, 4, 2, 4])
    whole = clusters[permute_rows(clusters, np.random.default_rng(3))]
    order = np.array([5, 2, 0, 4, 1, 3])
    other = clusters[order][permute_rows(clusters[order], np.random.default_rng(3))]
    assert_array_equal(other, whole[order])


def test_equal_clusters_keep_every_value() -> None:
    clusters = np.repeat(np.arange(6), 4)
    prepared, random = ClusterRows.from_clusters(clusters), np.random.default_rng(2)
    for _ in range(20):
        assert_array_equal(np.sort(prepared.permute(random)), np.arange(24))


def test_every_order_once_the_own_first() -> None:
    prepared = ClusterRows.from_clusters(np.repeat(np.arange(6), 2), np.repeat([0, 1, 1], 4))
    orders = prepared.list_orders()
    assert (prepared.n_orders, len({tuple(order) for order in orders})) == (48, 48)
    assert_array_equal(orders[0], np.arange(6))
    assert (np.sort(orders[:, :2], axis=1) == [0, 1]).all()
    assert (np.sort(orders[:, 2:], axis=1) == [2, 3, 4, 5]).all()
    assert {tuple(order) for order in prepared.draw_orders(np.random.default_rng(0), 2000)} == {
        tuple(order) for order in orders
    }
    assert ClusterRows.from_clusters(np.arange(100)).n_orders > 10**8


def test_a_deal_by_a_known_order() -> None:
    prepared = ClusterRows.from_clusters(np.array([1, 0, 1]))
    assert_array_equal(prepared.get_rows(np.arange(2), np.zeros(2, int)), np.arange(3))
    assert_array_equal(prepared.get_rows(np.array([1, 0]), np.zeros(2, int)), [1, 0, 1])
    assert_array_equal(prepared.get_rows(np.array([1, 0]), np.array([1, 0])), [1, 2, 1])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=12))
def test_clusters_of_like_size(sizes: list[int]) -> None:
    strata = group_by_size(np.repeat(np.arange(len(sizes)), sizes))
    first = np.cumsum([0, *sizes[:-1]])
    own: dict[int, list[int]] = {}
    for stratum, size in zip(strata[first], sizes, strict=True):
        own.setdefault(int(stratum), []).append(size)
    assert all(max(group) <= 1.5 * min(group) for group in own.values())
    ordered = [own[stratum] for stratum in sorted(own)]
    for larger, smaller in itertools.pairwise(ordered):
        assert max(larger) > 1.5 * max(smaller)  # else it would have fitted


def test_nothing_to_deal() -> None:
    assert permute_rows(np.zeros(0, int), np.random.default_rng(0)).shape == (0,)


@pytest.mark.parametrize("strata", [None, np.array([0, 0, 1])])
def test_inputs_stay_as_they_are(strata: np.ndarray | None) -> None:
    clusters = np.array([2, 1, 2])
    before = clusters.copy()
    permute_rows(clusters, np.random.default_rng(0), strata)
    assert_array_equal(clusters, before)
