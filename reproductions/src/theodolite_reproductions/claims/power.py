"""What a study can see before it is done, and what many tests find by chance."""

import math

from scipy.special import bdtrc, ndtri

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


def sign_test(more: int, of: int) -> float:
    """Two-sided p-value of so many signs of one kind among so many, if both are as likely.

    >>> [round(sign_test(*counts), 3) for counts in ((8, 8), (7, 8), (14, 15), (7, 9))]
    [0.008, 0.07, 0.001, 0.18]
    """
    if not 0 <= more <= of or of < 1:
        raise EvidenceError("signs", f"{more} of {of}", "0 to all of at least one")
    extreme = max(more, of - more)
    return float(min(2 * (bdtrc(extreme - 1, of, 0.5) if extreme else 1.0), 1.0))


def expected_by_chance(tests: int) -> float:
    """Return how many of N tests are confirmed if nothing is there."""
    return BY_CHANCE * tests
