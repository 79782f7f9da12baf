"""Is what a map marks enough for the answer?"""

import math

from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.faithful.removal_faithfulness import ideal
from theodolite.metrics.option_types import Thresholds
from theodolite.metrics.shared.map_nulls import CHANCES
from theodolite.metrics.shared.removal import (
    CHANCE_CURVES,
    THRESHOLDS,
    Across,
    Removal,
    one_each,
    sufficient,
)

LEAST = math.exp(-1)
"""Where all confidence is lost at once."""


@metric(
    "removal_sufficiency",
    title="Sufficiency of the marked pixels",
    version=1,
    question="faithful",
    asked_as="Does the output depend on what the map marks?",
    better="higher",
    bounds=(LEAST, 1.0),
    uses=("clean", "percents", "least_first"),
    may_use=("removals",),
    nulls_use=("most_first", *CHANCE_CURVES),
    decides=False,
    ideal=ideal,
    nulls=CHANCES,
    cite="kazmierczak2024benchmarking",
    card=Card(
        asks="Does the answer stay without the pixels that are said not to matter?",
        read="1 if nothing changes, 0.37 if all confidence is lost at once. Compare it with the "
        "random map: the best over thresholds is near 1 for almost any map.",
        misleads="The smallest threshold decides: few irrelevant pixels hardly ever change "
        "an answer. Take across=mean to see the whole curve.",
        cost="one forward for each step and way; all thresholds share them",
    ),
)
class RemovalSufficiency(SampleMean):
    r"""How little the answer changes without the least relevant pixels, mean over pictures.

    .. math:: S = \max_t \exp(-\overline{d}_t)

    with changes :math:`\overline{d}_t` as in
    :func:`~theodolite.metrics.functions.faithful.removal_faithfulness`. See algorithm 1 of
    :cite:t:`kazmierczak2024benchmarking`.

    Example:
        >>> from theodolite.metrics import removal_sufficiency
        >>> round(removal_sufficiency([0.9], [1, 3], least_first=[[[0.8, 0.7]]]), 4)
        0.8607
    """

    @staticmethod
    def each(
        evidence: SaliencyEvidence,
        *,
        thresholds: Thresholds = THRESHOLDS,
        removal: Removal = "first",
        across: Across = "best",
    ) -> PerSample:
        """What each picture keeps."""
        return one_each(sufficient(evidence, thresholds, removal, across))
