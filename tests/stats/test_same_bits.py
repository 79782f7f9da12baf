"""The compiled library gives the bits of numpy: over sizes, ties, lone labels, one to three
neighbors."""

import os
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theodolite._stats import predictive, predictive_pairs
from theodolite._stats.groups import SampleGroups, sum_groups, sum_resampled_groups
from theodolite._stats.information import (
    Columns,
    ksg_terms,
    pair_terms,
    ross_columns,
    ross_many,
    ross_terms,
)
from theodolite._stats.native import functions, library
from theodolite._stats.neighbors import label_vector_terms, stratified_pair_terms
from theodolite._stats.predictive import predictive_terms
from theodolite._stats.predictive_pairs import predictive_pair_terms
from theodolite._stats.resampling import draw_poisson_counts
from theodolite._stats.shuffles import ClusterRows
from theodolite._verdicts.conflicts.excess import _joint_counts
from theodolite.metrics.leak_free._terms import _terms_of_cells
from theodolite.metrics.shared import places

pytestmark = pytest.mark.skipif(library.load_library() is None, reason="no compiled library here")
cases = st.tuples(
    st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 3), st.sampled_from([0, 1, 9])
)
"""Seed, samples, neighbors, and decimals that values have: few make many ties."""
short = settings(max_examples=int(os.environ.get("THEODOLITE_EXAMPLES", "40")), deadline=None)


def both(work: Callable[[], Any]) -> tuple[Any, Any]:
    """What the library gives, and what numpy does."""
    answers = []
    for chosen in ("native", "numpy"):
        with patch.dict(os.environ, {library.KERNELS_VARIABLE: chosen}):
            assert library.get_kernels() == chosen
            answers.append(work())
    return answers[0], answers[1]


def assert_same_bits(work: Callable[[], Any]) -> None:
    native, numpy = both(work)
    np.testing.assert_array_equal(native, numpy)


def blocks(parts: Any) -> np.ndarray:
    return np.concatenate([np.asarray(part) for _, part in parts], axis=-2)


@given(cases)
@short
def test_columns(case: tuple[int, int, int, int]) -> None:
    seed, n, k, decimals = case
    random = np.random.default_rng(seed)
    values = random.normal(size=(n, 3)).round(decimals) * 10.0 ** random.integers(-200, 200)
    labels, strata = random.integers(0, 4, n), random.integers(0, 2, (3, n))
    pairs = np.array([(0, 1), (0, 2), (1, 2), (1, 1)])
    assert_same_bits(lambda: blocks(pair_terms(Columns(values), pairs, k=k)))
    assert_same_bits(lambda: ross_columns(values, labels, k=k))
    assert_same_bits(lambda: blocks(stratified_pair_terms(values, pairs, strata, k=k)))
    cells = random.normal(size=(4, 4))
    assert_same_bits(lambda: _terms_of_cells(strata.astype(np.uint8), pairs, cells))


@given(cases)
@short
def test_vectors(case: tuple[int, int, int, int]) -> None:
    seed, n, k, decimals = case
    random = np.random.default_rng(seed)
    values = random.normal(size=(n, 5)).round(decimals)
    labels, flags = random.integers(0, 4, n), random.random((n, 3)) < 0.5
    assert_same_bits(lambda: ross_terms(values, labels, k=k))
    assert_same_bits(lambda: ksg_terms(values[:, :2], values[:, 2:], k=k))
    assert_same_bits(lambda: ross_many(values, flags, k=k))
    assert_same_bits(lambda: label_vector_terms(values, labels, k=k))


@given(cases)
@short
def test_sums_and_draws(case: tuple[int, int, int, int]) -> None:
    seed, n, width, _ = case
    random = np.random.default_rng(seed)
    each, groups = random.normal(size=(n, width)), SampleGroups(random.integers(-1, 5, n), 5)
    assert_same_bits(lambda: sum_groups(each, groups))
    times = random.poisson(1, (7, n)).astype(float)
    assert_same_bits(lambda: sum_resampled_groups(times, each))
    keys = random.integers(-(2**62), 2**62, n)
    assert_same_bits(lambda: draw_poisson_counts(keys, 20, seed=seed % 1000))


@given(cases)
@short
def test_deals_of_clusters(case: tuple[int, int, int, int]) -> None:
    seed, n, _, _ = case
    random = np.random.default_rng(seed)
    clustered = ClusterRows.from_clusters(random.integers(0, 6, n))
    orders = clustered.draw_orders(random, 5)
    turns = random.integers(clustered.sizes[orders])
    good, bad = random.random((2, n)) < 0.5
    assert_same_bits(lambda: _joint_counts(good, bad, clustered, orders, turns))


@given(cases, st.integers(1, 5), st.integers(1, 5))
@short
def test_pixels(case: tuple[int, int, int, int], height: int, width: int) -> None:
    seed, n, _, decimals = case
    random = np.random.default_rng(seed)
    maps = random.normal(size=(n, height, width)).round(decimals)
    sizes = random.integers(1, 30, (n, 2))
    pixels = random.integers(0, sizes)
    native, numpy = np.empty((2, n, 3), np.int64)
    functions.pixel_ranks(maps, sizes, pixels, native)
    places.rank_pixels(maps, sizes, pixels, numpy)
    np.testing.assert_array_equal(native, numpy)


@given(cases, st.booleans())
@short
def test_predictions_agree_to_the_last_digits(
    case: tuple[int, int, int, int], clustered: bool
) -> None:
    """They add up in another order; that few samples take numpy is undone here."""
    seed, n, _, decimals = case
    random = np.random.default_rng(seed)
    values = random.normal(size=(n, 3)).round(decimals)
    labels, strata = random.integers(0, 3, n), random.integers(-1, 2, (3, n))
    clusters = random.integers(0, max(n // 3, 1), n) if clustered else None
    pairs = np.array([(0, 1), (2, 1)])
    with (
        patch.object(predictive, "SMALL_TERMS", -1),
        patch.object(predictive_pairs, "SMALL_TERMS", -1),
    ):
        alone = both(lambda: predictive_terms(values, labels, clusters, strata))
        together = both(lambda: blocks(predictive_pair_terms(values, pairs, clusters, strata)))
    for side in ("out", "inside", "surprise"):
        np.testing.assert_allclose(
            *(getattr(terms, side) for terms in alone), rtol=1e-9, atol=1e-10
        )
    np.testing.assert_allclose(*together, rtol=1e-9, atol=1e-10)
