"""Does a judge disturb the agreement of people when it votes with them?"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.metrics.accepted._bundle import nearest
from theodolite.metrics.accepted._nulls import OTHER_PREDICTION
from theodolite.metrics.accepted.krippendorff_alpha import KrippendorffAlpha, Level
from theodolite.metrics.base import Additive, Card, Weights, constant, metric, total


@metric(
    "judge_agreement",
    title="Agreement of a judge with people",
    version=1,
    question="accepted",
    better="higher",
    bounds=(-2.0, 2.0),
    uses=("ratings", "scale", "predicted"),
    decides=False,
    nulls=(OTHER_PREDICTION,),
    cite="krippendorff2018content",
    card=Card(
        asks="Do people and a judge agree as much as people do among themselves?",
        read="0 is a judge who agrees with people as they agree with each other; above 0 it "
        "agrees more, below 0 it disturbs them. It may stand in for people only where its kappa "
        "(predicted_rating_agreement) reaches that of a person with the others (rater_agreement).",
        misleads="With many people one more vote hardly counts, so that it is near 0 for any "
        "judge: compare with answers dealt out.",
        cost="two tables of answers by answers",
    ),
)
@dataclass(frozen=True)
class JudgeAgreement(Additive):
    r"""Krippendorff's alpha with the judge as one more rater, minus alpha among people.

    .. math:: \alpha(\text{people and judge}) - \alpha(\text{people})

    on the same items: those on which two or more people and the judge answered; others are left
    out and counted. The judge's answers are ``predicted``, taken to the nearest of the scale.
    Undefined where either alpha is: if only one answer was ever given. ``level`` as in
    :func:`krippendorff_alpha` :cite:p:`krippendorff2018content`.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import judge_agreement
        >>> people = np.array([[1.0, 1.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        >>> round(judge_agreement(people, [0.0, 1.0], [1.0, 0.0, 1.0, 0.0]), 6)
        0.263889
    """

    people: np.ndarray
    everyone: np.ndarray
    items: np.ndarray
    left_out: np.ndarray
    scale: np.ndarray = constant()

    counts_of: ClassVar[str] = "explanations"

    @classmethod
    def of(cls, evidence: RatingEvidence, weights: Weights = None) -> "JudgeAgreement":
        place = nearest(np.asarray(evidence.predicted, np.float64), evidence.scale)
        judge = np.where(place >= 0, evidence.scale[np.maximum(place, 0)], np.nan)
        usable = ((~np.isnan(evidence.ratings)).sum(axis=1) >= 2) & (place >= 0)
        people = np.where(usable[:, None], evidence.ratings, np.nan)
        everyone = np.concatenate([people, np.where(usable, judge, np.nan)[:, None]], axis=1)
        tables = [_answers(evidence, votes, weights) for votes in (people, everyone)]
        return cls(
            people=tables[0],
            everyone=tables[1],
            items=total(usable.astype(float), weights),
            left_out=total((~usable).astype(float), weights),
            scale=evidence.scale,
        )

    def counted(self) -> tuple[np.ndarray, np.ndarray]:
        """Items on which the judge and two people answered, and others."""
        return self.items, self.left_out

    def value(self, *, level: Level = "ordinal") -> Float[np.ndarray, "*resamples"]:
        """By how much alpha is higher with the judge."""
        alone = np.zeros_like(self.items)
        both = [
            KrippendorffAlpha(table, alone, self.scale).value(level=level)
            for table in (self.everyone, self.people)
        ]
        return np.asarray(both[0] - both[1])


def _answers(evidence: RatingEvidence, votes: np.ndarray, weights: Weights) -> np.ndarray:
    """How often answers met on one item."""
    other = evidence[slice(None)]
    object.__setattr__(other, "ratings", votes)  # a shard may have no vote: nothing is checked
    return np.asarray(KrippendorffAlpha.of(other, weights).together)
