"""Where more concepts stop paying: the elbow of a curve of scores."""

from collections.abc import Sequence

import numpy as np

from theodolite.results import Better


def elbow(numbers: Sequence[float], scores: Sequence[float], better: Better) -> float | None:
    """The number of concepts after which the score gains least for what it costs to read.

    The point farthest above the straight line from the first to the last point, both axes scaled to
    0 to 1; numbers are taken by their logarithm, since twice as many concepts are one step more to
    read. None for fewer than three points, for a curve that gets no better, or one without a bend.

    >>> elbow([1, 2, 4, 8, 16], [1.0, 0.4, 0.2, 0.18, 0.17], "lower")
    2.0
    >>> elbow([1, 2, 4], [0.2, 0.3, 0.4], "lower") is None
    True
    """
    order = np.argsort(numbers, kind="stable")
    x = np.log(np.asarray(numbers, float)[order])
    y = np.asarray(scores, float)[order] * (1.0 if better == "higher" else -1.0)
    if len(x) < 3 or np.isnan(y).any() or x[-1] <= x[0] or y[-1] <= y[0]:
        return None
    above = (y - y[0]) / (y[-1] - y[0]) - (x - x[0]) / (x[-1] - x[0])
    at = int(above.argmax())
    return float(np.asarray(numbers, float)[order][at]) if above[at] > 0.05 else None
