"""Describe the size and precision of a study in plain sentences. Used by `study plan`."""

import math
from dataclasses import dataclass

from theodolite.errors import EvidenceError
from theodolite_study.planning.sample_size import (
    Raters,
    compute_half_width,
    compute_instances,
    compute_people,
    compute_power,
    compute_votes,
)


@dataclass(frozen=True, kw_only=True)
class ExpectedRatings:
    """Expected variation of ratings from 1 to 5; guesses that a pilot study replaces."""

    between: float = 0.6
    """Standard deviation of true ratings between explanations of one technique."""
    within: float = 0.9
    """Standard deviation of votes on one explanation, without raters' habits."""
    people: float = 0.3
    """Standard deviation of raters' habits: strict or mild throughout."""
    difference: float = 0.5
    """Standard deviation over images of the true difference of two techniques."""


def describe_plan(
    *,
    instances: int,
    votes: int,
    quota: int,
    techniques: int = 1,
    dropout: float = 0.1,
    expected: ExpectedRatings | None = None,
) -> str:
    """Describe the cost and the precision of a study in plain sentences.

    Args:
        instances: Explanations in all, equally many of each technique.
        votes: For each.
        quota: Explanations for each person.
        techniques: On the same images.
        dropout: Share of people who leave.
        expected: What ratings are expected to be like.
    """
    like = expected or ExpectedRatings()
    if techniques < 1 or instances < techniques:
        raise EvidenceError("techniques", f"{techniques}", f"1 to {instances}")
    people = compute_people(instances, votes, quota, dropout)
    each = instances // techniques
    leave = f", {people.invited:,} with {dropout:.0%} who leave" if dropout else ""
    raters = Raters(people.finishing, like.people)
    mean = compute_half_width(
        votes, each, spread_between=like.between, spread_within=like.within, raters=raters
    )
    alone = compute_half_width(
        votes, 1, spread_between=0.0, spread_within=math.hypot(like.within, like.people),
        quantity="one explanation",
    )  # fmt: skip
    lines = [
        f"{instances:,} explanations × {votes} votes = {people.votes:,} votes; with {quota:,} a "
        f"person that is {people.finishing:,} people{leave.replace('%', ' %')}.",
        f"The mean rating of {_format_technique(techniques)} will be known to "
        f"{_format_plus_minus(mean)}, that of a single explanation to {_format_plus_minus(alone)}.",
    ]
    if techniques > 1:
        lines.append(_describe_comparison(votes, each, like))
    lines.append(
        "This supposes ratings that spread by "
        f"{like.between:g} between explanations, {like.within:g} between votes on one, and "
        f"{like.people:g} between people; a pilot tells what they really do."
    )
    return "\n".join(lines)


def describe_needs(
    half: float,
    *,
    instances: int,
    votes: int,
    techniques: int = 1,
    expected: ExpectedRatings | None = None,
) -> str:
    """Describe how many votes or explanations reach a given precision of the mean rating.

    Habits of people are left aside: more people help against these, not more votes.
    """
    like = expected or ExpectedRatings()
    spreads = {"spread_between": like.between, "spread_within": like.within}
    more = compute_instances(half, votes, **spreads)  # type: ignore[arg-type]
    lines = [
        f"For ± {half:g}: {more:,} explanations of each technique with {votes} votes each.",
    ]
    try:
        needed = compute_votes(half, max(instances // techniques, 1), **spreads)  # type: ignore[arg-type]
        lines.append(f"Or, with as many explanations as now, {needed:,} votes for each.")
    except EvidenceError:
        lines.append("More votes on as many explanations as now would not do.")
    return "\n".join(lines)


def _format_technique(techniques: int) -> str:
    return "the technique" if techniques == 1 else f"one of the {techniques} techniques"


def _format_plus_minus(half: float) -> str:
    return "nothing that could be told" if math.isnan(half) else f"± {half:.2f}"


def _describe_comparison(votes: int, images: int, like: ExpectedRatings) -> str:
    spreads = {"spread_between": like.difference, "spread_within": like.within}
    half = compute_half_width(votes, images, quantity="difference", **spreads)  # type: ignore[arg-type]
    if math.isnan(half):
        return "Two techniques cannot be compared with one image."
    detected = compute_power(0.5, votes, images, **spreads)
    return (
        f"The difference of two techniques on the same {images:,} images will be known to "
        f"{_format_plus_minus(half)}; a true difference of 0.5 is found with a probability of "
        f"{min(round(100 * detected), 99)} %."
    )
