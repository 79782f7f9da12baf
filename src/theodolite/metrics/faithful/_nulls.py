"""Null baselines of the faithfulness scores."""

from theodolite.evidence.surrogate_settings import (
    always_the_average,
    pool_of_samples,
    random_concepts,
    random_importances,
    sum_of_outputs,
)
from theodolite.metrics.null_model import NullModel, from_another_sample

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
OTHER_SAMPLES = from_another_sample(
    "another sample's slope",
    "what the slope of the network at one sample says about another",
    "linearised",
)
BLIND = (RANDOM_CONCEPTS, AVERAGE)
"""For scores of the highest output alone, which random importances hardly change."""
ALL = (RANDOM_IMPORTANCES, *BLIND)
