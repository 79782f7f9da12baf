"""Compute the neighbor terms of `information` and `neighbors` in numpy.

Used where the native library is missing, and by tests of it: both give the same bits.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int

MAX_DISTANCES = 1 << 22
"""Maximum number of distances in memory."""
Psi = Float[np.ndarray, " m"]
Points = Float[np.ndarray, "samples dimensions"]
OtherPoints = Float[np.ndarray, "samples other_dimensions"]
Labels = tuple[Int[np.ndarray, "*labels samples"], Int[np.ndarray, "*labels counts"]]


def ksg_pair_terms(
    values: Float[np.ndarray, "columns samples"],
    pairs: Int[np.ndarray, "pairs 2"],
    k: int,
    psi: Psi,
) -> Float[np.ndarray, "pairs samples"]:
    """Return psi(n) + psi(k) - psi(n_x) - psi(n_y) of every sample for each pair of columns."""
    out = np.empty((len(pairs), values.shape[1]))
    for terms, (a, b) in zip(out, pairs.tolist(), strict=True):
        x, y = values[a], values[b]
        reach = _compute_reach(np.stack([x, y], axis=1), k)
        terms[:] = (
            psi[len(x)] + psi[k] - psi[_count_within(x, reach)] - psi[_count_within(y, reach)]
        )
    return out


def ross_column_terms(
    values: Float[np.ndarray, "columns samples"],
    labels: Int[np.ndarray, " samples"],
    counts: Int[np.ndarray, " labels"],
    k: int,
    psi: Psi,
) -> Float[np.ndarray, "columns samples"]:
    """Return psi(k_i) - psi(N_y) - psi(m_i) by column and sample; every label is shared."""
    groups = [np.flatnonzero(labels == label) for label in range(len(counts))]
    out = np.empty(values.shape)
    for terms, column in zip(out, values, strict=True):
        reach = np.empty(len(column))
        for own in groups:
            reach[own] = _compute_reach(column[own, None], min(k, len(own) - 1))
        near = np.minimum(k, counts[labels] - 1)
        terms[:] = psi[near] - psi[counts[labels]] - psi[_count_within(column, reach)]
    return out


def ross_vector_terms(
    rows: slice,
    points: Points,
    labels: Labels,
    k: int,
    psi: Psi,
    out: Float[np.ndarray, " samples"],
) -> None:
    """Fill in the Ross terms of some rows by Euclidean distance; every label is shared."""
    label, counts = labels
    for some in split_rows(rows, len(points)):
        away = compute_distances(points, some)
        near = np.minimum(k, counts[label[some]] - 1)
        reach = np.nextafter(get_label_reach(away, label, some, near), 0.0)
        within = (away <= reach[:, None]).sum(axis=1)
        out[some] = psi[near] - psi[counts[label[some]]] - psi[within]


def ross_vector_many_terms(
    rows: slice,
    points: Points,
    labels: Labels,
    k: int,
    psi: Psi,
    out: Float[np.ndarray, "labels samples"],
) -> None:
    """Fill in the Ross terms of some rows for each of many labels."""
    for label, counts, terms in zip(*labels, out, strict=True):
        ross_vector_terms(rows, points, (label, counts), k, psi, terms)


def ksg_vector_terms(
    rows: slice, x: Points, y: OtherPoints, k: int, psi: Psi, out: Float[np.ndarray, " samples"]
) -> None:
    """Fill in psi(n_x) + psi(n_y) of some rows, by largest difference."""
    for some in split_rows(rows, len(x)):
        sides = [
            np.array([np.abs(points - point).max(axis=1, initial=0.0) for point in points[some]])
            for points in (x, y)
        ]
        both = np.maximum(*sides)
        both[np.arange(len(both)), np.arange(some.start, some.stop)] = np.inf
        reach = np.nextafter(np.partition(both, k - 1, axis=1)[:, k - 1], 0.0)[:, None]
        n_x, n_y = ((away <= reach).sum(axis=1) for away in sides)
        out[some] = psi[n_x] + psi[n_y]


def split_rows(rows: slice, n: int) -> Iterator[slice]:
    """Split rows into blocks whose distances to all n rows fit into memory."""
    step = max(MAX_DISTANCES // max(n, 1), 1)
    for start in range(rows.start, rows.stop, step):
        yield slice(start, min(start + step, rows.stop))


def compute_distances(points: Points, some: slice) -> Float[np.ndarray, "some samples"]:
    """Return Euclidean distances of some rows to all, adding coordinates in order."""
    squares = np.zeros((some.stop - some.start, len(points)))
    for column in points.T:
        squares += (column[some, None] - column) ** 2
    return np.sqrt(squares)


def get_label_reach(
    away: Float[np.ndarray, "some samples"],
    labels: Int[np.ndarray, " samples"],
    some: slice,
    near: Int[np.ndarray, " some"],
) -> Float[np.ndarray, " some"]:
    """Return the distance of each row to its near-th nearest other with the same label."""
    others = np.where(labels[some, None] == labels, away, np.inf)
    others[np.arange(len(others)), np.arange(some.start, some.stop)] = np.inf
    ordered = np.sort(others, axis=1)
    return np.asarray(ordered[np.arange(len(others)), near - 1])


def _compute_reach(points: Points, k: int) -> Float[np.ndarray, " samples"]:
    """Return the largest number below the distance to the k-th nearest other row."""
    from scipy.spatial import KDTree  # noqa: PLC0415  only when needed

    away, _ = KDTree(points, leafsize=8).query(points, [k + 1], p=np.inf)
    return np.asarray(np.nextafter(away[:, 0], 0.0))


def _count_within(
    values: Float[np.ndarray, " samples"], reach: Float[np.ndarray, " samples"]
) -> Int[np.ndarray, " samples"]:
    """Count the values within reach of each value, itself included.

    Differences are compared with the reach; ``value ± reach``, which rounds differently, only
    gives the first guess.
    """
    ordered = np.sort(values)
    last = np.searchsorted(ordered, values + reach, "right") - 1
    first = np.searchsorted(ordered, values - reach, "left")
    padded = np.concatenate([[-np.inf], ordered, [np.inf]])
    while (over := padded[last + 2] - values <= reach).any():
        last += over
    while (over := padded[last + 1] - values > reach).any():
        last -= over
    while (over := values - padded[first] <= reach).any():
        first -= over
    while (over := values - padded[first + 1] > reach).any():
        first += over
    return np.asarray(last - first + 1)
