"""Maps of classes, made of the maps of their concepts."""

import numpy as np
from jaxtyping import Float


def class_activation_maps(
    concept_maps: Float[np.ndarray, "samples concepts height width"],
    weights: Float[np.ndarray, "samples concepts"],
) -> Float[np.ndarray, "samples height width"]:
    r"""The map of a class: the concepts' maps, weighted as the head weighs the concepts.

    .. math:: G_k = \sum_j \theta_{jk} F_j

    So :math:`d` times its mean is what all concepts add to the class's output on pooled features.

    Args:
        concept_maps: As from ``concept_activation_maps``.
        weights: Of each sample's class.

    Example:
        >>> maps = np.array([[[[0.5, 2], [1.5, 1]], [[1.0, 0], [0, 0]]]])
        >>> class_activation_maps(maps, np.array([[2.0, -1.0]]))[0]
        array([[0., 4.],
               [3., 2.]])
    """
    return np.asarray(np.einsum("njhw,nj->nhw", concept_maps, weights))
