"""Does one rater order explanations as the others do on average?"""

from typing import cast

import numpy as np
from jaxtyping import Float

from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.metrics.accepted._nulls import DEALT_OUT, of_all
from theodolite.metrics.accepted._ranks import spearman
from theodolite.metrics.base import Card, Pooled, metric, ratio


@metric(
    "rater_correlation",
    title="One rater against the others (Spearman)",
    version=1,
    question="accepted",
    better="higher",
    bounds=(-1.0, 1.0),
    uses=("ratings", "scale"),
    decides=False,
    nulls=(of_all(DEALT_OUT),),
    cite="kazmierczak2024benchmarking",
    card=Card(
        asks="Does one rater order explanations as the others do on average?",
        read="1 is the same order, 0 an unrelated one. A learned score of what people say is "
        "doing well where its own correlation with the votes comes near this one.",
        misleads="It is what one person reaches against the mean of few, and rises with their "
        "number. A learned score is compared with a mean of one more and can exceed it.",
        cost="one sort per rater",
    ),
)
class RaterCorrelation(Pooled):
    r"""Spearman's correlation of one rater with the mean of the others, the mean over raters.

    .. math:: \frac1R \sum_a \mathrm{corr}\bigl(\mathrm{rank}(r_a), \mathrm{rank}(\bar r_{-a})\bigr)

    :math:`r_a` are the votes of rater :math:`a`, :math:`\bar r_{-a}` the means of the others'.

    Each rater is compared over the explanations that somebody else rated, too. Raters for whom it
    is undefined (fewer than two explanations, or one and the same answer always) are left out. It
    is what a predictor of votes has as its human ceiling.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import rater_correlation
        >>> votes = np.array([[1.0, 2.0, 1.0], [4.0, 4.0, 5.0], [3.0, 5.0, 2.0], [2.0, 1.0, 3.0]])
        >>> round(rater_correlation(votes, np.arange(1.0, 6)), 6)
        0.587814
    """

    def counted(self) -> tuple[np.ndarray, np.ndarray]:
        """Explanations that entered, and those with no two votes to compare."""
        whole, weights = self._whole()
        evidence = cast(RatingEvidence, whole)
        known = (~np.isnan(evidence.ratings)).sum(axis=1) > 1
        return weights[:, known].sum(axis=1), weights[:, ~known].sum(axis=1)

    @staticmethod
    def measure(
        evidence: RatingEvidence, weights: Float[np.ndarray, "rows samples"]
    ) -> Float[np.ndarray, " rows"]:
        """The mean over raters, for each row of weights."""
        ratings = evidence.ratings
        has_vote = ~np.isnan(ratings)
        votes, sums = has_vote.sum(axis=1), np.where(has_vote, ratings, 0.0).sum(axis=1)
        coefficient_sum, known = np.zeros(len(weights)), np.zeros(len(weights))
        for rater in range(ratings.shape[1]):
            rows = np.flatnonzero(has_vote[:, rater] & (votes > 1))
            own = ratings[rows, rater]
            others = (sums[rows] - own) / (votes[rows] - 1)
            each = spearman(own, others.round(9), weights[:, rows])
            coefficient_sum += np.nan_to_num(each)
            known += ~np.isnan(each)
        return ratio(coefficient_sum, known)
