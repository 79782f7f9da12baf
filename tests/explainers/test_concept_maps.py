"""Concept activation maps: the worked example and the identity with the pooled value."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from theodolite.explainers.concept_maps import concept_activation_maps


def test_worked_example() -> None:
    features = np.array([[[[1, 2], [3, 4]], [[0, 1], [0, -1]]]], float)
    vectors = np.array([[1, 2], [0.5, -1], [0, 1]])
    maps = concept_activation_maps(features, vectors)[0]
    expected = [[[0.5, 2], [1.5, 1]], [[0.25, 0], [0.75, 1.5]], [[0, 0.5], [0, -0.5]]]
    assert_allclose(maps, expected, atol=5e-7)
    assert_allclose(2 * maps.mean(axis=(1, 2)), [2.5, 1.25, 0], atol=5e-7)


@given(shape=st.tuples(*[st.integers(1, 5)] * 5), seed=st.integers(0, 2**32 - 1))
def test_mean_times_channels_is_the_value_on_pooled_features(
    shape: tuple[int, ...], seed: int
) -> None:
    n, d, height, width, k = shape
    random = np.random.default_rng(seed)
    features, vectors = random.normal(size=(n, d, height, width)), random.normal(size=(k, d))
    maps = concept_activation_maps(features, vectors)
    naive = np.zeros((n, k, height, width))
    for i in range(n):
        for j in range(k):
            for channel in range(d):
                naive[i, j] += vectors[j, channel] * features[i, channel] / d
    assert_allclose(maps, naive, atol=1e-12)
    assert_allclose(d * maps.mean(axis=(2, 3)), features.mean(axis=(2, 3)) @ vectors.T, atol=1e-12)
