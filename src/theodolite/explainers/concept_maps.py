"""Concept activation maps (CoAM): where in an image a concept is active."""

import numpy as np
from jaxtyping import Float


def concept_activation_maps(
    features: Float[np.ndarray, "samples channels height width"],
    vectors: Float[np.ndarray, "concepts channels"],
) -> Float[np.ndarray, "samples concepts height width"]:
    r"""Return a map per concept: feature maps weighted by the concept's vector.

    .. math:: F_j = \frac1d \sum_k c_{jk} E_k

    :math:`E_k` are the :math:`d` feature maps before pooling, :math:`c_j` is the concept's vector.
    Nothing is rectified, shifted or scaled, so that :math:`d` times the mean of :math:`F_j` is the
    concept's value :math:`c_j \cdot f` on the pooled features. :cite:t:`aysel2025concept`, eq. 2.

    Example:
        >>> features = np.array([[[[1.0, 2], [3, 4]], [[0, 1], [0, -1]]]])
        >>> concept_activation_maps(features, np.array([[1.0, 2.0]]))[0, 0]
        array([[0.5, 2. ],
               [1.5, 1. ]])
    """
    n, d, height, width = features.shape
    flat = np.matmul(vectors, features.reshape(n, d, height * width))
    return np.asarray(flat.reshape(n, len(vectors), height, width) / d)
