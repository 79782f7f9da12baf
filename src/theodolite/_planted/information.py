"""Compute by integration how much a number that a label shifts tells about the label."""

from collections.abc import Callable
from functools import cache

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtr

FINEST = 2001
"""Edges that continuous values are integrated over."""
FARTHEST = 60.0


def make_grid(labels: int) -> Float[np.ndarray, " labels"]:
    """Equally spaced numbers of mean 0 and spread 1."""
    steps = np.arange(labels) - (labels - 1) / 2
    return np.asarray(steps / steps.std())


def compute_information(edges: np.ndarray, distance: float, labels: int) -> float:
    """Return the information about equally frequent labels in values binned by ``edges``."""
    below = ndtr(edges[None] - distance * make_grid(labels)[:, None])
    cells = np.diff(np.c_[np.zeros(labels), below, np.ones(labels)], axis=1)
    mean = cells.mean(axis=0)
    logs = np.log(np.divide(cells, mean, out=np.ones_like(cells), where=cells > 0))
    return float((cells * logs).sum() / labels)


def find_by_bisection(is_below: Callable[[float], bool]) -> float:
    """Return the number from 0 to ``FARTHEST`` up to which the condition holds."""
    low, high = 0.0, FARTHEST
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return (low + high) / 2


@cache
def find_distance(share: float, labels: int) -> float:
    """Return how far labels move values for this share of their entropy."""

    def tells_less(distance: float) -> bool:
        edges = np.linspace(-9 - 3 * distance, 9 + 3 * distance, FINEST)
        return compute_information(edges, distance, labels) < share * float(np.log(labels))

    return find_by_bisection(tells_less) if share else 0.0


def shift_by_label(
    noise: np.ndarray, labels: Int[np.ndarray, " rows"], share: float, n_labels: int
) -> np.ndarray:
    """Noise moved by the label so that it tells a share of it; at 1 no noise is left."""
    signal = make_grid(n_labels)[labels].reshape(len(labels), *[1] * (noise.ndim - 1))
    if share >= 1:
        return np.array(np.broadcast_to(signal, noise.shape))
    return np.asarray(noise + find_distance(share, n_labels) * signal)
