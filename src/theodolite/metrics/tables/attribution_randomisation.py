"""Do attributions change when the model has learnt nothing?"""

from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite._stats.ranks import average_ranks
from theodolite.evidence.attributions.orders import grouped_values
from theodolite.evidence.kinds.attribution import AttributionEvidence
from theodolite.metrics.base import Card, NullModel, PerSample, SampleMean, metric
from theodolite.metrics.tables._removal import each_of


def _likeness(evidence: AttributionEvidence) -> Float[np.ndarray, " samples"]:
    """Spearman's correlation over features; NaN where all of one are equal."""
    centred = []
    for array in (evidence.values, evidence.randomised_values):
        strength = np.abs(grouped_values(np.asarray(array), evidence.groups))
        ranks = average_ranks(strength)
        centred.append(ranks - ranks.mean(axis=1, keepdims=True))
    first, second = centred
    sizes = np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
    alike = np.full(len(sizes), np.nan)
    np.divide((first * second).sum(axis=1), sizes, out=alike, where=sizes > 0)
    return np.asarray(np.clip(alike, -1.0, 1.0))


def _nothing_in_common(evidence: AttributionEvidence, **options: Any) -> PerSample:
    del options
    return each_of(0.0 * _likeness(evidence))


NOTHING_IN_COMMON = NullModel(
    "nothing in common",
    "attributions that are others altogether when the model has learnt nothing",
    expected=_nothing_in_common,
    random=False,
    clean=True,
)


@metric(
    "attribution_randomisation",
    title="Likeness to attributions of a model of shuffled labels",
    version=1,
    question="faithful",
    asked_as="Does the model use the features that the attribution names?",
    better="lower",
    bounds=(-1.0, 1.0),
    uses=("values", "randomised_values"),
    may_use=("groups",),
    decides=False,
    tolerance=0.3,
    nulls=(NOTHING_IN_COMMON,),
    cite="adebayo2018sanity",
    card=Card(
        asks="Are attributions the same when the model was trained on shuffled labels?",
        read="0 if they become others altogether, 1 if the order of features stays: then it "
        "shows the data or the method, but not what the model learnt. Up to 0.3 is accepted; a "
        "convention.",
        misleads="Features of large spread, or with many values, may get more from any model: "
        "some likeness is no proof of blindness, much of it is.",
        cost="one more model, trained on shuffled labels, and its explanations",
    ),
)
class AttributionRandomisation(SampleMean):
    r"""Rank correlation with attributions of a model of shuffled labels, mean over samples.

    .. math:: \frac1N \sum_i \rho\bigl(|a_i|, |a_i^{\mathrm{shuffled}}|\bigr)

    Over the features of a sample; equal ones share their rank. Undefined where all features of a
    sample have one attribution. The data randomisation test of :cite:t:`adebayo2018sanity`.

    Example:
        >>> from theodolite.metrics import attribution_randomisation
        >>> attribution_randomisation([[3.0, 2.0, 1.0]], [[1.0, 2.0, -3.0]])
        -1.0
    """

    @staticmethod
    def each(evidence: AttributionEvidence) -> PerSample:
        """Each sample's rank correlation."""
        return each_of(_likeness(evidence))
