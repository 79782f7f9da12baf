"""Rows that repeat others, and rows that nearly do: samples that nobody declared as clusters."""

import numpy as np
from jaxtyping import Float, Int, Shaped

from theodolite._stats.ranks import average_ranks

FEWEST_DISTINCT = 20
ALIKE_BY_HALF = 0.95
"""Half of the columns must tell nearly as many rows apart as all do: else equal rows are what few
levels make of different samples."""
FEWEST_REPEATS = 0.01
"""A pair that is equal by accident does no harm; the whole evidence need not come in clusters."""
MOST_COLUMNS = 12
MOST_ROWS = 100_000
MOST_QUERIES = 2_000
CLOSE = 0.01
FIFTH = 5


def copy_clusters(
    values: Shaped[np.ndarray, "samples columns"], *others: Shaped[np.ndarray, " samples *n"]
) -> Int[np.ndarray, " samples"] | None:
    """For each row the first row that is equal to it; none if (nearly) no rows are copies.

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


def near_copy_share(values: Shaped[np.ndarray, "samples columns"]) -> float:
    """The share of rows whose first neighbor is far closer than their second.

    Of independent rows the volumes of the balls that reach to one neighbor after the other grow by
    independent steps: j times the logarithm of what the j-th reach grows by, times the dimension,
    is exponential. The dimension is that of the rows themselves, taken from the second to the fifth
    neighbor, for concepts that go together span fewer dimensions than there are concepts. Of
    independent rows a hundredth is so close. NaN where it cannot be known: fewer than two columns
    of many values, few rows, or too many.
    """
    rows = np.asarray(values).reshape(len(values), -1)
    counts = np.array([len(np.unique(column)) for column in rows.T])
    chosen = np.argsort(-counts, kind="stable")[:MOST_COLUMNS]
    chosen = chosen[counts[chosen] >= FEWEST_DISTINCT]
    if len(chosen) < 2 or not FEWEST_DISTINCT <= len(rows) <= MOST_ROWS:
        return float("nan")
    from scipy.spatial import cKDTree  # noqa: PLC0415  only when needed

    ranks = average_ranks(rows[:, np.sort(chosen)].T).T / len(rows)
    queries = ranks[:: -(-len(rows) // MOST_QUERIES)]
    reach: Float[np.ndarray, "queries neighbors"] = cKDTree(ranks).query(queries, FIFTH + 1)[0]
    reach = reach[reach[:, 1] > 0][:, 1:]  # equal rows are copies, or what few levels make
    if len(reach) < FEWEST_DISTINCT:
        return float("nan")
    steps = np.log(reach[:, 2:] / reach[:, 1:-1]) * np.arange(2, FIFTH)
    width = float(steps.mean())  # one over the dimension
    apart = np.log(reach[:, 1] / reach[:, 0])
    return float((apart > -np.log(CLOSE) * width).mean()) if width > 0 else float("nan")


def _codes(part: np.ndarray) -> Int[np.ndarray, "samples columns"]:
    """Numbers of the distinct values of each column: kinds of numbers can then stand together."""
    return np.stack([np.unique(column, return_inverse=True)[1] for column in part.T], axis=1)


def _equal_rows(codes: Int[np.ndarray, "samples columns"]) -> tuple[np.ndarray, np.ndarray]:
    """The first of each kind of row, and of each row its kind."""
    _, first, number = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    return first, number.reshape(-1)
