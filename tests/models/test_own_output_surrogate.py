"""What concept values carry of outputs for other classes, with the answer planted."""

import numpy as np

from theodolite.models.own_output_surrogate import OUTPUTS, compute_own_output_surrogate


def test_own_output_surrogate_planted_directions_found_noise_not() -> None:
    random = np.random.default_rng(0)
    features = random.normal(size=(300, 40))
    directions = random.normal(size=(40, 3))
    values = features @ directions
    logits = values @ random.normal(size=(3, 60)) + 0.01 * random.normal(size=(300, 60))
    split = (np.arange(200), np.arange(200, 300))
    planted = compute_own_output_surrogate(logits, values, features, split)
    assert planted.value < 0.02 < planted.random_directions.min()
    assert len(planted.outputs) == OUTPUTS and len(planted.random_directions) == 20
    noise = compute_own_output_surrogate(logits, random.normal(size=(300, 3)), features, split)
    assert noise.value > planted.random_directions.min()
    assert noise.mean_predictor == planted.mean_predictor
    again = compute_own_output_surrogate(logits, values, features, split)
    assert np.array_equal(again.random_directions, planted.random_directions)
