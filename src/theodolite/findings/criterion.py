"""Does one model leak more than another? The leakage criterion as a test."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float
from scipy.special import stdtr, stdtrit

from theodolite.errors import EvidenceError

Outcome = Literal["more", "less", "compatible", "contradictory", "undefined"]
Repeats = Float[np.ndarray, " _"]


@dataclass(frozen=True)
class GroupDifference:
    """How two groups of repeats differ in one score: Welch's test."""

    value: float
    low: float
    high: float
    p: float

    @property
    def outcome(self) -> Outcome:
        """Whether the first group scores surely more, surely less, or neither."""
        if np.isnan(self.p):
            return "undefined"
        return "more" if self.low > 0 else "less" if self.high < 0 else "compatible"


@dataclass(frozen=True)
class Criterion:
    """The outcome, and the difference in each score that it was read from."""

    outcome: Outcome
    differences: tuple[GroupDifference, ...]


def leakage_criterion(
    first: Sequence[Repeats], second: Sequence[Repeats], *, level: float = 0.95
) -> Criterion:
    """Whether the first model (or group of models) leaks more than the second.

    Each of the two sequences gives, for the same scores in the same order (CTL and ICL, or others),
    the values over folds or repeats. The first leaks more if it scores surely more in at least one
    score and surely less in none. "Surely" is Welch's test of the means, at a level that holds for
    all scores together (Bonferroni). Surely more in one and surely less in another is
    contradictory: the criterion then says nothing. After the criterion in
    :cite:t:`parisini2025leakage`, section 5.

    Example:
        >>> ctl = [np.array([0.30, 0.32, 0.31]), np.array([0.10, 0.12, 0.11])]
        >>> icl = [np.array([0.05, 0.06, 0.04]), np.array([0.05, 0.04, 0.06])]
        >>> leakage_criterion([ctl[0], icl[0]], [ctl[1], icl[1]]).outcome
        'more'
    """
    if len(first) != len(second) or not first:
        raise EvidenceError("scores", f"{len(first)} and {len(second)}", "the same, at least one")
    each = 1 - (1 - level) / len(first)
    differences = tuple(difference(a, b, level=each) for a, b in zip(first, second, strict=True))
    seen = {d.outcome for d in differences}
    outcome: Outcome
    if seen == {"undefined"}:
        outcome = "undefined"
    elif {"more", "less"} <= seen:
        outcome = "contradictory"
    else:
        outcome = "more" if "more" in seen else "less" if "less" in seen else "compatible"
    return Criterion(outcome, differences)


def difference(first: Repeats, second: Repeats, *, level: float = 0.95) -> GroupDifference:
    """Difference of two means with Welch's interval and p-value; NaN without two repeats each.

    >>> d = difference(np.array([1.0, 2, 3]), np.array([4.0, 5, 6]))
    >>> round(d.value, 3), round(d.low, 3), round(d.high, 3), round(d.p, 4)
    (-3.0, -5.267, -0.733, 0.0213)
    """
    a, b = (np.asarray(part, float)[~np.isnan(part)] for part in (first, second))
    if len(a) < 2 or len(b) < 2:
        return GroupDifference(*[float("nan")] * 4)
    value = float(a.mean() - b.mean())
    of_a, of_b = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    error = float(np.sqrt(of_a + of_b))
    if error <= 1e-14:  # nothing varies: equal, or surely not
        return GroupDifference(value, value, value, 0.0 if abs(value) > 1e-12 else 1.0)
    freedom = (of_a + of_b) ** 2 / (of_a**2 / (len(a) - 1) + of_b**2 / (len(b) - 1))
    half = float(stdtrit(freedom, (1 + level) / 2)) * error
    p = 2 * float(stdtr(freedom, -abs(value) / error))
    return GroupDifference(value, value - half, value + half, p)
