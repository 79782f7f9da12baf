"""Does a map peak on the object?"""

import numpy as np

from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.shared.marked import ASKED_AS, NULLS_OF_PEAKS, flattened, objects, shares


@metric(
    "relevance_peak",
    title="Peak on the object (pointing game)",
    version=2,
    question="located",
    asked_as=ASKED_AS,
    better="higher",
    bounds=(0.0, 1.0),
    uses=("maps", "objects"),
    reliable_from=0.9,
    decides=False,
    nulls=NULLS_OF_PEAKS,
    cite="zhang2018excitation",
    card=Card(
        asks="Does the map peak on the object?",
        read="A share of the pictures; one pixel of each map decides. The middle of the picture "
        "is often the object: it must be beaten first.",
        misleads="Maps that mark everything pass as well, if they mark the object a little more.",
        cost="one maximum per map",
    ),
)
class RelevancePeak(SampleMean):
    r"""Share of pictures whose map is highest on the object: the pointing game.

    .. math:: \frac{\#\{i : \arg\max_p e_i(p) \in O_i\}}{\#\{i\}}

    Where several pixels are highest, the share of them that are on the object. Undefined without
    an object and for maps in which all pixels are alike. See :cite:t:`zhang2018excitation`.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import relevance_peak
        >>> relevance_peak(np.array([[[3.0, 1.0]]]), np.array([[[True, False]]]))
        1.0
    """

    @staticmethod
    def each(evidence: SaliencyEvidence) -> PerSample:
        """Whether each map peaks on the object."""
        maps, there = flattened(evidence.maps), objects(evidence)
        highest = maps == maps.max(axis=1, keepdims=True)
        hits = (highest & there).sum(axis=1) / np.maximum(highest.sum(axis=1), 1)
        return shares(hits, there.any(axis=1) & ~highest.all(axis=1))
