"""Rows that are more alike than independent samples are: groups that nobody declared."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from theodolite._stats.joint.inputs import stratum_scores, true_columns

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
    """Correlation of rows that stand next to each other, given their labels and true concepts."""

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
    t, correlation = _adjacent(_subtract_facts(z, strata, numbers))
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


def _subtract_facts(
    z: Float[np.ndarray, "samples columns"],
    strata: Int[np.ndarray, "samples concepts"],
    labels: Int[np.ndarray, " samples"],
) -> Float[np.ndarray, "samples columns"]:
    """Return what labels and all true concepts leave of the scores.

    Values may carry other concepts: rows of the same truth are then alike, and independent.
    """
    truth = true_columns(strata, np.ones(len(z)))[0]
    z, truth = _subtract_means(z, labels), _subtract_means(truth, labels)
    square = truth.T @ truth + np.eye(truth.shape[1])
    z = z - truth @ np.linalg.solve(square, truth.T @ z)
    facts = np.concatenate([labels[:, None], strata], axis=1)
    _, cells, sizes = np.unique(facts, axis=0, return_inverse=True, return_counts=True)
    cells = cells.reshape(-1)
    common = sizes[cells] > 2 * MAX_NEIGHBORS  # more than a group that is looked for
    return np.where(common[:, None], _subtract_means(z, cells), z)


def _subtract_means(
    columns: Float[np.ndarray, "samples columns"], group: Int[np.ndarray, " samples"]
) -> Float[np.ndarray, "samples columns"]:
    sums = np.zeros((int(group.max()) + 1, columns.shape[1]))
    np.add.at(sums, group, columns)
    return np.asarray(columns - (sums / np.bincount(group)[:, None])[group])


def _adjacent(left: Float[np.ndarray, "samples columns"]) -> tuple[float, float]:
    """Return t and size of the correlation of adjacent rows."""
    products = (left[:-1] * left[1:]).sum(axis=1)
    size, spread = float((left**2).sum(axis=1).mean()), float(products.std(ddof=1))
    if not size > 0 or not spread > 0:
        return 0.0, 0.0
    mean = float(products.mean())
    return mean / (spread / np.sqrt(len(products))), mean / size
