"""Attributions of a model of a table, whose true weights are known."""

import numpy as np

from theodolite.evidence.kinds.attribution import AttributionEvidence

FEATURES = 5


def planted_attributions(n: int = 200, seed: int = 0) -> AttributionEvidence:
    """Inputs times weights, as a linear model uses them, and noisier attributions beside these.

    >>> planted_attributions(10).values.shape
    (10, 5)
    """
    random = np.random.default_rng(seed)
    weights = random.normal(size=FEATURES)
    inputs, background = random.normal(size=(n, FEATURES)), random.normal(size=(8, FEATURES))
    values = (inputs - background.mean(axis=0)) * weights
    noise = random.normal(size=(3, n, FEATURES))
    return AttributionEvidence(
        values=values, inputs=inputs, background=background,
        base=np.full(n, float((background @ weights).mean())) + 0.1 * noise[0, :, 0],
        repeat_values=values + 0.2 * noise[0], other_method_values=values + 0.5 * noise[1],
        randomised_values=noise[2], respond=lambda rows: rows @ weights,
    )  # fmt: skip
