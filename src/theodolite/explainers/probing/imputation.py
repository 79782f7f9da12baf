"""Removed pixels filled in from their neighbors, as in ROAD: nothing is left to see of a hole."""

import numpy as np
from jaxtyping import Bool, Float

from theodolite.errors import EvidenceError
from theodolite.explainers.probing._removal_kernels import DIAGONAL, DIRECT, fill_planes

WEIGHTS = {
    (r, c): DIAGONAL if r and c else DIRECT
    for r in (-1, 0, 1)
    for c in (-1, 0, 1)
    if (r, c) != (0, 0)
}
"""Of the pixel so many rows and columns away. Outside the image there is none."""
TOLERANCE = 1e-4
"""Of the image's range of values; the noise that is added afterwards is stronger."""
MOST_CYCLES = 60
"""About twice as many as half an image of 224 by 224 takes."""


def impute_pixels(
    image: Float[np.ndarray, "3 rows columns"], removed: Bool[np.ndarray, "rows columns"]
) -> Float[np.ndarray, "3 rows columns"]:
    """Each removed pixel as the weighted mean of its eight neighbors, removed ones included.

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
    solution, _ = fill_planes(planes, removed, weights, near, MOST_CYCLES)
    return np.where(removed, solution + means, image).astype(image.dtype)


def impute_pixels_exactly(
    image: Float[np.ndarray, "3 rows columns"], removed: Bool[np.ndarray, "rows columns"]
) -> Float[np.ndarray, "3 rows columns"]:
    """The same by a sparse factorisation in double precision: slower, and exact."""
    from scipy.sparse import coo_matrix  # noqa: PLC0415
    from scipy.sparse.linalg import splu  # noqa: PLC0415

    _some_left(removed)
    height, width = removed.shape
    rows, columns = np.nonzero(removed)
    number = np.full(removed.shape, -1)
    number[rows, columns] = np.arange(len(rows))
    sums, right = np.zeros(len(rows)), np.zeros((len(rows), len(image)))
    entries = []
    for (down, across), weight in WEIGHTS.items():
        r, c = rows + down, columns + across
        inside = np.flatnonzero((r >= 0) & (c >= 0) & (r < height) & (c < width))
        sums[inside] += weight
        other = number[r[inside], c[inside]]
        known = inside[other < 0]
        right[known] += weight * image[:, r[known], c[known]].T
        both = other >= 0
        entries.append((np.full(both.sum(), -weight), inside[both], other[both]))
    entries.append((sums, np.arange(len(rows)), np.arange(len(rows))))
    values, i, j = (np.concatenate(part) for part in zip(*entries, strict=True))
    system = coo_matrix((values, (i, j)), (len(rows), len(rows))).tocsc()
    out = image.copy()
    if len(rows):
        factors = splu(  # symmetric and diagonally dominant: no need to exchange rows
            system, "MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
        out[:, rows, columns] = factors.solve(right).T
    return np.asarray(out)


def _some_left(removed: Bool[np.ndarray, "rows columns"]) -> None:
    if removed.all():
        raise EvidenceError(
            "removed", "every pixel", "at least one left, from which to fill in the others",
            "Ask for lower percents.",
        )  # fmt: skip
