"""Rows that are more alike than independent samples are: groups that nobody declared."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from theodolite._stats.joint.inputs import stratum_scores

MAX_COLUMNS = 12
MIN_DISTINCT = 20
MAX_NEIGHBORS = 20
MAX_QUERIES = 2_000
MAX_ROWS = 100_000
GAP, GAP_SPREAD = 1.15, 3.0
"""Of independent rows the largest gap exceeds 1.15 + 3 / sqrt(rows) in about 1 of 2,000 draws."""
MIN_T, MIN_CORRELATION = 4.0, 0.05


@dataclass(frozen=True)
class SimilarRows:
    """What shows that rows come in groups."""

    group_size: int
    """Rows of a group, by the gap between neighbors; 0 where only the order shows groups."""
    correlation: float
    """Correlation of rows that stand next to each other, labels taken into account."""

    @property
    def summary(self) -> str:
        """Half a sentence for people."""
        size = f" (groups of about {self.group_size})" if self.group_size else ""
        return (
            f"neighboring rows are alike{size}: declare clusters, or each row as its own cluster "
            "if they are independent"
        )


def find_similar_rows(
    values: Float[np.ndarray, "samples columns"],
    strata: Int[np.ndarray, "samples columns"],
    labels: Int[np.ndarray, " samples"],
) -> SimilarRows | None:
    """Return what shows groups of similar rows; None where nothing does.

    Args:
        values: What the model says of each sample, in the order of the samples.
        strata: Truth of the concept of each column; -1 where unknown.
        labels: The true class.
    """
    rows = len(values)
    if not 8 <= rows <= MAX_ROWS:
        return None
    distinct = np.array([len(np.unique(column)) for column in values.T])
    chosen = np.argsort(-distinct, kind="stable")[:MAX_COLUMNS]
    weights = np.ones(rows)
    z = np.stack([stratum_scores(values[:, j], strata[:, j], weights)[1] for j in chosen], axis=1)
    numbers = np.unique(labels, return_inverse=True)[1]
    size = _group_size(z[:, distinct[chosen] >= MIN_DISTINCT], int(numbers.max()) + 1)
    t, correlation = _adjacent(z, numbers)
    ordered = t > MIN_T and correlation > MIN_CORRELATION
    return SimilarRows(size, correlation) if size or ordered else None


def _group_size(z: Float[np.ndarray, "samples columns"], labels: int) -> int:
    """Return the size at which the distance to the next neighbor jumps; 0 where it never does.

    Of independent rows the volumes that reach to one neighbor after the other grow by independent
    steps: k times the logarithm of the k-th step is about the same for every k.
    """
    n = len(z)
    if z.shape[1] < 2:
        return 0
    reach = max(min(MAX_NEIGHBORS, n // (2 * labels), (n - 2) // 4), 2)
    from scipy.spatial import cKDTree  # noqa: PLC0415  only when needed

    queries = z[:: -(-n // MAX_QUERIES)]
    distances = cKDTree(z).query(queries, 2 * reach + 1)[0][:, 1:]
    distances = distances[distances[:, 0] > 0]
    if len(distances) < MIN_DISTINCT:
        return 0
    steps = np.log(distances[:, 1:] / distances[:, :-1]).mean(axis=0)
    gaps = np.arange(1, 2 * reach) * steps
    usual = gaps[reach:].mean()
    if not usual > 0:
        return 0
    largest = int(np.argmax(gaps[:reach]))
    line = GAP + GAP_SPREAD / np.sqrt(len(distances))
    return largest + 2 if gaps[largest] / usual > line else 0


def _adjacent(
    z: Float[np.ndarray, "samples columns"], labels: Int[np.ndarray, " samples"]
) -> tuple[float, float]:
    """Return t and size of the correlation of adjacent rows, means of labels subtracted."""
    sums = np.zeros((int(labels.max()) + 1, z.shape[1]))
    np.add.at(sums, labels, z)
    left = z - (sums / np.bincount(labels)[:, None])[labels]
    products = (left[:-1] * left[1:]).sum(axis=1)
    size, spread = float((left**2).sum(axis=1).mean()), float(products.std(ddof=1))
    if not size > 0 or not spread > 0:
        return 0.0, 0.0
    mean = float(products.mean())
    return mean / (spread / np.sqrt(len(products))), mean / size
