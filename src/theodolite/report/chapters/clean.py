"""Scores that look for a fault: what a model without it would score, and how much more we accept.

Other scores must beat their nulls; these must not exceed theirs.
"""

import math

from theodolite.metrics.catalogue import catalogue
from theodolite.results import Score


def is_defect_metric(score: Score) -> bool:
    """Return whether the score's null stands for a clean model."""
    metric = catalogue().get(score.metric)
    return metric is not None and metric.is_defect_metric


def loses_to_null(score: Score) -> bool:
    """Return whether the score loses against its null.

    A defect metric loses where it significantly exceeds the reference by more than the tolerance,
    as its verdict would say; any other where it is no better than the strongest baseline.
    """
    null = score.null
    if null is None or math.isnan(null.value) or math.isnan(score.value):
        return False
    if is_defect_metric(score):
        if null.difference is None:
            return False
        return null.difference.low > (catalogue()[score.metric].tolerance or 0.0) + 1e-12
    sign = 1.0 if score.better == "higher" else -1.0
    return sign * (score.value - null.value) <= 0
