"""Compute ranks and rank correlations without scipy.stats, which takes a second to load.

Used by metrics that correlate ranks, and by the check for similar rows.
"""

import numpy as np
from jaxtyping import Float, Shaped


def average_ranks(values: Shaped[np.ndarray, "*rows n"]) -> Float[np.ndarray, "*rows n"]:
    """Return ranks from 1 along the last axis; equal values get their mean rank.

    >>> average_ranks(np.array([[0.3, 0.1, 0.3], [5.0, 4.0, 6.0]])).tolist()
    [[2.5, 1.0, 2.5], [2.0, 1.0, 3.0]]
    """
    order = np.argsort(values, axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    place = np.broadcast_to(np.arange(values.shape[-1]), values.shape)
    differs = ordered[..., 1:] != ordered[..., :-1]
    edge = np.ones((*values.shape[:-1], min(values.shape[-1], 1)), bool)
    begins, ends = (np.concatenate(parts, axis=-1) for parts in ((edge, differs), (differs, edge)))
    first = np.maximum.accumulate(np.where(begins, place, 0), axis=-1)
    backward = np.where(ends, place, values.shape[-1])[..., ::-1]
    last = np.minimum.accumulate(backward, axis=-1)[..., ::-1]
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=-1)
    return ranks


def rank_correlations(
    x: Shaped[np.ndarray, "*rows n"], y: Shaped[np.ndarray, "*rows n"]
) -> Float[np.ndarray, "*rows"]:
    """Return Spearman's correlation of each row of x with that of y; NaN for constant rows.

    >>> rank_correlations(np.array([[1, 2, 3], [4, 4, 4]]), np.array([[2, 1, 3], [1, 2, 3]]))
    array([0.5, nan])
    """
    a, b = (average_ranks(side) - (side.shape[-1] + 1) / 2 for side in (x, y))
    spread = np.sqrt((a**2).sum(axis=-1) * (b**2).sum(axis=-1))
    correlations = np.full(spread.shape, np.nan)
    np.divide((a * b).sum(axis=-1), spread, out=correlations, where=spread > 0)
    return np.asarray(np.clip(correlations, -1.0, 1.0))
