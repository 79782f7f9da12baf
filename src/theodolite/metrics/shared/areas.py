"""Areas of regions around annotated places, as shares of the image."""

import numpy as np
from jaxtyping import Float

NODES = 32
"""Lines through a disc: the area of one is then right to ten digits."""


def box_area(boxes: Float[np.ndarray, "*n places 4"]) -> Float[np.ndarray, "*n"]:
    """Area of the union of boxes (top, left, bottom, right), of which some may be undefined.

    >>> box_area(np.array([[0.0, 0.0, 0.5, 0.5], [0.25, 0.25, 0.75, 2.0]]))
    array(0.5625)
    """
    top, left, bottom, right = (boxes[..., i] for i in range(4))
    edges = _edges(top, bottom)
    lines = (edges[..., 1:] + edges[..., :-1]) / 2
    widths = np.where(_between(top, lines, bottom), right[..., None, :], np.nan)
    lengths = covered(np.broadcast_to(left[..., None, :], widths.shape), widths)
    return np.asarray((lengths * np.diff(edges, axis=-1)).sum(axis=-1))


def disc_area(points: Float[np.ndarray, "*n places 2"], radius: float) -> Float[np.ndarray, "*n"]:
    """Area of the union of discs around points (down, across), of which some may be undefined.

    >>> round(float(disc_area(np.array([[0.5, 0.5]]), 0.2)), 6)  # 0.04 pi
    0.125664
    """
    down, across = points[..., 0], points[..., 1]
    edges = _edges(down - radius, down + radius)
    nodes, shares = np.polynomial.legendre.leggauss(NODES)
    angles, shares = (nodes + 1) * np.pi / 2, shares * np.pi / 2  # smooth where a disc begins
    half = np.diff(edges, axis=-1)[..., None] / 2
    flat = (*edges.shape[:-1], (edges.shape[-1] - 1) * NODES)
    lines = (edges[..., :-1, None] + half * (1 - np.cos(angles))).reshape(flat)
    weights = (half * np.sin(angles) * shares).reshape(lines.shape)
    squares = radius**2 - (lines[..., None] - down[..., None, :]) ** 2
    reach = np.sqrt(np.where(squares > 0, squares, np.nan))
    lengths = covered(across[..., None, :] - reach, across[..., None, :] + reach)
    return np.asarray((lengths * weights).sum(axis=-1))


def covered(
    starts: Float[np.ndarray, "*n places"], ends: Float[np.ndarray, "*n places"]
) -> Float[np.ndarray, "*n"]:
    """Length of the union of intervals, of what lies between 0 and 1."""
    starts, ends = np.clip(starts, 0.0, 1.0), np.clip(ends, 0.0, 1.0)
    empty = ~(ends > starts)
    starts, ends = np.where(empty, 1.0, starts), np.where(empty, 1.0, ends)
    order = np.argsort(starts, axis=-1, kind="stable")
    starts, ends = (np.take_along_axis(side, order, axis=-1) for side in (starts, ends))
    reach = np.maximum.accumulate(ends, axis=-1)
    before = np.concatenate([np.zeros_like(reach[..., :1]), reach[..., :-1]], axis=-1)
    return np.asarray(np.maximum(ends - np.maximum(starts, before), 0.0).sum(axis=-1))


def _edges(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Where a region begins or ends: between two of them it is always the same ones."""
    both = np.concatenate([low, high], axis=-1)
    return np.sort(np.clip(np.where(np.isnan(both), 0.0, both), 0.0, 1.0), axis=-1)


def _between(low: np.ndarray, lines: np.ndarray, high: np.ndarray) -> np.ndarray:
    inside = (low[..., None, :] <= lines[..., None]) & (lines[..., None] <= high[..., None, :])
    return np.asarray(inside)
