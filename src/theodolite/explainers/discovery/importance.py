"""How much a class's output changes when a concept is added."""

import numpy as np
from jaxtyping import Float

Importance = Float[np.ndarray, "classes concepts"]


def gradient_importance(
    head: Float[np.ndarray, "classes dimensions"], vectors: Float[np.ndarray, "concepts dimensions"]
) -> Importance:
    r"""The derivative :math:`f_i \cdot v_k` of a linear output along each direction, exactly.

    Example:
        >>> gradient_importance(np.array([[2.0, 0, 1], [0, 1, -1]]), np.eye(3)[:2])
        array([[2., 0.],
               [0., 1.]])
    """
    return np.asarray(head @ vectors.T)
