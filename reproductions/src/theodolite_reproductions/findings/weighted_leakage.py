"""Leakage of a whole bottleneck where some concepts matter more than others."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from theodolite.errors import EvidenceError


def weighted_leakage(of_concepts: ArrayLike, weights: Sequence[float]) -> float:
    r"""The mean :math:`\sum_i w_i s_i / \sum_i w_i` of a score over concepts, by weights.

    The leakage paper allows it in place of the plain mean of CTL, and of ICL likewise. Undefined
    scores are left out together with their weights.

    Args:
        of_concepts: A score of each concept, as ``concept_task_leakage`` gives them.
        weights: How much each concept counts: not negative, and not all 0.

    >>> weighted_leakage([0.25, 0.75, float("nan")], [3, 1, 5])
    0.375
    """
    scores, counts = np.asarray(of_concepts, np.float64), np.asarray(weights, np.float64)
    if scores.ndim != 1 or counts.shape != scores.shape:
        got = f"{counts.size} for scores of shape {scores.shape}"
        raise EvidenceError("weights", got, "one for each concept")
    if not (np.isfinite(counts).all() and (counts >= 0).all() and counts.sum() > 0):
        raise EvidenceError("weights", f"{counts.tolist()}", "numbers from 0 on, not all 0")
    defined = ~np.isnan(scores)
    total = float(counts[defined].sum())
    if total == 0:
        return float("nan")
    return float((counts[defined] * scores[defined]).sum() / total)
