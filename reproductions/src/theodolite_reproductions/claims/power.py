"""What a study can see before it is done, and what many tests find by chance."""

import math

from scipy.special import ndtri

from theodolite.errors import EvidenceError

SEEN = float(ndtri(0.975) + ndtri(0.8))
"""An effect of so many standard errors is found in four of five studies: about 2.80."""
BY_CHANCE = 0.025
"""Of tests of nothing, those whose 95 % interval lies above 0."""


def detectable_effect(error: float) -> float:
    """The effect that four of five studies with this standard error find."""
    if not error >= 0:
        raise EvidenceError("standard error", f"{error}", "0 or more")
    return SEEN * error


def units_for_correlation(r: float) -> int:
    """Return how many units find a correlation in four of five studies, by Fisher's z.

    >>> [units_for_correlation(r) for r in (0.75, 0.49, 0.36, 0.33, 0.1)]
    [12, 31, 59, 70, 783]
    """
    if not 0 < abs(r) < 1:
        raise EvidenceError("correlation", f"{r}", "between -1 and 1, and not 0")
    return math.ceil((SEEN / math.atanh(abs(r))) ** 2 + 3)


def detectable_correlation(units: int) -> float:
    """The correlation that so many units find in four of five studies; NaN for fewer than four."""
    return math.tanh(SEEN / math.sqrt(units - 3)) if units > 3 else math.nan


def expected_by_chance(tests: int) -> float:
    """Return how many of N tests are confirmed if nothing is there."""
    return BY_CHANCE * tests
