"""Simulate studies to predict how precisely rater agreement will be estimated."""

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
from theodolite_study.planning.sample_size import compute_people

Agreement: TypeAlias = Literal["alpha", "kappa"]
EVEN_SHARES = (0.2, 0.2, 0.2, 0.2, 0.2)


@dataclass(frozen=True, kw_only=True)
class SimulatedRaters:
    """Model of simulated raters, who share part of their opinion and answer on a scale from 1 to
    5."""

    alike: float = 0.4
    """Fraction of the variance of opinions that belongs to the explanation: the intraclass
    correlation before opinions are rounded to answers."""
    habit: float = 0.1
    """Fraction of the variance that belongs to the rater, who is strict or mild throughout."""
    shares: tuple[float, ...] = EVEN_SHARES
    """Proportion of each answer."""

    def __post_init__(self) -> None:
        if min(self.alike, self.habit) < 0 or self.alike + self.habit > 1:
            raise EvidenceError("shares of variance", f"{self}", "0 or more, 1 at most together")
        if len(self.shares) != len(SCALE) or min(self.shares) <= 0:
            raise EvidenceError("shares", f"{self.shares}", "5 numbers above 0")

    def thresholds(self) -> Float[np.ndarray, " steps"]:
        """Return the thresholds between opinions that become different answers."""
        summed = np.cumsum(self.shares) / np.sum(self.shares)
        return np.asarray(norm.ppf(summed[:-1]))


@dataclass(frozen=True)
class StudySize:
    """Number of explanations, of votes on each, and of raters."""

    instances: int
    votes: int
    people: int

    def __post_init__(self) -> None:
        votes_needed(self.instances, self.votes, self.people, self.instances)


@dataclass(frozen=True)
class ExpectedAgreement:
    """Expected agreement of a study of this size, and its uncertainty."""

    size: StudySize
    value: float
    half_width: float
    """Half of the range that contains 95 % of such studies."""


def simulate_ratings(
    size: StudySize, like: SimulatedRaters, random: np.random.Generator
) -> Float[np.ndarray, "instances people"]:
    """Simulate a study in which each explanation gets ``votes`` ratings; NaN elsewhere.

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


def compute_agreement(
    ratings: Float[np.ndarray, "instances people"], what: Agreement = "alpha"
) -> float:
    """Compute Krippendorff's ordinal alpha, or the mean quadratic kappa of pairs of raters."""
    evidence = RatingEvidence(ratings=ratings, scale=np.array(SCALE, float))
    if what == "alpha":
        return float(KrippendorffAlpha.of(evidence).value(level="ordinal"))
    return float(PairwiseAgreement.of(evidence).value())


def simulate_agreement(
    size: StudySize,
    *,
    like: SimulatedRaters,
    seed: int,
    what: Agreement = "alpha",
    repeats: int = 200,
) -> ExpectedAgreement:
    """Simulate many studies and return the mean and range of their agreement.

    NaN if agreement is undefined in most of them.
    """
    if repeats < 40:
        raise EvidenceError("repeats", f"{repeats}", "40 or more: tails are looked at")
    streams = np.random.default_rng(seed).spawn(repeats)
    studies = [compute_agreement(simulate_ratings(size, like, stream), what) for stream in streams]
    defined = np.array([value for value in studies if not np.isnan(value)])
    if len(defined) < repeats / 2:
        return ExpectedAgreement(size, np.nan, np.nan)
    low, high = np.quantile(defined, (0.025, 0.975))
    return ExpectedAgreement(size, float(defined.mean()), float(high - low) / 2)


def simulate_agreement_grid(
    instances: Sequence[int],
    votes: Sequence[int],
    *,
    quota: int,
    like: SimulatedRaters,
    seed: int,
    what: Agreement = "alpha",
) -> list[ExpectedAgreement]:
    """Predict agreement for each number of explanations and votes, with the raters that each
    needs."""
    return [
        simulate_agreement(
            StudySize(n, v, compute_people(n, v, quota).finishing), like=like, seed=seed, what=what
        )
        for n in instances
        for v in votes
    ]
