"""Predictive information: by how much a value lowers the surprise about a label.

The predictor has never seen the cluster that it is asked about, so what it gains is real: no null
is needed to believe it. Only ranks of values are used, nothing is drawn, and a value that tells
nothing gains nothing, or a little less.

Each row's prediction is a mixture: of nothing (the share of each label), of tables of labels by 2,
4, … 128 equal groups of values with three strengths of smoothing, and of a normal model of each
label. A model's weight is what it gained on all other clusters.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri

from theodolite._stats import predictive_small
from theodolite._stats.native import functions as native
from theodolite._stats.native.library import has_native
from theodolite._stats.threads import run_in_slices

FEWEST_CLUSTERS, FEWEST_LABELS = 4, 2
SMALL_TERMS = 10_000
"""Rows times columns up to which numpy is used: then few samples give the same bits with and
without the compiled library. Of more, they agree to the last few digits."""
SMALL = 1 << 16
"""Rows times columns up to which one thread does."""


@dataclass(frozen=True, eq=False)
class PredictiveTerms:
    """Of each row, in natural logarithms; NaN where its stratum has too few clusters or labels."""

    out: Float[np.ndarray, "columns samples"]
    """What the value gained on the row's label, the row's cluster left out."""
    inside: Float[np.ndarray, "columns samples"]
    """The same with its cluster counted: about as much too high as the other is too low."""
    surprise: Float[np.ndarray, "columns samples"]
    """What there was to gain: the surprise of the label without any value."""
    learned: Float[np.ndarray, "columns samples"] | None = None
    """The mean of ``out`` and ``inside`` if doing without any value is no choice: for estimates
    that cost so much to learn that what is there may not pay."""
    parameters: Float[np.ndarray, " columns"] | None = None
    """Numbers that had to be learned then."""

    def column(self, j: int) -> "PredictiveTerms":
        """Return the terms of one column alone."""
        parts = (self.out, self.inside, self.surprise, self.learned, self.parameters)
        return PredictiveTerms(*(None if part is None else part[j : j + 1] for part in parts))  # type: ignore[arg-type]


def predictive_terms(
    values: Float[np.ndarray, "samples columns"],
    labels: Int[np.ndarray, " samples"],
    clusters: Int[np.ndarray, " samples"] | None = None,
    strata: Int[np.ndarray, "columns samples"] | None = None,
) -> PredictiveTerms:
    """The terms of each column, each stratum by itself; rows of a negative stratum are left out.

    Rows of one cluster count as one together, however many they are.

    >>> column = np.arange(1, 9)[:, None] / 10
    >>> terms = predictive_terms(column, np.array([0, 0, 0, 1, 0, 1, 1, 1]))
    >>> terms.out.mean().round(6), terms.inside.mean().round(6), terms.surprise.mean().round(6)
    (np.float64(0.253044), np.float64(0.267706), np.float64(0.826679))
    """
    columns = np.array(np.asarray(values, np.float64).T, order="C")
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    if clusters is not None:
        clusters = np.unique(clusters, return_inverse=True)[1].astype(np.int64)
        if len(clusters) and clusters.max() + 1 == len(clusters):  # each row one of its own
            clusters = None
    whole = np.zeros(columns.shape, np.int64) if strata is None else np.asarray(strata, np.int64)
    terms = np.full((3, *columns.shape), np.nan)
    if not has_native() or is_small(columns.shape, int(labels.max(initial=0)) + 1):
        _small(columns, labels, clusters, whole, terms)
    else:
        _compiled(columns, labels, clusters, whole, terms)
    return PredictiveTerms(*terms)


def is_small(shape: tuple[int, int], n_labels: int) -> bool:
    """Return whether numpy does, which makes a table of rows and labels."""
    n_columns, n = shape
    return n_columns * n <= SMALL_TERMS and n * n_labels <= 100 * SMALL_TERMS


def _small(
    columns: Float[np.ndarray, "columns samples"],
    labels: Int[np.ndarray, " samples"],
    clusters: Int[np.ndarray, " samples"] | None,
    strata: Int[np.ndarray, "columns samples"],
    terms: Float[np.ndarray, "3 columns samples"],
) -> None:
    for column in range(len(columns)):
        for stratum in range(int(strata[column].max(initial=-1)) + 1):
            rows = np.flatnonzero(strata[column] == stratum)
            result = _stratum(columns[column], labels, clusters, rows)
            if result is not None:
                rows, own = result
                terms[:, column, rows] = own


def _compiled(
    columns: Float[np.ndarray, "columns samples"],
    labels: Int[np.ndarray, " samples"],
    clusters: Int[np.ndarray, " samples"] | None,
    strata: Int[np.ndarray, "columns samples"],
    terms: Float[np.ndarray, "3 columns samples"],
) -> None:
    """All strata of some columns at once in each thread, rows put cluster by cluster before."""
    single = clusters is None
    own = np.arange(len(labels)) if clusters is None else clusters
    rows = slice(None) if single else np.argsort(own, kind="stable")
    own, labels, n_labels = own[rows], labels[rows], int(labels.max(initial=0)) + 1
    n_strata = int(strata.max(initial=-1)) + 1

    # Weights of 1 add up to the same in any order of equal values; others need a fixed order.
    sort: Literal["quicksort", "stable"] = "quicksort" if single else "stable"

    def of(some: slice) -> None:
        part, group = (np.ascontiguousarray(array[some][:, rows]) for array in (columns, strata))
        order, result = np.argsort(part, axis=1, kind=sort), np.full((3, *part.shape), np.nan)
        native.predictive_label_terms(
            (part, order), (group, n_strata), (labels, n_labels), (own, single), result
        )
        terms[:, some, rows] = result

    run_in_slices(len(columns), of, small=columns.size <= SMALL)


def _stratum(
    column: Float[np.ndarray, " samples"],
    labels: Int[np.ndarray, " samples"],
    clusters: Int[np.ndarray, " samples"] | None,
    rows: Int[np.ndarray, " rows"],
) -> tuple[Int[np.ndarray, " some"], Float[np.ndarray, "3 some"]] | None:
    """The rows of labels that at least two clusters have, cluster by cluster, and their terms."""
    chosen = rows_that_recur(labels, clusters, rows)
    if chosen is None:
        return None
    rows, starts, numbers, n_labels = chosen
    n_clusters = len(starts) - 1
    ranks = midranks(column[rows], np.repeat(1 / np.diff(starts), np.diff(starts)), n_clusters)
    normal = ndtri(np.clip(ranks, 1 / (4 * n_clusters), 1 - 1 / (4 * n_clusters)))
    terms = np.empty((3, len(rows)))
    predictive_small.stratum_terms(ranks, normal, numbers, starts, n_labels, terms)
    return rows, terms


def rows_that_recur(
    labels: Int[np.ndarray, " samples"],
    clusters: Int[np.ndarray, " samples"] | None,
    rows: Int[np.ndarray, " rows"],
) -> (
    tuple[Int[np.ndarray, " some"], Int[np.ndarray, " starts"], Int[np.ndarray, " some"], int]
    | None
):
    """Rows of labels that two clusters have, cluster by cluster; where each cluster starts; labels
    numbered anew, and how many. None where too few are left."""
    own = None if clusters is None else clusters[rows]
    enough = _clusters_by_label(labels[rows], own) >= FEWEST_LABELS
    rows = rows[enough[labels[rows]]]
    if clusters is None:
        starts = np.arange(len(rows) + 1)
    else:
        rows = rows[np.argsort(clusters[rows], kind="stable")]
        starts = np.flatnonzero(np.diff(clusters[rows], prepend=-1, append=-1))
    n_labels = int(enough.sum())
    if len(starts) - 1 < FEWEST_CLUSTERS or n_labels < FEWEST_LABELS:
        return None
    return rows, starts, (np.cumsum(enough) - 1)[labels[rows]], n_labels


def _clusters_by_label(
    labels: Int[np.ndarray, " rows"], clusters: Int[np.ndarray, " rows"] | None
) -> Int[np.ndarray, " labels"]:
    if clusters is None:
        return np.bincount(labels)
    pairs = np.unique(labels * (int(clusters.max(initial=0)) + 1) + clusters)
    return np.bincount(pairs // (int(clusters.max(initial=0)) + 1))


def midranks(
    values: Float[np.ndarray, " rows"], weights: Float[np.ndarray, " rows"], total: float
) -> Float[np.ndarray, " rows"]:
    """The share of the weight that lies below each value, equal ones counted half.

    >>> midranks(np.array([0.1, 0.1, 0.3, 0.8]), np.ones(4), 4)
    array([0.25 , 0.25 , 0.625, 0.875])
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    weight = np.add.reduceat(weights[order], first)
    below = np.cumsum(weight) - weight
    ranks = np.empty(len(values))
    sizes = np.diff(np.r_[first, len(values)])
    ranks[order] = np.repeat((below + weight / 2) / total, sizes)
    return ranks
