"""Is what a map marks needed for the answer?"""

import numpy as np

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
    necessary,
    one_each,
)


@metric(
    "removal_necessity",
    title="Necessity of the marked pixels",
    version=1,
    question="faithful",
    asked_as="Does the output depend on what the map marks?",
    better="higher",
    bounds=(0.0, 1.0 - float(np.exp(-1))),
    uses=("clean", "percents", "most_first"),
    may_use=("removals",),
    nulls_use=("least_first", *CHANCE_CURVES),
    decides=False,
    ideal=ideal,
    nulls=CHANCES,
    cite="kazmierczak2024benchmarking",
    card=Card(
        asks="Does the answer change without the pixels that are said to matter?",
        read="0.63 if all confidence is lost at once, 0 if nothing changes. Compare it with the "
        "random map: large parts of any picture, removed anyhow, change the answer.",
        misleads="Pictures with pixels removed are unlike any that the network knows, and it may "
        "change its mind for that alone.",
        cost="one forward for each step and way; all thresholds share them",
    ),
)
class RemovalNecessity(SampleMean):
    r"""How much the answer changes without the most relevant pixels, mean over pictures.

    .. math:: N = \max_t \bigl(1 - \exp(-\overline{d}_t)\bigr)

    with changes :math:`\overline{d}_t` as in
    :func:`~theodolite.metrics.functions.faithful.removal_faithfulness`. See algorithm 1 of
    :cite:t:`kazmierczak2024benchmarking`.

    Example:
        >>> from theodolite.metrics import removal_necessity
        >>> round(removal_necessity([0.9], [1, 3], most_first=[[[0.6, 0.2]]]), 4)
        0.3935
    """

    @staticmethod
    def each(
        evidence: SaliencyEvidence,
        *,
        thresholds: Thresholds = THRESHOLDS,
        removal: Removal = "first",
        across: Across = "best",
    ) -> PerSample:
        """What each picture loses."""
        return one_each(necessary(evidence, thresholds, removal, across))
