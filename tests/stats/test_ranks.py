"""Average ranks against scipy's."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata

from theodolite._stats.ranks import average_ranks


@given(st.integers(0, 2**32 - 1), st.integers(0, 4), st.integers(0, 12), st.sampled_from([0, 9]))
@settings(max_examples=60, deadline=None)
def test_ranks_are_those_of_scipy(seed: int, rows: int, n: int, decimals: int) -> None:
    values = np.random.default_rng(seed).normal(size=(rows, n)).round(decimals)
    expected = rankdata(values, axis=1) if values.size else np.zeros(values.shape)
    np.testing.assert_array_equal(average_ranks(values), expected)
    if rows:
        np.testing.assert_array_equal(average_ranks(values[0]), expected[0])
