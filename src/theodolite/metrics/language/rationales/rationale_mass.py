"""How much of the relevance lies on tokens that annotators marked?"""

import numpy as np

from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import rows_of
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.language.rationales._marked import (
    ASKED_AS,
    NULLS,
    USES,
    marked_share,
    shares,
)


@metric(
    "rationale_mass",
    title="Relevance in the rationale",
    version=1,
    question="located",
    asked_as=ASKED_AS,
    better="higher",
    bounds=(0.0, 1.0),
    uses=USES,
    nulls_use=("tokens",),
    reliable_from=0.8,
    decides=False,
    nulls=NULLS,
    cite="deyoung2020eraser",
    card=Card(
        asks="How much of the relevance lies on tokens that people marked?",
        read="A share of the relevance. From 0.8 on we would rely on it; a convention.",
        misleads="A network may go by other words than people would mark; a faithful relevance "
        "then lies elsewhere. Rare words are content words, so a map of rarity looks like an "
        "explanation: beat that first.",
        cost="one pass over the tokens",
    ),
)
class RationaleMass(SampleMean):
    r"""Share of the positive relevance that lies on marked tokens, mean over sequences.

    .. math:: \frac{\sum_{t \in M} r^+_t}{\sum_t r^+_t}

    Relevance below 0 counts as 0. No token marked, all marked, or no relevance above 0:
    undefined. Rationales of this kind: :cite:t:`deyoung2020eraser`.

    Example:
        >>> from theodolite.metrics import rationale_mass
        >>> round(rationale_mass([[0.1, 0.5, -0.2, 0.3]], [[0, 1, 0, 1]]), 6)
        0.888889
    """

    @staticmethod
    def each(evidence: TokenEvidence) -> PerSample:
        """The share of the relevance of each sequence that lies on marked tokens."""
        relevance, rationale = rows_of(evidence.relevance), rows_of(evidence.rationale)
        positive = np.maximum(relevance.flat.astype(float), 0.0)
        whole = relevance.sums(positive)
        _, defined = marked_share(evidence)
        inside = relevance.sums(positive * rationale.flat)
        part = np.divide(inside, whole, out=np.zeros(len(whole)), where=whole > 0)
        return shares(np.minimum(part, 1.0), defined & (whole > 0))
