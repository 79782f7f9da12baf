"""Does the answer depend on the pixels that a map marks, and on them alone?"""

from dataclasses import replace

import numpy as np

from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.option_types import Thresholds
from theodolite.metrics.shared.map_nulls import CHANCES
from theodolite.metrics.shared.removal import (
    CHANCE_CURVES,
    CURVES,
    THRESHOLDS,
    Across,
    Removal,
    necessary,
    one_each,
    sufficient,
)

MOST = float(2 * (1 - np.exp(-1)) / (2 - np.exp(-1)))
"""Reached where the answer is lost at once and nothing else matters."""


def ideal(evidence: SaliencyEvidence) -> SaliencyEvidence:
    """A map without whose pixels the answer is another, and with them all of it.

    A change counts whichever way it goes: of an answer with less than half the probability most is
    changed if it becomes certain.
    """
    clean = np.asarray(evidence.clean)[:, None, None]
    shape = np.asarray(evidence.most_first).shape
    gone = np.where(clean < 0.5, 1.0, 0.0)
    return replace(
        evidence,
        most_first=np.broadcast_to(gone, shape),
        least_first=np.broadcast_to(clean, shape),
    )


@metric(
    "removal_faithfulness",
    title="Removal faithfulness",
    version=2,
    question="faithful",
    asked_as="Does the output depend on what the map marks?",
    better="higher",
    bounds=(0.0, MOST),
    uses=CURVES,
    may_use=("removals",),
    nulls_use=CHANCE_CURVES,
    reliable_from=0.5,
    ideal=ideal,
    nulls=CHANCES,
    cite="kazmierczak2024benchmarking",
    card=Card(
        asks="Does the answer change without the marked pixels, and only without them?",
        read="0.77 is the most there can be; what a map without fault reaches on these pictures "
        "is marked. From half of that on we would rely on it; a convention.",
        misleads="Pictures with pixels removed are unlike any that the network knows: it may "
        "change its mind for that alone, which is why maps that know nothing stand beside it: "
        "noise, which filling in all but undoes, broad hills, and the middle of the picture. "
        "Sufficiency is near 1 for any map, as a few irrelevant pixels change nothing; so the "
        "number is nearly a matter of necessity.",
        cost="one forward for each step, way and direction; all thresholds share them",
        says="Removing what the map marks first changes the answer by {value} more than removing "
        "it last ({low}–{high}{best}). {null}{enough}.",
    ),
)
class RemovalFaithfulness(SampleMean):
    r"""Harmonic mean of sufficiency and necessity, mean over pictures.

    .. math:: F = \frac{2 S N}{S + N}, \qquad
        S = \max_t e^{-\overline{d}^{\,\mathrm{least}}_t}, \quad
        N = \max_t \bigl(1 - e^{-\overline{d}^{\,\mathrm{most}}_t}\bigr)

    :math:`\overline{d}_t` is the mean of :math:`|p(\hat y|x) - p(\hat y|x')|` over all pictures
    :math:`x'` with less than :math:`t` per cent of the pixels removed, the least or the most
    relevant first. Thresholds below the first step have no such picture and are left out. Follows
    algorithm 1 of :cite:t:`kazmierczak2024benchmarking`, which prints the maximum over the last
    list of changes where that over thresholds is meant.

    Example:
        >>> from theodolite.metrics import removal_faithfulness
        >>> most_first, least_first = [[[0.6, 0.2]]], [[[0.9, 0.8]]]
        >>> round(removal_faithfulness([0.9], [1, 3], most_first, least_first), 4)
        0.5567
    """

    @staticmethod
    def each(
        evidence: SaliencyEvidence,
        *,
        thresholds: Thresholds = THRESHOLDS,
        removal: Removal = "first",
        across: Across = "best",
    ) -> PerSample:
        """The harmonic mean of each picture."""
        sufficiency = sufficient(evidence, thresholds, removal, across)
        necessity = necessary(evidence, thresholds, removal, across)
        return one_each(
            2 * sufficiency * necessity / (sufficiency + necessity)
        )  # sufficiency is never 0
