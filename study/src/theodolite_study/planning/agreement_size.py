"""How well the agreement of raters will be known, by simulation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Float
from scipy.stats import norm

from theodolite.errors import EvidenceError
from theodolite.ext.studies import (
    SCALE,
    KrippendorffAlpha,
    PairwiseAgreement,
    RatingEvidence,
    votes_needed,
)
from theodolite_study.planning.sample_size import people_for

Agreement: TypeAlias = Literal["alpha", "kappa"]
EVEN = (0.2, 0.2, 0.2, 0.2, 0.2)


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """People who see the same thing more or less alike, and say it on a scale from 1 to 5."""

    alike: float = 0.4
    """Share of the variance of what people feel that is the explanation's own: the intraclass
    correlation of the feeling, before it is rounded to an answer."""
    habit: float = 0.1
    """Share that is the person's: strict or mild throughout."""
    shares: tuple[float, ...] = EVEN
    """How often each answer is given."""

    def __post_init__(self) -> None:
        if min(self.alike, self.habit) < 0 or self.alike + self.habit > 1:
            raise EvidenceError("shares of variance", f"{self}", "0 or more, 1 at most together")
        if len(self.shares) != len(SCALE) or min(self.shares) <= 0:
            raise EvidenceError("shares", f"{self.shares}", "5 numbers above 0")

    def thresholds(self) -> Float[np.ndarray, " steps"]:
        """Where a feeling becomes the next answer."""
        summed = np.cumsum(self.shares) / np.sum(self.shares)
        return np.asarray(norm.ppf(summed[:-1]))


@dataclass(frozen=True)
class Size:
    """So many explanations, votes on each, and people who give them."""

    instances: int
    votes: int
    people: int

    def __post_init__(self) -> None:
        votes_needed(self.instances, self.votes, self.people, self.instances)


@dataclass(frozen=True)
class AgreementExpected:
    """What agreement a study of this size will show, and how far that may be off."""

    size: Size
    value: float
    half_width: float
    """Half of the range that 95 % of such studies fall in."""


def simulated_ratings(
    size: Size, like: Simulated, random: np.random.Generator
) -> Float[np.ndarray, "instances people"]:
    """One study: each explanation is rated by ``votes`` of the people, NaN elsewhere.

    People get equally many, up to one.
    """
    many = (size.instances, size.people)
    rest = max(1 - like.alike - like.habit, 0.0)
    feeling = (
        np.sqrt(like.alike) * random.standard_normal((size.instances, 1))
        + np.sqrt(like.habit) * random.standard_normal((1, size.people))
        + np.sqrt(rest) * random.standard_normal(many)
    )
    answers = np.searchsorted(like.thresholds(), feeling) + float(SCALE[0])
    chance = random.random(many)
    busy = np.zeros(size.people)
    ratings = np.full(many, np.nan)
    for row, draw in enumerate(chance):  # those who had least so far, by lot
        who = np.argsort(busy + draw)[: size.votes]
        busy[who] += 1
        ratings[row, who] = answers[row, who]
    return ratings


def agreement_of(
    ratings: Float[np.ndarray, "instances people"], what: Agreement = "alpha"
) -> float:
    """Krippendorff's ordinal alpha, or the mean quadratic kappa of pairs of people."""
    evidence = RatingEvidence(ratings=ratings, scale=np.array(SCALE, float))
    if what == "alpha":
        return float(KrippendorffAlpha.of(evidence).value(level="ordinal"))
    return float(PairwiseAgreement.of(evidence).value())


def expected_agreement(
    size: Size, *, like: Simulated, seed: int, what: Agreement = "alpha", repeats: int = 200
) -> AgreementExpected:
    """Hold the study so many times on paper, and see how its agreement varies.

    NaN if agreement is undefined in most of them.
    """
    if repeats < 40:
        raise EvidenceError("repeats", f"{repeats}", "40 or more: tails are looked at")
    streams = np.random.default_rng(seed).spawn(repeats)
    studies = [agreement_of(simulated_ratings(size, like, stream), what) for stream in streams]
    defined = np.array([value for value in studies if not np.isnan(value)])
    if len(defined) < repeats / 2:
        return AgreementExpected(size, np.nan, np.nan)
    low, high = np.quantile(defined, (0.025, 0.975))
    return AgreementExpected(size, float(defined.mean()), float(high - low) / 2)


def agreement_grid(
    instances: Sequence[int],
    votes: Sequence[int],
    *,
    quota: int,
    like: Simulated,
    seed: int,
    what: Agreement = "alpha",
) -> list[AgreementExpected]:
    """The same for each number of explanations and votes, with as many people as that needs."""
    return [
        expected_agreement(
            Size(n, v, people_for(n, v, quota).finishing), like=like, seed=seed, what=what
        )
        for n in instances
        for v in votes
    ]
