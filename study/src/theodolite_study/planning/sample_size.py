"""Compute the number of votes and participants that an interval of a given width needs."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from scipy.stats import nct, t

from theodolite.errors import EvidenceError
from theodolite.ext.studies import votes_needed

Quantity: TypeAlias = Literal["mean rating", "one explanation", "difference"]
CONFIDENCE = 0.95
MAX_VOTES = 1000
MAX_INSTANCES = 10_000_000


@dataclass(frozen=True)
class Raters:
    """Raters who give several votes each, with their own habits."""

    number: int
    spread: float
    """Standard deviation of raters' habits on the scale."""

    def __post_init__(self) -> None:
        if self.number < 1 or not 0 <= self.spread < math.inf:
            raise EvidenceError("raters", f"{self}", "one or more, and a spread of 0 or more")


@dataclass(frozen=True)
class PeopleNeeded:
    """Number of participants that a study needs."""

    votes: int
    finishing: int
    """Number of participants who complete all their items."""
    invited: int
    """Number of participants to invite, including dropouts, whose work is not counted on."""


def compute_half_width(
    votes: int,
    instances: int,
    *,
    spread_between: float,
    spread_within: float,
    quantity: Quantity = "mean rating",
    raters: Raters | None = None,
) -> float:
    r"""Return half of the expected 95 % confidence interval.

    ``mean rating`` of explanations like these:

    .. math:: t \sqrt{\frac{1}{n}\Big(\sigma_b^2 + \frac{\sigma_w^2}{v}\Big) + \frac{\sigma_r^2}{r}}

    with :math:`n` instances of :math:`v` votes by :math:`r` raters. ``one explanation``: the rating
    of a single one, :math:`t\,\sigma_w / \sqrt{v}`. ``difference``: the mean rating of one
    technique less that of another on the same ``instances`` images, where ``spread_between`` is
    that of the true differences from image to image; habits of raters cancel if they rate both.
    Student's t has the degrees of freedom of what is estimated. NaN where one value tells nothing
    of spread.

    Args:
        votes: For each explanation.
        instances: Explanations of the technique, or images.
        spread_between: Standard deviation of true ratings between explanations.
        spread_within: Standard deviation of votes on one explanation.
        quantity: What is to be known.
        raters: If people give several votes each. Without, each vote is of somebody else, and
            habits are a part of ``spread_within``.

    >>> round(compute_half_width(5, 24, spread_between=0.6, spread_within=0.9), 3)
    0.305
    """
    _check(votes=votes, instances=instances)
    _check_spread(spread_between=spread_between, spread_within=spread_within)
    if quantity == "one explanation":
        return _compute_interval([(spread_within**2 / votes, votes - 1)])
    twice = 2 if quantity == "difference" else 1
    parts = [((spread_between**2 + twice * spread_within**2 / votes) / instances, instances - 1)]
    if raters is not None and quantity == "mean rating":
        parts.append((raters.spread**2 / raters.number, raters.number - 1))
    return _compute_interval(parts)


def _compute_interval(parts: list[tuple[float, int]]) -> float:
    """Return Student's interval of a sum of variances, each with its degrees of freedom."""
    known = [(variance, freedom) for variance, freedom in parts if variance > 0]
    if any(freedom < 1 for _, freedom in known):
        return math.nan
    total = sum(variance for variance, _ in known)
    if not total:
        return 0.0
    freedom = total**2 / sum(variance**2 / f for variance, f in known)
    return float(t.ppf((1 + CONFIDENCE) / 2, freedom)) * math.sqrt(total)


def compute_votes(
    target: float,
    instances: int,
    *,
    spread_between: float,
    spread_within: float,
    quantity: Quantity = "mean rating",
) -> int:
    """Return the minimum number of votes per explanation for an interval of the target width.

    Refused if no number of votes does: explanations differ, and only more of them help.
    """

    def width(votes: int) -> float:
        return compute_half_width(
            votes, instances, spread_between=spread_between, spread_within=spread_within,
            quantity=quantity,
        )  # fmt: skip

    fewest = _find_minimum(width, target, MAX_VOTES)
    if fewest is not None:
        return fewest
    reached = width(MAX_VOTES)
    raise EvidenceError(
        "wanted", f"± {target:g}", f"± {reached:.2g} or more with {instances:,} explanations",
        "Votes alone do not help: take more explanations.",
    )  # fmt: skip


def compute_instances(
    target: float,
    votes: int,
    *,
    spread_between: float,
    spread_within: float,
    quantity: Literal["mean rating", "difference"] = "mean rating",
) -> int:
    """Return the minimum number of explanations for an interval of the target width."""

    def width(instances: int) -> float:
        return compute_half_width(
            votes, instances, spread_between=spread_between, spread_within=spread_within,
            quantity=quantity,
        )  # fmt: skip

    fewest = _find_minimum(width, target, MAX_INSTANCES)
    if fewest is None:
        raise EvidenceError("wanted", f"± {target:g}", f"± {width(MAX_INSTANCES):.2g} or more")
    return fewest


def _find_minimum(width: Callable[[int], float], target: float, most: int) -> int | None:
    """Return the smallest number that reaches the target; intervals shrink with numbers."""
    if not target > 0:
        raise EvidenceError("wanted", f"{target}", "a number above 0")
    if not width(most) <= target:
        return None
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        if width(middle) <= target:
            high = middle
        else:
            low = middle
    return high


def compute_people(instances: int, votes: int, quota: int, dropout: float = 0.0) -> PeopleNeeded:
    """Return the number of participants needed, given a quota and a dropout rate.

    >>> compute_people(24, 5, 20, 0.1)
    PeopleNeeded(votes=120, finishing=6, invited=7)
    """
    _check(instances=instances, votes=votes, quota=quota)
    if not 0 <= dropout < 1:
        raise EvidenceError("dropout", f"{dropout}", "a share from 0 to below 1")
    finishing = -(-instances * votes // min(quota, instances))
    needed = votes_needed(instances, votes, finishing, quota)
    # a share such as 0.1 is not exact: 9 / 0.9 must not become 10 and a bit
    return PeopleNeeded(needed.needed, finishing, math.ceil(finishing / (1 - dropout) - 1e-9))


def compute_power(
    difference: float, votes: int, images: int, *, spread_between: float, spread_within: float
) -> float:
    """Return the power to detect a true difference of two techniques.

    Both techniques explain the same images; ``spread_between`` is that of the true differences.
    NaN for one image.
    """
    _check(votes=votes, images=images)
    _check_spread(spread_between=spread_between, spread_within=spread_within)
    if images < 2:
        return math.nan
    error = math.sqrt((spread_between**2 + 2 * spread_within**2 / votes) / images)
    if not error:
        return float(difference != 0)
    limit = float(t.ppf((1 + CONFIDENCE) / 2, images - 1))
    shift = difference / error
    # nct loses its tail far out, where the answer is 1 to every digit
    if abs(shift) > limit + 30:
        return 1.0
    return float(nct.sf(limit, images - 1, shift) + nct.cdf(-limit, images - 1, shift))


def _check(**numbers: int) -> None:
    for name, number in numbers.items():
        if number < 1:
            raise EvidenceError(name, f"{number}", "1 or more")


def _check_spread(**spreads: float) -> None:
    for name, spread in spreads.items():
        if not 0 <= spread < math.inf:
            raise EvidenceError(name, f"{spread}", "a standard deviation of 0 or more")
