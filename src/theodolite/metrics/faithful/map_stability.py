"""Does a map depend on the image and the network, and on nothing else?"""

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.faithful.map_removal import one_each
from theodolite.metrics.shared.map_nulls import ANOTHER_MAP, NOTHING_IN_COMMON

Form = Annotated[
    Literal["relative", "absolute"],
    Field(description="Change as a share of the map's size, or as it is."),
]
Noise = Annotated[
    Literal["first", "uniform", "gaussian"],
    Field(description="Which noise is read; first: the first in the evidence."),
]


@metric(
    "max_sensitivity",
    title="Max-sensitivity",
    version=1,
    question="faithful",
    asked_as="Does the output depend on what the map marks?",
    better="lower",
    bounds=(0.0, np.inf),
    uses=("norms", "changes"),
    may_use=("noises",),
    nulls_use=("chance_changes",),
    decides=False,
    nulls=(ANOTHER_MAP,),
    cite="yeh2019infidelity",
    card=Card(
        question="Does the map stay what it is when the image gets a little noise?",
        interpretation="0 if it does not move; 1 if it moves by its own length. Above what another "
        "image's map is away, the noise decides the map more than the image.",
        limitations="It is the worst of so many draws, and rises with their number: compare "
        "methods under the same number only. A map that is always the same is perfectly stable.",
        cost="one explanation for each draw",
    ),
)
class MaxSensitivity(SampleMean):
    r"""The largest change of a map under noise, mean over images.

    .. math:: \max_r \frac{\lVert e(x) - e(x + \varepsilon_r) \rVert_2}{\lVert e(x) \rVert_2}

    over the draws :math:`r` of the noise, the class that is explained being kept. ``absolute``
    leaves the denominator out, as :cite:t:`kazmierczak2024benchmarking` print it; their numbers are
    of the relative form. A map of nothing but zeros has no relative change: NaN. See
    :cite:t:`yeh2019infidelity`.

    Example:
        >>> from theodolite.metrics import max_sensitivity
        >>> changes = [[[0.5, 1.0]]]
        >>> max_sensitivity([2.0], changes), max_sensitivity([2.0], changes, form="absolute")
        (0.5, 1.0)
    """

    @staticmethod
    def each(
        evidence: SaliencyEvidence, *, form: Form = "relative", noise: Noise = "first"
    ) -> PerSample:
        """The largest change of each image's map; images that were not tried are not asked."""
        changes = np.asarray(evidence.changes)[:, _kind(evidence, noise)]
        tried = ~np.isnan(changes)
        largest = np.where(tried, changes, 0.0).max(axis=1)
        norms = np.asarray(evidence.norms, float) if form == "relative" else np.ones(len(evidence))
        eligible = tried.any(axis=1)
        defined = eligible & (norms > 0)
        shares = np.divide(largest, norms, out=np.zeros(len(evidence)), where=defined)
        return PerSample(shares, defined.astype(float), eligible)


def _kind(evidence: SaliencyEvidence, noise: Noise) -> int:
    names = evidence.noises.names
    if noise == "first":
        return 0
    if noise not in names:
        raise EvidenceError(f"noise={noise!r}", f"{list(names)}", "it in the evidence")
    return names.index(noise)


@metric(
    "randomization_similarity",
    title="Likeness to a random network's map",
    version=1,
    question="faithful",
    asked_as="Does the output depend on what the map marks?",
    better="lower",
    bounds=(-1.0, 1.0),
    uses=("randomized_similarity",),
    may_use=("randomized",),
    decides=False,
    tolerance=0.3,
    nulls=(NOTHING_IN_COMMON,),
    cite="adebayo2018sanity",
    card=Card(
        question="Does the map look the same when the network's weights are random?",
        interpretation="0 if the map becomes another one altogether, 1 if it stays: then it shows "
        "the image or nothing, but not what the network learned. Up to 0.3 is accepted; a "
        "convention.",
        limitations="Maps of the same image share its edges, and all maps of a method its habits, "
        "such as the middle: some likeness is no proof of blindness, much of it is.",
        cost="one explanation of a network with random weights",
    ),
)
class RandomizationSimilarity(SampleMean):
    r"""Rank correlation of maps before and after the weights are drawn anew, mean over images.

    .. math:: \frac{1}{N} \sum_i \rho\bigl(|e_i|, |e_i^{\mathrm{random}}|\bigr)

    A map that stays as it was cannot tell what the network learned. Undefined where a map is the
    same everywhere. See :cite:t:`adebayo2018sanity`.

    Example:
        >>> from theodolite.metrics import randomization_similarity
        >>> randomization_similarity([0.1, 0.5])
        0.3
    """

    @staticmethod
    def each(evidence: SaliencyEvidence) -> PerSample:
        """The likeness of each image's two maps; undefined where one is the same everywhere."""
        per_sample = one_each(np.asarray(evidence.randomized_similarity, float))
        return (
            per_sample
            if evidence.randomized is None
            else replace(per_sample, asked=evidence.randomized)
        )
