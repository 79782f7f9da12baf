"""Null baselines of the faithfulness scores."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from theodolite._stats.sampling import POOLED, another, pool_of
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.surrogate_settings import (
    always_the_average,
    pool_of_samples,
    random_concepts,
    random_importances,
    sum_of_outputs,
)
from theodolite.metrics.base import NullModel

RANDOM_IMPORTANCES = NullModel(
    "random_importances",
    "the same concepts, each with an importance drawn from 0 to 1",
    random_importances,
)
RANDOM_CONCEPTS = NullModel(
    "random_concepts",
    "random directions with importances drawn from 0 to 1",
    random_concepts,
    sums=pool_of_samples,
)
AVERAGE = NullModel(
    "constant_mean",
    "no concepts: whatever the sample, the average of what the network puts out",
    lambda evidence, seed, sums: always_the_average(evidence, sums),
    sums=sum_of_outputs,
    random=False,
)


def _some_slopes(evidence: SurrogateEvidence) -> dict[str, np.ndarray]:
    slopes = {"linearized": np.asarray(evidence.linearized)}
    return pool_of(np.asarray(evidence.samples.index), slopes, evidence.samples.clusters)


def _other_samples(
    evidence: SurrogateEvidence, seed: int, pool: Mapping[str, np.ndarray]
) -> SurrogateEvidence:
    samples = evidence.samples
    other = another(pool, np.asarray(samples.index), (), seed, samples.clusters)
    return replace(evidence, linearized=pool[f"{POOLED}linearized"][other])


OTHER_SAMPLES = NullModel(
    "another_sample",
    "what the slope of the network at one sample says about another",
    _other_samples,
    sums=_some_slopes,
    label="another sample's gradient",
)
BLIND = (RANDOM_CONCEPTS, AVERAGE)
"""For scores of the highest output alone, which random importances hardly change."""
ALL = (RANDOM_IMPORTANCES, *BLIND)
