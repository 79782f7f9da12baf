"""Estimate the predictive information between pairs of columns within the strata of both.

Used by the leakage metric `concept_leakage`. The density of pairs of ranks is learned without the
cluster of the row and compared with independent ranks. It mixes a constant, joint normal scores and
tables of 2, 4 and 8 equal bins per column, weighted by their gains on all other clusters.
"""

from collections.abc import Iterator
from typing import Literal

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri

from theodolite._stats.native import functions as native
from theodolite._stats.native.library import has_native
from theodolite._stats.predictive import FEWEST_CLUSTERS, SMALL, midranks
from theodolite._stats.predictive_pairs_numpy import pair_stratum_terms
from theodolite._stats.predictive_small import EDGE
from theodolite._stats.threads import run_in_slices

SMALL_TERMS = 40_000
"""Maximum number of rows times pairs for which numpy is used, as for labels."""
BLOCK_BYTES = 1 << 25

Pairs = Int[np.ndarray, "pairs 2"]
Terms = Float[np.ndarray, "2 pairs samples"]


def predictive_pair_terms(
    values: Float[np.ndarray, "samples columns"],
    pairs: Pairs,
    clusters: Int[np.ndarray, " samples"] | None = None,
    strata: Int[np.ndarray, "columns samples"] | None = None,
) -> Iterator[tuple[slice, Terms]]:
    """Yield the gains of pairs of columns on each other, in blocks of pairs that fit into memory.

    Each row has two terms in nats: with its cluster left out, and with it included. NaN where fewer
    than four clusters agree in the strata of both columns, or where a stratum is negative.

    >>> x = np.linspace(0, 1, 40)
    >>> _, (out, inside) = next(predictive_pair_terms(np.stack([x, x**3], 1), np.array([[0, 1]])))
    >>> out.mean().round(3), inside.mean().round(3)
    (np.float64(2.261), np.float64(2.01))
    """
    columns = np.array(np.asarray(values, np.float64).T, order="C")
    if clusters is not None:
        clusters = np.unique(clusters, return_inverse=True)[1].astype(np.int64)
        if len(clusters) and clusters.max() + 1 == len(clusters):  # each row one of its own
            clusters = None
    whole = np.zeros(columns.shape, np.int64) if strata is None else np.asarray(strata, np.int64)
    pairs = np.ascontiguousarray(pairs, np.int64)
    step = max(BLOCK_BYTES // (16 * max(columns.shape[1], 1)), 1)
    small = len(pairs) * columns.shape[1] <= SMALL_TERMS
    fill = _fill_native if has_native() and not small else _fill_numpy
    for at in range(0, len(pairs), step):
        block = slice(at, min(at + step, len(pairs)))
        terms = np.full((2, block.stop - at, columns.shape[1]), np.nan)
        fill(columns, pairs[block], clusters, whole, terms)
        yield block, terms


def _fill_numpy(
    columns: Float[np.ndarray, "columns samples"],
    pairs: Pairs,
    clusters: Int[np.ndarray, " samples"] | None,
    strata: Int[np.ndarray, "columns samples"],
    terms: Terms,
) -> None:
    n_strata = int(strata.max(initial=-1)) + 1
    for number, (i, j) in enumerate(pairs.tolist()):
        known = (strata[i] >= 0) & (strata[j] >= 0)
        group = np.where(known, strata[i] * n_strata + strata[j], -1)
        for stratum in np.unique(group[known]):
            rows = np.flatnonzero(group == stratum)
            starts = np.arange(len(rows) + 1)
            if clusters is not None:
                rows = rows[np.argsort(clusters[rows], kind="stable")]
                starts = np.flatnonzero(np.diff(clusters[rows], prepend=-1, append=-1))
            if len(starts) > FEWEST_CLUSTERS:
                terms[:, number, rows] = _compute_stratum_terms(columns[[i, j]][:, rows], starts)


def _compute_stratum_terms(
    both: Float[np.ndarray, "2 rows"], starts: Int[np.ndarray, " clusters_and_one"]
) -> Float[np.ndarray, "2 rows"]:
    n, sizes = len(starts) - 1, np.diff(starts)
    weights = np.repeat(1 / sizes, sizes)
    ranks = np.array([midranks(side, weights, n) for side in both])
    normal = ndtri(np.clip(ranks, 1 / (4 * n), 1 - 1 / (4 * n)))
    squares = (weights * normal**2).sum(axis=1, keepdims=True)
    normal = normal * np.sqrt(np.divide(n, squares, out=np.zeros((2, 1)), where=squares > 0))
    most = max(np.bincount(np.unique(side, return_inverse=True)[1], weights).max() for side in both)
    return pair_stratum_terms(ranks, normal, starts, smooth=bool(most <= n / 2 + EDGE))


def _fill_native(
    columns: Float[np.ndarray, "columns samples"],
    pairs: Pairs,
    clusters: Int[np.ndarray, " samples"] | None,
    strata: Int[np.ndarray, "columns samples"],
    terms: Terms,
) -> None:
    single = clusters is None
    own = np.arange(columns.shape[1]) if clusters is None else clusters
    rows = slice(None) if single else np.argsort(own, kind="stable")
    columns, strata = (np.ascontiguousarray(array[:, rows]) for array in (columns, strata))
    sort: Literal["quicksort", "stable"] = "quicksort" if single else "stable"
    order, n_strata = np.argsort(columns, axis=1, kind=sort), int(strata.max(initial=-1)) + 1
    out, inside = (np.full(terms.shape[1:], np.nan) for _ in range(2))
    clusters_of_rows = np.ascontiguousarray(own[rows])

    def fill(block: slice) -> None:
        native.predictive_pair_terms(
            (columns, order), (strata, n_strata), pairs[block], (clusters_of_rows, single),
            (out[block], inside[block]),
        )  # fmt: skip

    run_in_slices(len(pairs), fill, small=out.size <= SMALL)
    terms[0][:, rows], terms[1][:, rows] = out, inside
