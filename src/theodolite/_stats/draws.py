"""A value held against draws of a null of which each is as good as another.

How draws differ from one another is not seen by resampling samples: with 20 dictionaries of random
directions, an interval of the difference to their mean alone calls one of six such dictionaries
better than the others. So a claim must exceed all of them too.
"""

import math

from theodolite.results import Answer

ENOUGH = 20
"""Draws without which nothing is claimed: by chance one in 21 exceeds so many."""
OF_USE = 0.1
"""How much more than the mean of draws would be of use; a convention."""
SAME = 1e-12


def compare_with_draws(low: float, high: float, beaten: float, n: float) -> Answer:
    """Whether a value is better than draws of a null.

    Args:
        low: Lower end of how much better it is than their mean.
        high: Upper end of it.
        beaten: How many draws it is better than.
        n: How many there are.

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
