"""Rows that repeat others: samples that nobody declared as clusters."""

import numpy as np
from jaxtyping import Int, Shaped

FEWEST_DISTINCT = 20
ALIKE_BY_HALF = 0.95
"""Half of the columns must tell nearly as many rows apart as all do: else equal rows are what few
levels make of different samples."""
FEWEST_REPEATS = 0.01
"""A pair that is equal by accident does no harm; the whole evidence need not come in clusters."""


def copy_clusters(
    values: Shaped[np.ndarray, "samples columns"], *others: Shaped[np.ndarray, " samples *n"]
) -> Int[np.ndarray, " samples"] | None:
    """Return for each row the first row equal to it; None if (nearly) no rows are copies.

    Args:
        values: What was measured of each sample.
        *others: What copies must agree on, too: truth, labels.

    >>> random = np.random.default_rng(0)
    >>> rows = random.normal(size=(25, 3))
    >>> copy_clusters(rows) is None
    True
    >>> copy_clusters(np.repeat(rows, 2, axis=0))[:6].tolist()
    [0, 0, 2, 2, 4, 4]
    """
    rows = np.asarray(values).reshape(len(values), -1)
    if len(rows) < 2 or not rows.shape[1]:
        return None
    columns = [rows, *(np.asarray(other).reshape(len(rows), -1) for other in others)]
    first, number = _equal_rows(np.hstack([_codes(part) for part in columns]))
    distinct = len(first)
    if len(rows) - distinct < FEWEST_REPEATS * len(rows) or distinct < FEWEST_DISTINCT:
        return None
    by_half = len(_equal_rows(_codes(rows[:, ::2]))[0])
    return first[number] if by_half >= ALIKE_BY_HALF * distinct else None


def _codes(part: np.ndarray) -> Int[np.ndarray, "samples columns"]:
    """Numbers of the distinct values of each column: kinds of numbers can then stand together."""
    return np.stack([np.unique(column, return_inverse=True)[1] for column in part.T], axis=1)


def _equal_rows(codes: Int[np.ndarray, "samples columns"]) -> tuple[np.ndarray, np.ndarray]:
    """The first of each kind of row, and of each row its kind."""
    _, first, number = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    return first, number.reshape(-1)
