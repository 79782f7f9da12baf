"""Does one model leak more than another? The leakage criterion as a test."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from theodolite.errors import EvidenceError
from theodolite_reproductions.findings.decision import NAN, FindingDecision, decide

Outcome = Literal[
    "more", "less", "not there", "too few repeats", "inconclusive", "contradictory", "undefined"
]
Repeats = Float[np.ndarray, " _"]
EFFECT = 0.02
"""The smallest difference of a share of information that is called one, by convention."""


@dataclass(frozen=True)
class Criterion:
    """The outcome, and the difference in each score that it was read from."""

    outcome: Outcome
    differences: tuple[FindingDecision, ...]


def leakage_criterion(
    first: Sequence[Repeats],
    second: Sequence[Repeats],
    *,
    level: float = 0.95,
    effect: float = EFFECT,
) -> Criterion:
    """Return whether the first model (or group of models) leaks more than the second.

    Each of the two sequences gives, for the same scores in the same order (CTL and ICL, or others),
    the values over folds or repeats. The first leaks more if it scores surely more in at least one
    score and surely less in none. "Surely" is Welch's test of the means, at a level that holds for
    all scores together (Bonferroni). Surely more in one and surely less in another is
    contradictory: the criterion then says nothing. After the criterion in
    :cite:t:`parisini2025leakage`, section 5.

    Where neither is surely more, there is no difference only if every score's interval lies within
    plus and minus ``effect``. There are too few repeats if some score would miss a difference of
    that size, and else nobody can tell.

    Example:
        >>> ctl = [np.array([0.30, 0.32, 0.31]), np.array([0.10, 0.12, 0.11])]
        >>> icl = [np.array([0.05, 0.06, 0.04]), np.array([0.05, 0.04, 0.06])]
        >>> leakage_criterion([ctl[0], icl[0]], [ctl[1], icl[1]]).outcome
        'more'
        >>> leakage_criterion([icl[0]], [icl[1]]).outcome
        'too few repeats'
        >>> leakage_criterion([icl[0]], [icl[1]], effect=0.05).outcome
        'not there'
    """
    if len(first) != len(second) or not first:
        raise EvidenceError("scores", f"{len(first)} and {len(second)}", "the same, at least one")
    each = 1 - (1 - level) / len(first)
    differences = tuple(
        difference(a, b, level=each, effect=effect) for a, b in zip(first, second, strict=True)
    )
    return Criterion(_outcome(differences), differences)


def _outcome(differences: Sequence[FindingDecision]) -> Outcome:
    answers = {d.answer for d in differences if not np.isnan(d.value)}
    if not answers:
        return "undefined"
    if {"confirmed", "contradicted"} <= answers:
        return "contradictory"
    if "confirmed" in answers:
        return "more"
    if "contradicted" in answers:
        return "less"
    if answers == {"not there"}:
        return "not there"
    return "too few repeats" if "too few repeats" in answers else "inconclusive"


def difference(
    first: Repeats, second: Repeats, *, level: float = 0.95, effect: float = EFFECT
) -> FindingDecision:
    """Difference of two means with Welch's interval and p-value; NaN without a value on each side.

    >>> d = difference(np.array([1.0, 2, 3]), np.array([4.0, 5, 6]))
    >>> round(d.value, 3), round(d.low, 3), round(d.high, 3), round(d.p, 4)
    (-3.0, -5.267, -0.733, 0.0213)
    """
    a, b = (np.asarray(part, float)[~np.isnan(part)] for part in (first, second))
    repeats = min(len(a), len(b))
    value = float(a.mean() - b.mean()) if repeats else NAN
    if repeats < 2:
        return decide(value, NAN, 0, effect, repeats=repeats)
    of_a, of_b = float(a.var(ddof=1)) / len(a), float(b.var(ddof=1)) / len(b)
    error, freedom = float(np.sqrt(of_a + of_b)), float(repeats - 1)
    if error > 0:
        freedom = (of_a + of_b) ** 2 / (of_a**2 / (len(a) - 1) + of_b**2 / (len(b) - 1))
    return decide(value, error, freedom, effect, level=level, repeats=repeats)
