"""Metrics of rater agreement by Krippendorff's alpha, without and with a judge."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field

from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.rating_summary import histogram
from theodolite.metrics.accepted._nulls import OTHER_PREDICTION
from theodolite.metrics.accepted._ratings import find_nearest_answer, rating_metric
from theodolite.metrics.base import Additive, Card, Weights, constant, ratio, total

Level = Annotated[
    Literal["ordinal", "interval", "nominal"],
    Field(description="What the answers are: an order, numbers, or names."),
]


def answer_pairs(
    ratings: Float[np.ndarray, "samples raters"],
    scale: Float[np.ndarray, " levels"],
    weights: Weights,
) -> Float[np.ndarray, "*resamples levels levels"]:
    """Count how often two answers met on one explanation, each vote counted once."""
    counts = histogram(ratings, scale).astype(float)
    votes = counts.sum(axis=1)
    share = np.where(votes > 1, 1 / np.maximum(votes - 1, 1.0), 0.0)
    pairs = []
    for answer, own in enumerate(counts.T):
        others = counts.copy()  # a vote makes no pair with itself
        others[:, answer] -= own > 0
        pairs.append(total(others * (own * share)[:, None], weights))
    return np.stack(pairs, axis=-2)


@rating_metric(
    "krippendorff_alpha",
    title="Krippendorff's alpha",
    cite="krippendorff2018content",
    card=Card(
        question="How much less do raters differ than if their answers were mixed up?",
        interpretation="1 is full agreement, 0 is none beyond chance, below 0 they contradict each "
        "other. 0.8 is customary for conclusions, 0.667 for tentative ones.",
        limitations="Low where all explanations are alike, even if raters are careful: there is "
        "then little to agree on beyond chance. That is not a fault of the raters.",
        cost="one table of answers by answers",
    ),
)
@dataclass(frozen=True)
class KrippendorffAlpha(Additive):
    r"""Krippendorff's alpha :cite:p:`krippendorff2018content`: one minus observed over expected.

    .. math:: \alpha = 1 - \frac{D_o}{D_e}

    :math:`D_o` is the mean distance of two votes on one explanation, :math:`D_e` that of any two
    votes. ``level`` says what the answers are: an order, numbers, or names. Missing votes are no
    trouble; an explanation with one vote says nothing. Undefined if only one answer was ever given.

    Example:
        >>> from theodolite.metrics import krippendorff_alpha
        >>> votes = [[1.0, 1.0, 2.0], [5.0, 4.0, 4.0], [3.0, 3.0, float("nan")]]
        >>> round(krippendorff_alpha(votes, scale=[1.0, 2, 3, 4, 5], level="interval"), 6)
        0.882353
    """

    together: np.ndarray
    alone: np.ndarray
    scale: np.ndarray = constant()

    counts_of: ClassVar[str] = "votes"

    @classmethod
    def of(cls, evidence: RatingEvidence, weights: Weights = None) -> "KrippendorffAlpha":
        votes = (~np.isnan(evidence.ratings)).sum(axis=1)
        return cls(
            together=answer_pairs(evidence.ratings, evidence.scale, weights),
            alone=total((votes == 1).astype(float), weights),
            scale=evidence.scale,
        )

    def counted(self) -> tuple[np.ndarray, np.ndarray]:
        """Votes with another vote beside them, and votes without."""
        return np.asarray(self.together.sum(axis=(-2, -1)).round(6)), self.alone

    def value(self, *, level: Level = "ordinal") -> Float[np.ndarray, "*resamples"]:
        """Compute alpha from the sums."""
        answers = self.together.sum(axis=-1)
        n = answers.sum(axis=-1)
        far = self._distances(answers, level)
        observed = (self.together * far).sum(axis=(-2, -1))
        expected = (answers[..., :, None] * answers[..., None, :] * far).sum(axis=(-2, -1))
        return np.asarray(1 - ratio(observed * (n - 1), expected))

    def _distances(self, answers: np.ndarray, level: Level) -> np.ndarray:
        if level == "nominal":
            return np.asarray(1 - np.eye(len(self.scale)))
        # an answer's place among all votes: the middle of those that are the same
        places = answers.cumsum(axis=-1) - answers / 2 if level == "ordinal" else self.scale
        return np.asarray((places[..., :, None] - places[..., None, :]) ** 2)


@rating_metric(
    "judge_agreement",
    title="Agreement of a judge with people",
    bounds=(-2.0, 2.0),
    uses=("ratings", "scale", "predicted"),
    nulls=(OTHER_PREDICTION,),
    cite="krippendorff2018content",
    card=Card(
        question="Do people and a judge agree as much as people do among themselves?",
        interpretation="0 is a judge who agrees with people as they agree with each other; above 0 "
        "it agrees more, below 0 it disturbs them. It may stand in for people only where its kappa "
        "(predicted_rating_agreement) reaches that of a person with the others (rater_agreement).",
        limitations="With many people one more vote hardly counts, so that it is near 0 for any "
        "judge: compare with permuted answers.",
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
        >>> from theodolite.metrics import judge_agreement
        >>> people = [[1.0, 1.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
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
        place = find_nearest_answer(np.asarray(evidence.predicted, np.float64), evidence.scale)
        judge = np.where(place >= 0, evidence.scale[np.maximum(place, 0)], np.nan)
        usable = ((~np.isnan(evidence.ratings)).sum(axis=1) >= 2) & (place >= 0)
        people = np.where(usable[:, None], evidence.ratings, np.nan)
        everyone = np.concatenate([people, np.where(usable, judge, np.nan)[:, None]], axis=1)
        return cls(
            people=answer_pairs(people, evidence.scale, weights),
            everyone=answer_pairs(everyone, evidence.scale, weights),
            items=total(usable.astype(float), weights),
            left_out=total((~usable).astype(float), weights),
            scale=evidence.scale,
        )

    def counted(self) -> tuple[np.ndarray, np.ndarray]:
        """Items on which the judge and two people answered, and others."""
        return self.items, self.left_out

    def value(self, *, level: Level = "ordinal") -> Float[np.ndarray, "*resamples"]:
        """Compute the increase of alpha by the judge."""
        alone = np.zeros_like(self.items)
        both = [
            KrippendorffAlpha(table, alone, self.scale).value(level=level)
            for table in (self.everyone, self.people)
        ]
        return np.asarray(both[0] - both[1])
