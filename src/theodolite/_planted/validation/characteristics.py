"""Summarize a score over many draws of one condition, and check it against limits.

Lines leave room for chance: a score that just keeps a promise fails one cell in a thousand.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.stats import binom

FALSE_ALARMS, FALSE_CLEAN = 0.025, 0.05
COVERAGE = 0.93
"""An interval of 95 % that covers this much is still believed."""
CONSERVATIVE = 0.985
BY_CHANCE = 1e-3
MOST_BIAS = 0.5
"""In standard deviations over draws."""
NOTHING = 1e-9
SURELY = 3.0
"""Standard errors by which a truth from a large sample may be off."""
ANSWERS = ("yes", "partly", "no", "inconclusive")
FIELDS = ("values", "low", "high", "truth", "answers", "best", "seconds")


def get_max_count(rate: float, draws: int) -> int:
    """Return how often something that happens at a rate may be seen.

    >>> [get_max_count(FALSE_ALARMS, n) for n in (60, 100, 200, 1000, 2000)]
    [6, 8, 13, 42, 73]
    >>> [get_max_count(FALSE_CLEAN, n) for n in (60, 100, 200, 1000, 2000)]
    [9, 13, 21, 73, 131]
    """
    return int(binom.ppf(1 - BY_CHANCE, draws, rate))


def get_min_count(rate: float, draws: int) -> int:
    """Return how often something that happens at a rate must be seen.

    >>> [get_min_count(COVERAGE, n) / n for n in (100, 1000, 2000)]
    [0.84, 0.904, 0.912]
    """
    return int(binom.ppf(BY_CHANCE, draws, rate))


@dataclass(frozen=True, eq=False)
class DrawOutcomes:
    """Of each draw what came out; the truth is that of what its interval is about."""

    values: Float[np.ndarray, " draws"]
    low: Float[np.ndarray, " draws"]
    high: Float[np.ndarray, " draws"]
    truth: Float[np.ndarray, " draws"]
    answers: Float[np.ndarray, " draws"]
    """As numbers of ``ANSWERS``."""
    best: Float[np.ndarray, " draws"]
    seconds: Float[np.ndarray, " draws"]


@dataclass(frozen=True)
class ExpectedBehavior:
    """What is asked of a cell."""

    is_defect_metric: bool
    tolerance: float | None
    """How much of a fault is accepted."""
    worthless: bool
    """Whether nothing is planted: no fault, or nothing that could beat a null."""
    unsure: float = 0.0
    """Variance of the truth over that of a value, where the truth comes from a large sample."""
    has_truth: bool = True
    """Whether the interval is about the planted truth."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """The share of draws that must have an answer, by answer."""


@dataclass(frozen=True)
class Characteristics:
    """One cell of a validation record."""

    condition: dict[str, Any]
    truth: float
    draws: int
    undefined: int
    answers: dict[str, int]
    alarms: int
    """Draws in which a claim was made: better than its nulls, or a fault."""
    covered: int
    intervals: int
    """Draws that had an interval."""
    mean: float
    spread: float
    bias: float
    """Mean of value minus truth, over the spread of that."""
    width: float
    best: float
    seconds: float
    """Of one evaluation, on average."""
    failures: tuple[str, ...]
    """What does not hold, in words."""


def compute_characteristics(
    draws: DrawOutcomes, condition: dict[str, Any], expected: ExpectedBehavior
) -> Characteristics:
    """Return the characteristics of a score that measures a defect or must beat a baseline."""
    n = len(draws.values)
    defined = ~np.isnan(draws.values)
    with_interval = ~(np.isnan(draws.low) | np.isnan(draws.high))
    answers = {name: int((draws.answers == i).sum()) for i, name in enumerate(ANSWERS)}
    alarms = answers["partly"] + answers["no" if expected.is_defect_metric else "yes"]
    widths = (draws.high - draws.low)[with_interval]
    errors = (draws.values - draws.truth)[defined]
    spread = float(errors.std()) if len(errors) else np.nan
    off = float(errors.mean()) if len(errors) else np.nan
    slack = NOTHING + np.nan_to_num(SURELY * spread * np.sqrt(expected.unsure))
    inside = (draws.low <= draws.truth + slack) & (draws.truth <= draws.high + slack)
    cell = Characteristics(
        condition=condition,
        truth=float(np.mean(draws.truth)),
        draws=n,
        undefined=n - int(defined.sum()),
        answers=answers,
        alarms=alarms,
        covered=int(inside[with_interval].sum()),
        intervals=int(with_interval.sum()),
        mean=float(draws.values[defined].mean()) if len(errors) else np.nan,
        spread=spread,
        bias=off / spread if spread > NOTHING else np.nan,
        width=float(np.mean(widths)) if len(widths) else np.nan,
        best=float(np.nanmean(draws.best)) if defined.any() else np.nan,
        seconds=float(draws.seconds.mean()),
        failures=(),
    )  # fmt: skip
    failures = (*_check_claims(cell, expected), *_check_rates(cell, expected))
    if expected.has_truth:
        failures += (*_check_interval(cell), *_check_bias(cell, off, expected, slack))
    return Characteristics(**{**cell.__dict__, "failures": failures})


def _check_claims(cell: Characteristics, expected: ExpectedBehavior) -> tuple[str, ...]:
    """Claims that are wrong, on either side."""
    n, wrong = cell.draws, []
    accepted = expected.tolerance or 0.0
    false = cell.alarms if expected.worthless else 0
    if expected.is_defect_metric and not expected.worthless and cell.truth <= accepted + NOTHING:
        false = cell.answers["no"]
    if false > (most := get_max_count(FALSE_ALARMS, n)):
        wrong.append(f"false alarms: {false} of {n}, at most {most}")
    at_fault = expected.is_defect_metric and not expected.worthless
    clean = cell.answers["yes"] if at_fault and cell.truth >= accepted - NOTHING else 0
    if clean > (most := get_max_count(FALSE_CLEAN, n)):
        wrong.append(f"falsely called free: {clean} of {n}, at most {most}")
    return tuple(wrong)


def _check_rates(cell: Characteristics, expected: ExpectedBehavior) -> tuple[str, ...]:
    """Answers that are given too seldom."""
    least = {answer: get_min_count(rate, cell.draws) for answer, rate in expected.rates.items()}
    return tuple(
        f"{answer}: {cell.answers[answer]} of {cell.draws}, at least {count}"
        for answer, count in least.items()
        if cell.answers[answer] < count
    )


def _check_interval(cell: Characteristics) -> tuple[str, ...]:
    least = get_min_count(COVERAGE, cell.intervals) if cell.intervals else 0
    if cell.covered < least:
        return (f"covered: {cell.covered} of {cell.intervals}, at least {least}",)
    return ()


def _check_bias(
    cell: Characteristics, off: float, expected: ExpectedBehavior, slack: float
) -> tuple[str, ...]:
    """Too high or too low; an estimate of a fault may be too low, as a lower bound is."""
    room = (MOST_BIAS + 3 / np.sqrt(cell.draws)) * cell.spread + slack
    by = f"by {abs(off):.3f} from {cell.truth:.3f}, with a spread of {cell.spread:.3f}"
    if off > room:
        return (f"too high: {by}",)
    if off < -room and not expected.is_defect_metric:
        return (f"too low: {by}",)
    return ()
