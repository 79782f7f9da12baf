"""Where in an image a concept is active (CoAM)."""

import numpy as np
from jaxtyping import Float


def concept_activation_maps(
    features: Float[np.ndarray, "samples channels height width"],
    vectors: Float[np.ndarray, "concepts channels"],
) -> Float[np.ndarray, "samples concepts height width"]:
    r"""A map per concept: the feature maps weighted by the concept's vector.

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


def class_activation_maps(
    concept_maps: Float[np.ndarray, "samples concepts height width"],
    weights: Float[np.ndarray, "samples concepts"],
) -> Float[np.ndarray, "samples height width"]:
    r"""The map of a class: the concepts' maps, weighted as the head weighs the concepts.

    .. math:: G_k = \sum_j \theta_{jk} F_j

    So :math:`d` times its mean is what all concepts add to the class's output on pooled features.

    Args:
        concept_maps: As from :func:`concept_activation_maps`.
        weights: Of each sample's class.

    Example:
        >>> maps = np.array([[[[0.5, 2], [1.5, 1]], [[1.0, 0], [0, 0]]]])
        >>> class_activation_maps(maps, np.array([[2.0, -1.0]]))[0]
        array([[0., 4.],
               [3., 2.]])
    """
    return np.asarray(np.einsum("njhw,nj->nhw", concept_maps, weights))
