"""What a score did over many draws of one condition, and whether that is good enough.

Lines leave room for chance: a score that just keeps a promise fails one cell in a thousand.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.stats import binom

FALSE_ALARMS, FALSE_CLEAN = 0.025, 0.05
COVERAGE = 0.93
"""An interval of 95 % that covers this much is still believed."""
BY_CHANCE = 1e-3
MOST_BIAS = 0.5
"""In standard deviations over draws."""
ANSWERS = ("yes", "partly", "no", "cannot tell")


def most_often(rate: float, draws: int) -> int:
    """How often something that happens at a rate may be seen.

    >>> [most_often(FALSE_ALARMS, n) for n in (60, 100, 200, 1000, 2000)]
    [6, 8, 13, 42, 73]
    >>> [most_often(FALSE_CLEAN, n) for n in (60, 100, 200, 1000, 2000)]
    [9, 13, 21, 73, 131]
    """
    return int(binom.ppf(1 - BY_CHANCE, draws, rate))


def least_often(rate: float, draws: int) -> int:
    """How often something that happens at a rate must be seen.

    >>> [least_often(COVERAGE, n) / n for n in (100, 1000, 2000)]
    [0.84, 0.904, 0.912]
    """
    return int(binom.ppf(BY_CHANCE, draws, rate))


@dataclass(frozen=True, eq=False)
class Draws:
    """Of each draw: the value, its quoted interval, and the answer as a number of ``ANSWERS``."""

    values: Float[np.ndarray, " draws"]
    low: Float[np.ndarray, " draws"]
    high: Float[np.ndarray, " draws"]
    answers: Float[np.ndarray, " draws"]


@dataclass(frozen=True)
class Characteristics:
    """One cell of a certificate."""

    condition: dict[str, Any]
    truth: float
    draws: int
    undefined: int
    answers: dict[str, int]
    covered: int
    intervals: int
    """Draws that had an interval."""
    mean: float
    spread: float
    width: float
    failures: tuple[str, ...]
    """What does not hold, in words."""


def characteristics(
    draws: Draws, truth: float, condition: dict[str, Any], tolerance: float
) -> Characteristics:
    """Of a score that looks for a fault: what is there, or what is accepted, must be told apart."""
    defined = ~np.isnan(draws.values)
    with_interval = ~np.isnan(draws.low)
    inside = (draws.low <= truth + 1e-9) & (truth <= draws.high + 1e-9)
    n, intervals, covered = len(defined), int(with_interval.sum()), int(inside.sum())
    answers = {name: int((draws.answers == i).sum()) for i, name in enumerate(ANSWERS)}
    values = draws.values[defined]
    mean, spread = (float(values.mean()), float(values.std())) if len(values) else (np.nan, np.nan)
    failures = []
    alarms = answers["no"] + (answers["partly"] if truth <= 1e-9 else 0)
    if truth <= tolerance and alarms > (most := most_often(FALSE_ALARMS, n)):
        failures.append(f"false alarms: {alarms} of {n}, at most {most}")
    if truth >= tolerance and answers["yes"] > (most := most_often(FALSE_CLEAN, n)):
        failures.append(f"falsely called free: {answers['yes']} of {n}, at most {most}")
    if intervals and covered < (least := least_often(COVERAGE, intervals)):
        failures.append(f"covered: {covered} of {intervals}, at least {least}")
    if spread > 0 and mean - truth > MOST_BIAS * spread + 1e-9:
        failures.append(f"too high: {mean:.3f} for {truth:.3f}, with a spread of {spread:.3f}")
    return Characteristics(
        condition, truth, n, n - int(defined.sum()), answers, covered, intervals, mean, spread,
        float(np.nanmean(draws.high - draws.low)) if intervals else np.nan, tuple(failures),
    )  # fmt: skip
