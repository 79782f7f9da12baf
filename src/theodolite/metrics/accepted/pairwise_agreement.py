"""Do any two raters say the same?"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.metrics.accepted._bundle import nearest, quotient
from theodolite.metrics.accepted._kappa import SUMS, pair_sums, quadratic_kappa
from theodolite.metrics.accepted._nulls import DEALT_OUT
from theodolite.metrics.base import Additive, Card, Weights, metric, total


@metric(
    "pairwise_agreement",
    paper_names=("QWK",),
    title="Pairwise agreement (QWK)",
    version=1,
    question="accepted",
    better="higher",
    bounds=(-1.0, 1.0),
    uses=("ratings", "scale"),
    decides=False,
    nulls=(DEALT_OUT,),
    cite="cohen1968weighted",
    card=Card(
        asks="Do any two raters say the same?",
        read="1 is the same answers from everybody, 0 what raters with these habits would reach "
        "by chance. It does not depend on how many people rated each explanation, as agreement "
        "with a mode does.",
        misleads="Where raters are not identified the columns are positions in a list, and each "
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
    distances. A pair that rated nothing in common, or gave one and the same answer throughout, is
    undefined: left out, and counted. Each pair counts once, however much it rated.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import pairwise_agreement
        >>> votes = np.array([[1.0, 1.0, 2.0], [5.0, 4.0, 4.0], [3.0, 3.0, np.nan]])
        >>> round(pairwise_agreement(votes, np.arange(1.0, 6)), 6)
        0.860073
    """

    sums: np.ndarray

    counts_of: ClassVar[str] = "pairs of raters"

    @classmethod
    def of(cls, evidence: RatingEvidence, weights: Weights = None) -> "PairwiseAgreement":
        place = nearest(evidence.ratings, evidence.scale)
        has_vote, place = place >= 0, place.astype(float)
        rows = np.ones((1, len(has_vote))) if weights is None else weights
        sums = [np.zeros((len(rows), 0, SUMS))]
        for rater in range(has_vote.shape[1] - 1):
            rated = np.flatnonzero(has_vote[:, rater])  # few of all, where raters are many
            own = place[rated, rater, None]
            others, there = place[rated, rater + 1 :], has_vote[rated, rater + 1 :]
            each = pair_sums(np.broadcast_to(own, others.shape), others, there)
            sums.append(total(each, rows[:, rated]))
        joined = np.concatenate(sums, axis=1)
        return cls(joined[0] if weights is None else joined)

    def counted(self) -> tuple[np.ndarray, np.ndarray]:
        """Pairs that entered, and pairs that could not."""
        undefined = np.isnan(quadratic_kappa(self.sums))
        return np.asarray((~undefined).sum(axis=-1)), np.asarray(undefined.sum(axis=-1))

    def value(self) -> Float[np.ndarray, "*resamples"]:
        """The mean over pairs."""
        each = quadratic_kappa(self.sums)
        known = ~np.isnan(each)
        return quotient(np.where(known, each, 0.0).sum(axis=-1), known.sum(axis=-1))
