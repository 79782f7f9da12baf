"""Gradient importance of concepts: how a linear output changes along each direction."""

import numpy as np
from jaxtyping import Float

Importance = Float[np.ndarray, "classes concepts"]


def gradient_importance(
    head: Float[np.ndarray, "classes dimensions"], vectors: Float[np.ndarray, "concepts dimensions"]
) -> Importance:
    r"""Return the derivative :math:`f_i \cdot v_k` of each output along each direction.

    Example:
        >>> gradient_importance(np.array([[2.0, 0, 1], [0, 1, -1]]), np.eye(3)[:2])
        array([[2., 0.],
               [0., 1.]])
    """
    return np.asarray(head @ vectors.T)
