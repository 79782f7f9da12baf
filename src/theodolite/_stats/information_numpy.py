"""The compiled loops again in numpy: where there is no library, and to hold it against.

Both give the same bits.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int

BLOCK = 1 << 22
"""Distances that are in memory at a time."""
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
    """psi(n) + psi(k) - psi(n_x) - psi(n_y) of every sample for each pair of columns."""
    out = np.empty((len(pairs), values.shape[1]))
    for terms, (a, b) in zip(out, pairs.tolist(), strict=True):
        x, y = values[a], values[b]
        reach = _reach(np.stack([x, y], axis=1), k)
        terms[:] = psi[len(x)] + psi[k] - psi[_within(x, reach)] - psi[_within(y, reach)]
    return out


def ross_column_terms(
    values: Float[np.ndarray, "columns samples"],
    labels: Int[np.ndarray, " samples"],
    counts: Int[np.ndarray, " labels"],
    k: int,
    psi: Psi,
) -> Float[np.ndarray, "columns samples"]:
    """psi(k_i) - psi(N_y) - psi(m_i) of every sample for each column; every label has two."""
    groups = [np.flatnonzero(labels == label) for label in range(len(counts))]
    out = np.empty(values.shape)
    for terms, column in zip(out, values, strict=True):
        reach = np.empty(len(column))
        for own in groups:
            reach[own] = _reach(column[own, None], min(k, len(own) - 1))
        near = np.minimum(k, counts[labels] - 1)
        terms[:] = psi[near] - psi[counts[labels]] - psi[_within(column, reach)]
    return out


def ross_vector_terms(
    rows: slice,
    points: Points,
    labels: Labels,
    k: int,
    psi: Psi,
    out: Float[np.ndarray, " samples"],
) -> None:
    """Of some rows, by Euclidean distance; no label is alone."""
    own, counts = labels
    for some in row_blocks(rows, len(points)):
        away = euclidean(points, some)
        near = np.minimum(k, counts[own[some]] - 1)
        reach = np.nextafter(reach_of_label(away, own, some, near), 0.0)
        within = (away <= reach[:, None]).sum(axis=1)
        out[some] = psi[near] - psi[counts[own[some]]] - psi[within]


def ross_vector_many_terms(
    rows: slice,
    points: Points,
    labels: Labels,
    k: int,
    psi: Psi,
    out: Float[np.ndarray, "labels samples"],
) -> None:
    """The same for many labels."""
    for own, counts, terms in zip(*labels, out, strict=True):
        ross_vector_terms(rows, points, (own, counts), k, psi, terms)


def ksg_vector_terms(
    rows: slice, x: Points, y: OtherPoints, k: int, psi: Psi, out: Float[np.ndarray, " samples"]
) -> None:
    """psi(n_x) + psi(n_y) of some rows, by largest difference."""
    for some in row_blocks(rows, len(x)):
        sides = [
            np.array([np.abs(points - point).max(axis=1, initial=0.0) for point in points[some]])
            for points in (x, y)
        ]
        both = np.maximum(*sides)
        both[np.arange(len(both)), np.arange(some.start, some.stop)] = np.inf
        reach = np.nextafter(np.partition(both, k - 1, axis=1)[:, k - 1], 0.0)[:, None]
        n_x, n_y = ((away <= reach).sum(axis=1) for away in sides)
        out[some] = psi[n_x] + psi[n_y]


def row_blocks(rows: slice, n: int) -> Iterator[slice]:
    """So few rows at a time that their distances to all fit into memory."""
    step = max(BLOCK // max(n, 1), 1)
    for start in range(rows.start, rows.stop, step):
        yield slice(start, min(start + step, rows.stop))


def euclidean(points: Points, some: slice) -> Float[np.ndarray, "some samples"]:
    """Distances of some rows to all, coordinates added up one after the other."""
    squares = np.zeros((some.stop - some.start, len(points)))
    for column in points.T:
        squares += (column[some, None] - column) ** 2
    return np.sqrt(squares)


def reach_of_label(
    away: Float[np.ndarray, "some samples"],
    labels: Int[np.ndarray, " samples"],
    some: slice,
    near: Int[np.ndarray, " some"],
) -> Float[np.ndarray, " some"]:
    """The distance of each row to its near-th nearest other of the same label."""
    others = np.where(labels[some, None] == labels, away, np.inf)
    others[np.arange(len(others)), np.arange(some.start, some.stop)] = np.inf
    ordered = np.sort(others, axis=1)
    return np.asarray(ordered[np.arange(len(others)), near - 1])


def _reach(points: Points, k: int) -> Float[np.ndarray, " samples"]:
    """Just short of the distance to the k-th nearest other, by largest difference."""
    from scipy.spatial import KDTree  # noqa: PLC0415  only when needed

    away, _ = KDTree(points, leafsize=8).query(points, [k + 1], p=np.inf)
    return np.asarray(np.nextafter(away[:, 0], 0.0))


def _within(
    values: Float[np.ndarray, " samples"], reach: Float[np.ndarray, " samples"]
) -> Int[np.ndarray, " samples"]:
    """How many values lie within reach of each, itself included.

    What counts is the difference compared with the reach, never ``value ± reach``, which rounds
    differently: that only says where to look.
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
