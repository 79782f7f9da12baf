"""Are the most relevant tokens those that annotators marked?"""

import numpy as np

from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import rows_of
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.language.rationales._marked import (
    ASKED_AS,
    NULLS,
    USES,
    by_relevance,
    marked_share,
    shares,
)


@metric(
    "rationale_rank",
    title="Most relevant tokens in the rationale",
    version=1,
    question="located",
    asked_as=ASKED_AS,
    better="higher",
    bounds=(0.0, 1.0),
    uses=USES,
    nulls_use=("tokens",),
    reliable_from=0.8,
    nulls=NULLS,
    cite="deyoung2020eraser",
    card=Card(
        asks="Of as many most relevant tokens as people marked, how many did they mark?",
        read="A share of the marked tokens. From 0.8 on we would rely on it; a convention.",
        misleads="A network may go by other words than people would mark; a faithful relevance "
        "then lies elsewhere. Rare words are content words, so a map of rarity looks like an "
        "explanation: beat that first.",
        cost="one pass over the tokens",
        says="Of the tokens that are said to matter most, people marked {value} "
        "({low}–{high}{best}). {null}{enough}.",
    ),
)
class RationaleRank(SampleMean):
    r"""Share of marked tokens among as many most relevant ones, mean over sequences.

    .. math:: \frac{|M \cap \operatorname{top}_{|M|}(r)|}{|M|}

    Of equally relevant tokens the earlier. No token marked, or all: undefined.
    Rationales of this kind: :cite:t:`deyoung2020eraser`.

    Example:
        >>> from theodolite.metrics import rationale_rank
        >>> round(rationale_rank([[0.1, 0.5, -0.2, 0.3]], [[0, 1, 0, 1]]), 6)
        1.0
    """

    @staticmethod
    def each(evidence: TokenEvidence) -> PerSample:
        """The share of the most relevant tokens of each sequence that are marked."""
        relevance, rationale = rows_of(evidence.relevance), rows_of(evidence.rationale)
        order, n_marked = by_relevance(relevance), rationale.sums()
        place = np.arange(len(order)) - relevance.starts[:-1][relevance.row]
        first = place < n_marked[relevance.row]
        _, defined = marked_share(evidence)
        hits = relevance.sums(first & rationale.flat[order])
        return shares(hits / np.maximum(n_marked, 1), defined)
