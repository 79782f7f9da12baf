"""Impute removed pixels from their neighbors, as in ROAD (Rong et al., 2022)."""

import numpy as np
from jaxtyping import Bool, Float

from theodolite.errors import EvidenceError
from theodolite.explainers.probing._removal_kernels import DIAGONAL, DIRECT, fill_planes

TOLERANCE = 1e-4
"""Largest residual relative to the image's range; below the noise added afterwards."""
MAX_CYCLES = 60
"""Largest number of cycles: twice what half of a 224 by 224 image needs."""


def impute_pixels(
    image: Float[np.ndarray, "3 rows columns"], removed: Bool[np.ndarray, "rows columns"]
) -> Float[np.ndarray, "3 rows columns"]:
    """Replace each removed pixel by the weighted mean of its eight neighbors.

    Direct neighbors weigh 1/6, diagonal ones 1/12; at the image's edge the weights that are
    there are scaled to sum to 1. Solved to about 1e-4 of the range of the pixels that are left. The
    solver begins at their mean, so that no removed value can leave a trace.
    """
    _some_left(removed)
    left = image[:, ~removed]
    means = left.mean(axis=1, dtype=np.float64)[:, None, None]
    planes = np.where(removed, 0, image - means).astype(np.float32)
    near = np.float32(max(TOLERANCE * float(left.max() - left.min()), np.finfo(np.float32).tiny))
    weights = np.array([DIRECT, DIAGONAL], np.float32)
    solution, _ = fill_planes(planes, removed, weights, near, MAX_CYCLES)
    return np.where(removed, solution + means, image).astype(image.dtype)


def _some_left(removed: Bool[np.ndarray, "rows columns"]) -> None:
    if removed.all():
        raise EvidenceError(
            "removed", "every pixel", "at least one left, from which to fill in the others",
            "Ask for lower percents.",
        )  # fmt: skip
