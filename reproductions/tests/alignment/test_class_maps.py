"""Maps of classes add up to what the concepts give their output."""

import numpy as np
from numpy.testing import assert_allclose

from theodolite.explainers.concept_maps import concept_activation_maps
from theodolite_reproductions.alignment.class_maps import class_activation_maps


def test_the_map_of_a_class_adds_up_to_its_output() -> None:
    random = np.random.default_rng(0)
    features, vectors = random.normal(size=(3, 4, 5, 6)), random.normal(size=(2, 4))
    weights = random.normal(size=(3, 2))
    whole = class_activation_maps(concept_activation_maps(features, vectors), weights)
    values = features.mean(axis=(2, 3)) @ vectors.T
    assert_allclose(4 * whole.mean(axis=(1, 2)), (values * weights).sum(axis=1), atol=1e-12)
    maps = concept_activation_maps(features, vectors)
    assert_allclose(whole[1], weights[1, 0] * maps[1, 0] + weights[1, 1] * maps[1, 1])
