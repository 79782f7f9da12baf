"""Does a map change when the network forgets all it learnt?"""

from dataclasses import replace

import numpy as np

from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.shared.map_nulls import NOTHING_IN_COMMON
from theodolite.metrics.shared.removal import one_each


@metric(
    "randomisation_similarity",
    title="Likeness to a random network's map",
    version=1,
    question="faithful",
    asked_as="Does the output depend on what the map marks?",
    better="lower",
    bounds=(-1.0, 1.0),
    uses=("randomised_similarity",),
    may_use=("randomised",),
    decides=False,
    tolerance=0.3,
    nulls=(NOTHING_IN_COMMON,),
    cite="adebayo2018sanity",
    card=Card(
        asks="Does the map look the same when the network's weights are random?",
        read="0 if the map becomes another one altogether, 1 if it stays: then it shows the "
        "picture or nothing, but not what the network learnt. Up to 0.3 is accepted; a convention.",
        misleads="Maps of the same picture share its edges, and all maps of a method its habits, "
        "such as the middle: some likeness is no proof of blindness, much of it is.",
        cost="one explanation of a network with random weights",
    ),
)
class RandomisationSimilarity(SampleMean):
    r"""Rank correlation of maps before and after the weights are drawn anew, mean over pictures.

    .. math:: \frac{1}{N} \sum_i \rho\bigl(|e_i|, |e_i^{\mathrm{random}}|\bigr)

    A map that stays as it was cannot tell what the network learnt. Undefined where a map is the
    same everywhere. See :cite:t:`adebayo2018sanity`.

    Example:
        >>> from theodolite.metrics import randomisation_similarity
        >>> randomisation_similarity([0.1, 0.5])
        0.3
    """

    @staticmethod
    def each(evidence: SaliencyEvidence) -> PerSample:
        """The likeness of each picture's two maps; undefined where one is the same everywhere."""
        per_sample = one_each(np.asarray(evidence.randomised_similarity, float))
        return (
            per_sample
            if evidence.randomised is None
            else replace(per_sample, asked=evidence.randomised)
        )
