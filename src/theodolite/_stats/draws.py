"""Decide whether a value is better than several random draws of a null.

Resampling samples does not show how draws differ from each other: with 20 random dictionaries, an
interval of the difference from their mean calls one in six such dictionaries better than the
others. So a value must also exceed every draw. Used by `_scoring` and `_verdicts`.
"""

import math

from theodolite.results import Answer

ENOUGH = 20
"""Minimum number of draws for a claim: one value in 21 exceeds 20 draws by chance."""
OF_USE = 0.1
"""Smallest relevant difference from the mean of draws; a convention."""
SAME = 1e-12
"""Largest difference that counts as equal."""


def compare_with_draws(low: float, high: float, beaten: float, n: float) -> Answer:
    """Answer whether a value is better than draws of a null.

    Args:
        low: Lower end of the interval of value minus mean of draws.
        high: Upper end of that interval.
        beaten: Number of draws that the value exceeds.
        n: Number of draws.

    >>> compare_with_draws(0.01, 0.2, 20, 20), compare_with_draws(0.01, 0.2, 19, 20)
    ('yes', 'inconclusive')
    >>> compare_with_draws(-0.05, 0.08, 12, 20), compare_with_draws(0.01, 0.2, 3, 3)
    ('no', 'inconclusive')
    """
    if n < ENOUGH or math.isnan(low) or math.isnan(high):
        return "inconclusive"
    if beaten >= n and low > 0:
        return "yes"
    return "no" if high < OF_USE else "inconclusive"
