"""What a finding may be called: from an effect, its error, and the smallest effect of the claim."""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from theodolite._stats.intervals import detectable, quantile, two_sided_p
from theodolite._storage.records import Record
from theodolite._verdicts.scores_file import written

Answer = Literal["confirmed", "contradicted", "not there", "too few repeats", "inconclusive"]
NAN = float("nan")
LEVEL = 0.95
STILL = 1e-14
"""Below such an error nothing varied."""
NOTHING = 1e-12
"""What did not vary and is this small is rounding."""
MOST_REPEATS = 10**6


@dataclass(frozen=True)
class FindingDecision:
    """The answer to a claim, and what it was read from, in the units of the effect."""

    answer: Answer
    value: float
    low: float
    high: float
    p: float
    min_detectable_effect: float
    """What would be seen in four of five such studies; NaN where there is no error."""
    effect: float
    """The smallest effect that the claim is about."""
    repeats: int
    """Seeds, folds, models or explanations: how many say so."""
    n_required: int | None = None
    """About how many would do, where there are too few."""

    @property
    def smaller(self) -> bool:
        """Whether the effect is surely there, and surely smaller than the claim is about."""
        sure = self.answer in ("confirmed", "contradicted")
        return sure and max(abs(self.low), abs(self.high)) < self.effect


class DecisionRecord(Record):
    """The answer to a claim with its power, as it is written."""

    answer: Answer
    repeats: int
    effect: float
    """The smallest effect that the claim is about."""
    min_detectable_effect: float | None
    """What would be seen in four of five such studies."""
    n_required: int | None = None
    """About how many repeats would do, where there are too few."""
    smaller: bool = False
    """Surely there, and surely smaller than the effect of the claim."""


def decide(  # noqa: PLR0913  an estimate and a claim
    value: float,
    error: float,
    df: float,
    effect: float,
    sign: Literal[1, -1] = 1,
    *,
    level: float = LEVEL,
    repeats: int = 0,
) -> FindingDecision:
    """Return whether an effect is as a claim says it is.

    The claim is about an effect of at least ``effect`` in the direction of ``sign``. Confirmed is
    what lies on its side of 0 with the whole interval, contradicted on the other; not there is an
    interval within plus and minus ``effect``. Of the rest there are too few repeats where an effect
    of that size would be missed more often than in one of five studies. What is left reaches over
    0 and over ``effect`` although that would mostly have been seen: it lies between, and nobody
    can tell.

    Args:
        value: The estimate.
        error: Its standard error; NaN where there is a single repeat.
        df: Degrees of freedom of the error.
        effect: The smallest effect that the claim is about, above 0.
        sign: -1 where the claim is that the value is below 0.
        level: Of the interval; Holm's where a finding has several claims.
        repeats: How many values the estimate is from.

    >>> decide(0.05, 0.01, 8, 0.02, repeats=5).answer
    'confirmed'
    >>> none = decide(0.004, 0.011, 8, 0.02, repeats=5)
    >>> none.answer, round(none.min_detectable_effect, 4), none.n_required
    ('too few repeats', 0.0351, 13)
    """
    if math.isnan(value):
        return FindingDecision("inconclusive", NAN, NAN, NAN, NAN, NAN, effect, repeats)
    if math.isnan(error) or not df > 0:
        return FindingDecision("too few repeats", value, NAN, NAN, NAN, NAN, effect, repeats)
    if error <= STILL:
        error, value = 0.0, 0.0 if abs(value) <= NOTHING else value
    half = quantile(df, level) * error if error else 0.0
    seen = detectable(error, df, level) if error else 0.0
    answer = _answer(sign * value, half, seen, effect)
    p = two_sided_p(value, error, df)
    needed = _needed(error, df, effect, level, repeats) if answer == "too few repeats" else None
    ends = value - half, value + half
    return FindingDecision(answer, value, *ends, p, seen, effect, repeats, needed)


def _answer(value: float, half: float, seen: float, effect: float) -> Answer:
    if value - half > 0:
        return "confirmed"
    if value + half < 0:
        return "contradicted"
    if abs(value) + half < effect:
        return "not there"
    return "too few repeats" if seen > effect else "inconclusive"


def _needed(
    error: float, df: float, effect: float, level: float, repeats: int, *, spent: int = 0
) -> int | None:
    """About how many repeats would see the effect, if they scatter as these do.

    The variance falls with their number, less those that are ``spent`` (3 by Fisher's z).
    """
    if repeats < max(2, spent + 1):
        return None
    low, high = repeats, MOST_REPEATS
    while low < high:
        n = (low + high) // 2
        scale = math.sqrt((repeats - spent) / (n - spent))
        seen = detectable(error * scale, df * (n - 1) / (repeats - 1), level)
        low, high = (low, n) if seen <= effect else (n + 1, high)
    return low if low < MOST_REPEATS else None


def decide_mean(
    values: np.ndarray, effect: float, sign: Literal[1, -1] = 1, *, level: float = LEVEL
) -> FindingDecision:
    """The same for the mean of independent values, such as one for each seed; NaN are left out."""
    known = values[~np.isnan(values)]
    n = len(known)
    if not n:
        return decide(NAN, NAN, 0, effect, sign, repeats=0)
    error = float(known.std(ddof=1) / math.sqrt(n)) if n > 1 else NAN
    return decide(float(known.mean()), error, n - 1, effect, sign, level=level, repeats=n)


def decide_correlation(  # noqa: PLR0913  an estimate and a claim
    z: float,
    error: float,
    df: float,
    effect: float,
    sign: Literal[1, -1] = 1,
    *,
    level: float = LEVEL,
    repeats: int = 0,
) -> FindingDecision:
    """The same for a correlation, given as Fisher's z with its error; ``effect`` is a correlation.

    >>> few = decide_correlation(0.5, 0.4, 9, 0.1, repeats=10)
    >>> few.answer, round(few.low, 3), round(few.high, 3), round(few.min_detectable_effect, 3)
    ('too few repeats', -0.384, 0.886, 0.851)
    """
    on_z = math.atanh(effect)
    decision = decide(z, error, df, on_z, sign, level=level, repeats=repeats)
    needed = decision.n_required and _needed(error, df, on_z, level, repeats, spent=3)
    return replace(
        decision,
        value=math.tanh(decision.value),
        low=math.tanh(decision.low),
        high=math.tanh(decision.high),
        min_detectable_effect=math.tanh(decision.min_detectable_effect),
        effect=effect,
        n_required=needed,
    )


def decision_record(decision: FindingDecision) -> DecisionRecord:
    """A decision as it is written."""
    return DecisionRecord(
        answer=decision.answer,
        repeats=decision.repeats,
        effect=decision.effect,
        min_detectable_effect=written(decision.min_detectable_effect),
        n_required=decision.n_required,
        smaller=decision.smaller,
    )
