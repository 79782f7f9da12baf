"""How much of what a map marks lies on the object?"""

import numpy as np

from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.shared.marked import ASKED_AS, NULLS, Sign, objects, relevance, shares


@metric(
    "relevance_mass",
    title="Relevance on the object",
    version=2,
    question="located",
    asked_as=ASKED_AS,
    better="higher",
    bounds=(0.0, 1.0),
    uses=("maps", "objects"),
    reliable_from=0.8,
    nulls=NULLS,
    cite="arras2022clevr",
    card=Card(
        asks="How much of the relevance lies on the object?",
        read="A share of the relevance. From 0.8 on we would rely on it; a convention. The middle "
        "of the picture is often the object: it must be beaten first.",
        misleads="A network may use the background, and a faithful map then marks it: a low share "
        "can be the network's fault. Large objects make any map look good, and a map that adds "
        "the same to every pixel, as RISE does, a poor one: its order is read by the rank.",
        cost="one sum over each map",
        says="{value} of the relevance lies on the object ({low}–{high}{best}). {null}{enough}.",
    ),
)
class RelevanceMass(SampleMean):
    r"""Share of the relevance that lies on the object, mean over pictures.

    .. math:: \frac{\sum_{p \in O} e^+_p}{\sum_p e^+_p}

    Only what speaks for the class counts, or with ``sign="absolute"`` what speaks for or against
    it. Undefined without an object and for maps of zeros. See :cite:t:`arras2022clevr`.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import relevance_mass
        >>> marked = np.array([[[3.0, 1.0], [0.0, -2.0]]])
        >>> relevance_mass(marked, marked > 2)
        0.75
    """

    @staticmethod
    def each(evidence: SaliencyEvidence, *, sign: Sign = "positive") -> PerSample:
        """The share on the object, for each picture."""
        marked, there = relevance(evidence, sign), objects(evidence)
        whole = marked.sum(axis=1)
        defined = (whole > 0) & there.any(axis=1)
        inside = np.where(there, marked, 0.0).sum(axis=1)
        part = np.divide(inside, whole, out=np.zeros(len(whole)), where=whole > 0)
        return shares(np.minimum(part, 1.0), defined)
