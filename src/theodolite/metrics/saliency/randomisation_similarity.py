"""Does a map change when the network forgets all it learnt?"""

from typing import Any

import numpy as np

from theodolite.contracts.saliency import SaliencyEvidence
from theodolite.metrics._base import Card, PerSample, SampleMean, metric
from theodolite.metrics.saliency._nulls import UNRELATED
from theodolite.metrics.saliency._removal import one_each


def randomisation_similarity(evidence: SaliencyEvidence, **options: Any) -> float:
    r"""Rank correlation of maps before and after the weights are drawn anew, mean over pictures.

    .. math:: \frac{1}{N} \sum_i \rho\bigl(|e_i|, |e_i^{\mathrm{random}}|\bigr)

    A map that stays as it was cannot tell what the network learnt. Undefined where a map is the
    same everywhere. See :cite:t:`adebayo2018sanity`.

    Example:
        >>> evidence = SaliencyEvidence(
        ...     maps=np.ones((2, 2, 2)), randomised_similarity=[0.1, 0.5], chance_similarity=[0, 0]
        ... )
        >>> randomisation_similarity(evidence)
        0.3
    """
    state: RandomisationSimilarity = RandomisationSimilarity.of(evidence, **options)
    return float(state.value())


@metric(
    "randomisation_similarity",
    title="Likeness to a random network's map",
    version=1,
    question="faithful",
    asked_as="Does the output depend on what the map marks?",
    better="lower",
    bounds=(-1.0, 1.0),
    uses=("randomised_similarity", "chance_similarity"),
    decides=False,
    tolerance=0.1,
    baselines=(UNRELATED,),
    cite="adebayo2018sanity",
    card=Card(
        asks="Does the map look the same when the network's weights are random?",
        read="Near the likeness of two different pictures' maps, the map depends on what the "
        "network learnt. Up to 0.1 more is accepted; a convention.",
        misleads="Maps of the same picture share its edges, whatever the network: some likeness "
        "more than between pictures is no proof of blindness, much of it is.",
        cost="one explanation of a network with random weights",
    ),
)
class RandomisationSimilarity(SampleMean):
    """Sums of rank correlations."""

    @staticmethod
    def each(evidence: SaliencyEvidence) -> PerSample:
        """The likeness of each picture's two maps; NaN, where it could not be had, is counted."""
        return one_each(np.asarray(evidence.randomised_similarity, float))
