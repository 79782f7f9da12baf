"""Does one rater say what most of the others say?"""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.rating_summary import Ties, histogram, modes
from theodolite.metrics.accepted._bundle import nearest
from theodolite.metrics.accepted._kappa import SUMS, QuadraticKappa, pair_sums
from theodolite.metrics.accepted._nulls import DEALT_OUT
from theodolite.metrics.base import Card, Weights, metric

Own = Annotated[
    Literal["left out", "included"],
    Field(description="Whether a rater's own vote counts in the mode it is compared with."),
]


ModeTies = Annotated[
    Ties, Field(description="Of answers that are equally common: the lowest, the median, or none.")
]


@metric(
    "rater_agreement",
    paper_names=("QWK",),
    title="Agreement with the others' mode (QWK)",
    version=2,
    question="accepted",
    better="higher",
    bounds=(-1.0, 1.0),
    uses=("ratings", "scale"),
    decides=False,
    nulls=(DEALT_OUT,),
    cite="kazmierczak2024benchmarking",
    card=Card(
        asks="Does one rater say what most of the others say?",
        read="1 is the same answer always, 0 what raters with these habits would reach by chance. "
        "It is what a predictor of votes can be measured against: it cannot be expected to agree "
        "with people more than they do with each other.",
        misleads="With own=included a rater agrees with himself: 0.31 of nothing for five votes "
        "on five answers. Ties of the mode (a third of all patterns of five votes) go to the "
        "lowest answer unless you say otherwise.",
        cost="one mode per vote",
    ),
)
class RaterAgreement(QuadraticKappa):
    r"""Quadratic kappa of each vote with the mode of the votes on the same explanation.

    .. math:: \kappa = 1 - \frac{\sum_{ij} w_{ij} O_{ij}}{\sum_{ij} w_{ij} E_{ij}}, \qquad
        w_{ij} = \frac{(i - j)^2}{(k - 1)^2}

    :math:`O_{ij}` counts how often answer :math:`i` of the :math:`k` meets answer :math:`j`,
    :math:`E_{ij}` how often it would if the two were independent.

    ``own="included"`` takes the mode of all votes, the rater's own among them, as
    :cite:t:`kazmierczak2024benchmarking` do: with five votes at random on five answers that
    gives 0.31, not 0; explanations with a single vote, which is its own mode, are left out. By
    default the mode is that of the others. The authors draw one rater for each explanation; here
    every vote is compared, which is what their number varies around.

    Undefined if all votes and all modes are the same answer. A vote without another one beside it,
    or with a tied mode under ``ties="nan"``, is left out and counted.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import rater_agreement
        >>> votes = np.array([[1.0, 1.0, 2.0], [5.0, 5.0, 4.0], [3.0, 3.0, 3.0]])
        >>> round(rater_agreement(votes, np.arange(1.0, 6)), 6)
        0.888889
    """

    @classmethod
    def of(
        cls,
        evidence: RatingEvidence,
        weights: Weights = None,
        *,
        own: Own = "left out",
        ties: ModeTies = "lowest",
    ) -> "RaterAgreement":
        ratings, scale = evidence.ratings, evidence.scale
        counts = histogram(ratings, scale)
        each, alone = np.zeros((len(ratings), SUMS)), np.zeros(len(ratings))
        rows = np.arange(len(ratings))
        not_alone = counts.sum(axis=1) >= 2  # a single vote would be its own mode
        for rater in range(ratings.shape[1]):
            place = nearest(ratings[:, rater], scale)
            has_vote = place >= 0
            others = counts
            if own == "left out":
                others = counts.copy()
                others[rows[has_vote], place[has_vote]] -= 1
            mode = nearest(modes(others, scale, ties), scale)
            both = has_vote & (mode >= 0) & not_alone
            each += pair_sums(place.astype(float), mode.astype(float), both)
            alone += has_vote & ~both
        return cls.by(each, alone, weights)
