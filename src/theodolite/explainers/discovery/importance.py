"""How much a class's output changes when a concept is added: derivatives along directions."""

from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Float

from theodolite.errors import EvidenceError

Outputs = Callable[[np.ndarray], np.ndarray]
"""Embeddings (samples x dimensions) to outputs (samples x classes)."""
Importance = Float[np.ndarray, "classes concepts"]


def gradient_importance(
    head: Float[np.ndarray, "classes dimensions"],
    vectors: Float[np.ndarray, "concepts dimensions"],
) -> Importance:
    r"""The derivative :math:`f_i \cdot v_k` of a linear output along each direction, exactly.

    Example:
        >>> gradient_importance(np.array([[2.0, 0, 1], [0, 1, -1]]), np.eye(3)[:2])
        array([[2., 0.],
               [0., 1.]])
    """
    return np.asarray(head @ vectors.T)


def derivative_importance(
    outputs: Outputs,
    embeddings: Float[np.ndarray, "samples dimensions"],
    vectors: Float[np.ndarray, "concepts dimensions"],
    *,
    step: float = 1e-3,
) -> Importance:
    r"""The mean derivative of each output along each direction, for outputs of any kind.

    .. math:: \alpha_{ik} = \frac1N \sum_n
        \frac{f_i(h_n + \varepsilon v_k) - f_i(h_n - \varepsilon v_k)}{2 \varepsilon}

    :math:`\varepsilon` is ``step``. For a linear output it is :math:`f_i \cdot v_k`, whatever the
    step. Zhang et al. 2021 (ICE).

    Example:
        >>> square = lambda h: (h**2).sum(axis=1, keepdims=True)
        >>> derivative_importance(square, np.array([[1.0, 0], [3.0, 0]]), np.eye(2)).round(6)
        array([[4., 0.]])
    """
    slopes = _slopes(outputs, embeddings, vectors, step)
    return np.stack([slope.mean(axis=0) for slope in slopes], axis=1)


def tcav_sign_share(
    outputs: Outputs,
    embeddings: Float[np.ndarray, "samples dimensions"],
    vectors: Float[np.ndarray, "concepts dimensions"],
    *,
    step: float = 1e-3,
) -> Importance:
    """The share of samples whose output grows along the direction (the TCAV score).

    A slope that is NaN is neither: the share is then NaN. Kim et al. 2018.

    Example:
        >>> square = lambda h: (h**2).sum(axis=1, keepdims=True)
        >>> tcav_sign_share(square, np.array([[1.0], [3.0], [-1.0], [2.0]]), np.eye(1))
        array([[0.75]])
    """
    slopes = _slopes(outputs, embeddings, vectors, step)
    grows = [np.where(np.isnan(slope), np.nan, slope > 0).mean(axis=0) for slope in slopes]
    return np.stack(grows, axis=1)


def _slopes(
    outputs: Outputs, embeddings: np.ndarray, vectors: np.ndarray, step: float
) -> Iterator[np.ndarray]:
    """For each direction the slopes of all samples and classes."""
    if step <= 0:
        raise EvidenceError("step", f"{step}", "above 0")
    if not len(embeddings):
        raise EvidenceError("embeddings", "no samples", "at least one")
    values = np.asarray(embeddings, np.float64)
    for vector in np.asarray(vectors, np.float64):
        up, down = (np.asarray(outputs(values + side * step * vector)) for side in (1, -1))
        yield (up - down) / (2 * step)
