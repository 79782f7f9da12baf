"""Metrics of agreement between raters, by kappa and by correlation."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, cast

import numpy as np
from jaxtyping import Float
from pydantic import Field

from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.rating_summary import Ties, compute_modes, histogram
from theodolite.metrics.accepted._nulls import DEALT_OUT, of_all
from theodolite.metrics.accepted._ratings import (
    SUMS,
    QuadraticKappa,
    compute_quadratic_kappa,
    find_nearest_answer,
    rating_metric,
    spearman,
    sum_pairs,
)
from theodolite.metrics.base import Additive, Card, Pooled, Weights, ratio, total

Own = Annotated[
    Literal["left out", "included"],
    Field(description="Whether a rater's own vote counts in the mode it is compared with."),
]
ModeTies = Annotated[
    Ties, Field(description="Of answers that are equally common: the lowest, the median, or none.")
]


@rating_metric(
    "rater_agreement",
    paper_names=("QWK",),
    title="Agreement with the others' mode (QWK)",
    version=2,
    card=Card(
        question="Does one rater say what most of the others say?",
        interpretation="1 is the same answer always, 0 what raters with these habits would reach "
        "by chance. It is what a predictor of votes can be measured against: it cannot be expected "
        "to agree with people more than they do with each other.",
        limitations="With own=included a rater agrees with himself: 0.31 of nothing for five votes "
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
    :cite:t:`kazmierczak2024benchmarking` do: with five random ratings on five answers that
    gives 0.31, not 0; explanations with a single vote, which is its own mode, are left out. By
    default the mode is that of the others. The authors draw one rater for each explanation; here
    every vote is compared, which is what their number varies around.

    Undefined if all votes and all modes are the same answer. A vote without another one beside it,
    or with a tied mode under ``ties="nan"``, is left out and counted.

    Example:
        >>> from theodolite.metrics import rater_agreement
        >>> votes = [[1.0, 1.0, 2.0], [5.0, 5.0, 4.0], [3.0, 3.0, 3.0]]
        >>> round(rater_agreement(votes, scale=[1.0, 2, 3, 4, 5]), 6)
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
            place = find_nearest_answer(ratings[:, rater], scale)
            has_vote = place >= 0
            others = counts
            if own == "left out":
                others = counts.copy()
                others[rows[has_vote], place[has_vote]] -= 1
            mode = find_nearest_answer(compute_modes(others, scale, ties), scale)
            both = has_vote & (mode >= 0) & not_alone
            each += sum_pairs(place.astype(float), mode.astype(float), both)
            alone += has_vote & ~both
        return cls.by(each, alone, weights)


@rating_metric(
    "pairwise_agreement",
    paper_names=("QWK",),
    title="Pairwise agreement (QWK)",
    cite="cohen1968weighted",
    card=Card(
        question="Do any two raters say the same?",
        interpretation="1 is the same answers from everybody, 0 what raters with these habits "
        "would reach by chance. It does not depend on how many people rated each explanation, as "
        "agreement with a mode does.",
        limitations="Where raters are not identified the columns are positions in a list, and each "
        "pair mixes many people. Pairs with few explanations in common count as much as others.",
        cost="five sums per pair of raters: grows with the square of their number",
    ),
)
@dataclass(frozen=True)
class PairwiseAgreement(Additive):
    r"""Mean over pairs of raters of their quadratic kappa on what both rated.

    .. math:: \kappa = 1 - \frac{\sum_{ij} w_{ij} O_{ij}}{\sum_{ij} w_{ij} E_{ij}}, \qquad
        w_{ij} = \frac{(i - j)^2}{(k - 1)^2}

    :math:`O_{ij}` counts how often answer :math:`i` of the :math:`k` meets answer :math:`j`,
    :math:`E_{ij}` how often it would if the two were independent.

    Distances are those between positions on the full scale, whether or not an answer was given:
    Cohen's kappa :cite:p:`cohen1968weighted` of the answers that happen to occur has other
    distances. A pair that rated zero correlation, or gave one and the same answer throughout, is
    undefined: left out, and counted. Each pair counts once, however much it rated.

    Example:
        >>> from theodolite.metrics import pairwise_agreement
        >>> votes = [[1.0, 1.0, 2.0], [5.0, 4.0, 4.0], [3.0, 3.0, float("nan")]]
        >>> round(pairwise_agreement(votes, scale=[1.0, 2, 3, 4, 5]), 6)
        0.860073
    """

    sums: np.ndarray

    counts_of: ClassVar[str] = "pairs of raters"

    @classmethod
    def of(cls, evidence: RatingEvidence, weights: Weights = None) -> "PairwiseAgreement":
        place = find_nearest_answer(evidence.ratings, evidence.scale)
        has_vote, place = place >= 0, place.astype(float)
        rows = np.ones((1, len(has_vote))) if weights is None else weights
        sums = [np.zeros((len(rows), 0, SUMS))]
        for rater in range(has_vote.shape[1] - 1):
            rated = np.flatnonzero(has_vote[:, rater])  # few of all, where raters are many
            own = place[rated, rater, None]
            others, there = place[rated, rater + 1 :], has_vote[rated, rater + 1 :]
            each = sum_pairs(np.broadcast_to(own, others.shape), others, there)
            sums.append(total(each, rows[:, rated]))
        joined = np.concatenate(sums, axis=1)
        return cls(joined[0] if weights is None else joined)

    def counted(self) -> tuple[np.ndarray, np.ndarray]:
        """Pairs that entered, and pairs that could not."""
        undefined = np.isnan(compute_quadratic_kappa(self.sums))
        return np.asarray((~undefined).sum(axis=-1)), np.asarray(undefined.sum(axis=-1))

    def value(self) -> Float[np.ndarray, "*resamples"]:
        """Compute the mean over pairs of raters."""
        each = compute_quadratic_kappa(self.sums)
        known = ~np.isnan(each)
        return ratio(np.where(known, each, 0.0).sum(axis=-1), known.sum(axis=-1))


@rating_metric(
    "rater_correlation",
    title="One rater against the others (Spearman)",
    nulls=(of_all(DEALT_OUT),),
    card=Card(
        question="Does one rater order explanations as the others do on average?",
        interpretation="1 is the same order, 0 an unrelated one. A learned score of what people "
        "say is doing well where its own correlation with the votes comes near this one.",
        limitations="It is what one person reaches against the mean of few, and rises with their "
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
        >>> from theodolite.metrics import rater_correlation
        >>> votes = [[1.0, 2.0, 1.0], [4.0, 4.0, 5.0], [3.0, 5.0, 2.0], [2.0, 1.0, 3.0]]
        >>> round(rater_correlation(votes, scale=[1.0, 2, 3, 4, 5]), 6)
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
        """Compute the mean over raters for each row of weights."""
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
