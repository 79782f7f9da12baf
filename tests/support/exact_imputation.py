"""Removed pixels filled in exactly: what ``impute_pixels`` is compared with."""

import numpy as np
from jaxtyping import Bool, Float
from scipy.sparse import coo_matrix
from scipy.sparse.linalg import splu

from theodolite.explainers.probing._removal_kernels import DIAGONAL, DIRECT

WEIGHTS = {
    (r, c): DIAGONAL if r and c else DIRECT
    for r in (-1, 0, 1)
    for c in (-1, 0, 1)
    if (r, c) != (0, 0)
}
"""Of the pixel so many rows and columns away. Outside the image there is none."""


def impute_pixels_exactly(
    image: Float[np.ndarray, "3 rows columns"], removed: Bool[np.ndarray, "rows columns"]
) -> Float[np.ndarray, "3 rows columns"]:
    """Solve for the removed pixels by a sparse factorization in double precision."""
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
