"""Are the most relevant pixels those of the object?"""

import numpy as np

from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.shared.marked import ASKED_AS, NULLS, Sign, objects, relevance, shares


@metric(
    "relevance_rank",
    title="Highest pixels on the object",
    version=2,
    question="located",
    asked_as=ASKED_AS,
    better="higher",
    bounds=(0.0, 1.0),
    uses=("maps", "objects"),
    reliable_from=0.8,
    decides=False,
    nulls=NULLS,
    cite="arras2022clevr",
    card=Card(
        asks="Are the most relevant pixels those of the object?",
        read="1 if the map ranks every pixel of the object above all others. It does not mind "
        "how large the numbers are, only their order.",
        misleads="Maps with many zeros are ranked by chance from there on, which is counted as "
        "the mean over all orders. Large objects make any map look good.",
        cost="one sort of each map",
    ),
)
class RelevanceRank(SampleMean):
    r"""Of as many most relevant pixels as the object has, the share that are its own.

    .. math:: \frac{|\mathrm{top}_{|O|}(e) \cap O|}{|O|}

    Where equal pixels straddle the line, the mean over all ways to take some of them. Undefined
    without an object and for maps of zeros. See :cite:t:`arras2022clevr`.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import relevance_rank
        >>> marked = np.array([[[3.0, 1.0], [0.5, 0.0]]])
        >>> relevance_rank(marked, np.array([[[True, False], [True, False]]]))
        0.5
    """

    @staticmethod
    def each(evidence: SaliencyEvidence, *, sign: Sign = "positive") -> PerSample:
        """The share of hits, for each picture."""
        marked, there = relevance(evidence, sign), objects(evidence)
        n = there.sum(axis=1)
        ordered = -np.sort(-marked, axis=1)
        line = np.take_along_axis(ordered, np.maximum(n - 1, 0)[:, None], axis=1)
        above, level = marked > line, marked == line
        left = n - above.sum(axis=1)  # places that are dealt out among the equal ones
        share = (level & there).sum(axis=1) / np.maximum(level.sum(axis=1), 1)
        hits = (above & there).sum(axis=1) + left * share
        return shares(hits / np.maximum(n, 1), (n > 0) & marked.any(axis=1))
