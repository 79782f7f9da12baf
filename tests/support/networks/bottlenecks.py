"""Small problems for bottlenecks, whose answers are known."""

from dataclasses import replace
from typing import Any

import numpy as np

from theodolite_reproductions.bottlenecks.model import build
from theodolite_reproductions.bottlenecks.settings import BottleneckSettings, LabeledFeatures
from theodolite_reproductions.bottlenecks.trained import (
    ConceptValues,
    TrainedBottleneck,
    intervention_values,
)


def majority(n: int = 400, seed: int = 0) -> LabeledFeatures:
    """Three concepts, each the sign of a number of which two inputs tell; the class has most."""
    z = np.random.default_rng(seed).normal(size=(n, 3))
    inputs = np.concatenate([np.sin(z) + z, np.cos(z) + z, (z**2).sum(1, keepdims=True)], axis=1)
    truth = z > 0
    return LabeledFeatures(
        inputs.astype(np.float32), truth, (truth.sum(axis=1) >= 2).astype(np.int64)
    )


def untrained(
    n: int = 40, n_concepts: int = 4, n_classes: int = 3, seed: int = 0, **settings: Any
) -> tuple[TrainedBottleneck, ConceptValues, np.ndarray, np.ndarray]:
    """A bottleneck with its first weights, what it says of noise, and truth and labels."""
    rng = np.random.default_rng(seed)
    chosen = BottleneckSettings(**settings)
    network = build(chosen, (5,), n_concepts, n_classes, seed=seed).eval()
    absent, present = intervention_values(chosen, n_concepts)
    trained = TrainedBottleneck(settings=chosen, network=network, absent=absent, present=present)
    said = trained.say(5 * rng.normal(size=(n, 5)).astype(np.float32))
    return trained, said, rng.random((n, n_concepts)) < 0.5, rng.integers(0, n_classes, n)


def first_rows(data: LabeledFeatures, n: int) -> LabeledFeatures:
    return replace(data, inputs=data.inputs[:n], truth=data.truth[:n], labels=data.labels[:n])
