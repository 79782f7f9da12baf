"""Is the most relevant token among those that annotators marked?"""

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
    "rationale_peak",
    title="Peak in the rationale",
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
        asks="Is the most relevant token among those that people marked?",
        read="A share of the sequences. From 0.8 on we would rely on it; a convention.",
        misleads="A network may go by other words than people would mark; a faithful relevance "
        "then lies elsewhere. Rare words are content words, so a map of rarity looks like an "
        "explanation: beat that first.",
        cost="one pass over the tokens",
    ),
)
class RationalePeak(SampleMean):
    r"""Share of sequences whose most relevant token is marked.

    .. math:: \frac1N \sum_s 1[\arg\max_t r_{st} \in M_s]

    Of equally relevant tokens the earliest. No token marked, or all: undefined.
    Rationales of this kind: :cite:t:`deyoung2020eraser`.

    Example:
        >>> from theodolite.metrics import rationale_peak
        >>> round(rationale_peak([[0.1, 0.5, -0.2, 0.3]], [[0, 1, 0, 1]]), 6)
        1.0
    """

    @staticmethod
    def each(evidence: TokenEvidence) -> PerSample:
        """Whether the most relevant token of each sequence is marked."""
        relevance, rationale = rows_of(evidence.relevance), rows_of(evidence.rationale)
        order = by_relevance(relevance)
        _, defined = marked_share(evidence)
        part = np.zeros(len(evidence))
        some = relevance.lengths > 0
        part[some] = rationale.flat[order[relevance.starts[:-1][some]]]
        return shares(part, defined)
