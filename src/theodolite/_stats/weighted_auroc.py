"""Area under the ROC curve of one column of values under many rows of weights.

Used by `metrics.language` and `theodolite.language`.
"""

import numpy as np
from jaxtyping import Bool, Float, Real


def compute_weighted_aurocs(
    values: Float[np.ndarray, " samples"],
    truth: Bool[np.ndarray, " samples"],
    weights: Real[np.ndarray, "rows samples"],
) -> Float[np.ndarray, " rows"]:
    """Return the AUROC with samples counted as often as each row says; NaN without both classes.

    >>> values, truth = np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True])
    >>> compute_weighted_aurocs(values, truth, np.array([[1, 1, 1, 1], [1, 1, 0, 0]]))
    array([0.75,  nan])
    """
    order = np.argsort(values, kind="stable")
    starts = np.flatnonzero(np.diff(values[order], prepend=np.nan))  # of values that are equal
    counts, there = weights[:, order].astype(float), truth[order]
    if not len(starts):
        return np.full(len(weights), np.nan)
    positive, negative = (np.add.reduceat(counts * own, starts, axis=1) for own in (there, ~there))
    below = np.cumsum(negative, axis=1) - negative / 2
    pairs = positive.sum(axis=1) * negative.sum(axis=1)
    wins = (positive * below).sum(axis=1)
    shares = np.divide(wins, pairs, out=np.full(len(weights), np.nan), where=pairs > 0)
    return np.asarray(np.minimum(shares, 1.0))
