"""Call the functions of the native library; their C files describe them.

They take contiguous arrays of the types in ``SIGNATURES`` (others raise an error before C is
called), read lengths from shapes, and write into the last arrays. They release the global
interpreter lock, so callers can use `theodolite._stats.threads`.
"""

import ctypes
from functools import cache
from typing import Any

import numpy as np
from numpy.ctypeslib import ndpointer

from theodolite._stats.native.library import load_library

Array = np.ndarray


def _read(kind: Any) -> Any:
    return ndpointer(kind, flags="C_CONTIGUOUS")


def _write(kind: Any) -> Any:
    return ndpointer(kind, flags=("C_CONTIGUOUS", "WRITEABLE"))


_N, _STEP = ctypes.c_int64, ctypes.c_uint64
_F, _I, _I4, _U1, _U8 = (_read(t) for t in (np.float64, np.int64, np.int32, np.uint8, np.uint64))
_B = _read(np.bool_)
_OUT, _OUT_I, _OUT_I4, _OUT_U1 = (_write(t) for t in (np.float64, np.int64, np.int32, np.uint8))
_INDEX = (_I4, _F, _F)
SIGNATURES: dict[str, tuple[Any, ...]] = {
    "bucket_tables": (_N, _N, _F, _OUT_I4, _OUT, _OUT),
    "ksg_pair_terms": (_N, _N, _F, _F, _I4, _I4, *_INDEX, _I, _N, _F, _OUT),
    "cell_terms": (_N, _N, _U1, _I, _F, _OUT),
    "ross_column_terms": (_N, _N, _N, _F, _I4, *_INDEX, _I, _I, _N, _F, _OUT),
    "stratified_pair_terms": (_N, _N, _N, _F, _I4, _I, _B, _I, _N, _F, _OUT),
    "ross_vector_terms": (_N, _N, _N, _N, _F, _I, _I, _N, _F, _OUT),
    "ksg_vector_terms": (_N, _N, _N, _N, _N, _F, _F, _N, _F, _OUT),
    "ross_vector_many_terms": (_N, _N, _N, _N, _N, _F, _I, _I, _N, _F, _OUT),
    "label_vector_terms": (_N, _N, _N, _N, _F, _I, _I, _N, _F, _OUT),
    "count_draws": (_N, _N, _U8, _STEP, _U8, _OUT_U1),
    "add_to_groups": (_N, _N, _F, _I, _OUT),
    "add_products": (_N, _N, _N, _F, _F, _OUT),
    "joint_counts": (_N, _N, _B, _B, _I, _I, _I, _I, _OUT_I),
    "pixel_ranks": (_N, _N, _N, _F, _I, _I, _OUT_I),
    "predictive_label_terms": (_N, _N, _N, _N, _F, _I, _I, _I, _I, _N, _OUT),
    "predictive_pair_terms": (_N, _N, _N, _F, _I, _I, _I, _I, _N, _OUT, _OUT),
}


@cache
def _function(name: str) -> Any:
    function = getattr(load_library(), name)
    function.argtypes, function.restype = SIGNATURES[name], ctypes.c_int
    return function


def _call(name: str, *arguments: Any) -> None:
    if _function(name)(*arguments):
        raise MemoryError(name)


def _check_points(points: Array, labels: Array, n_labels: int) -> None:
    """Raise unless vectors are finite and labels are numbers below ``n_labels``.

    C compares distances and reads tables at counts of them: NaN would make it read outside.
    """
    if not np.isfinite(points).all():
        raise ValueError("vectors hold NaN or infinity")
    if labels.size and not 0 <= labels.min() <= labels.max() < n_labels:
        raise ValueError(f"labels are not numbers from 0 to {n_labels - 1}")


def bucket_tables(ordered: Array, tables: Array, lowest: Array, scale: Array) -> None:
    """Fill in the bucket starts, lowest value and scale of each sorted column."""
    _call("bucket_tables", *ordered.shape, ordered, tables, lowest, scale)


def ksg_pair_terms(
    values: Array, order: tuple[Array, ...], pairs: Array, k: int, psi: Array, out: Array
) -> None:
    """Fill in KSG terms of pairs; ``order`` is ordered, order, rank and ``bucket_tables``."""
    _call("ksg_pair_terms", len(pairs), values.shape[1], values, *order, pairs, k, psi, out)


def cell_terms(truth: Array, pairs: Array, cells: Array, out: Array) -> None:
    """Fill in, for each pair and sample, the number of its combination of two truths."""
    _call("cell_terms", len(pairs), truth.shape[1], truth, pairs, cells, out)


def ross_column_terms(
    order: tuple[Array, ...], labels: Array, counts: Array, k: int, psi: Array, out: Array
) -> None:
    """Fill in Ross terms of columns; ``order`` is ordered, order and ``bucket_tables``."""
    sizes = (*order[0].shape, len(counts))
    _call("ross_column_terms", *sizes, *order, labels, counts, k, psi, out)


def stratified_pair_terms(
    columns: tuple[Array, Array], strata: tuple[Array, int, Array], pairs: Array, k: int,
    psi: Array, out: Array,
) -> None:  # fmt: skip
    """Fill in terms of pairs within strata, given as numbers, their count and tied columns."""
    (values, order), (numbers, n_strata, ties) = columns, strata
    sizes = (len(pairs), values.shape[1], n_strata)
    _call("stratified_pair_terms", *sizes, values, order, numbers, ties, pairs, k, psi, out)


def ross_vector_terms(
    rows: slice, points: Array, labels: tuple[Array, Array], k: int, psi: Array, out: Array
) -> None:
    """Fill in Ross terms of vectors; ``labels`` are the labels and their counts, all shared."""
    _check_points(points, labels[0], len(labels[1]))
    sizes = (*points.shape, rows.start, rows.stop)
    _call("ross_vector_terms", *sizes, points, *labels, k, psi, out)


def ksg_vector_terms(rows: slice, x: Array, y: Array, k: int, psi: Array, out: Array) -> None:
    """Fill in psi(n_x) + psi(n_y) of some rows."""
    for points in (x, y):
        _check_points(points, np.zeros(0, np.int64), 1)
    sizes = (*x.shape, y.shape[1], rows.start, rows.stop)
    _call("ksg_vector_terms", *sizes, x, y, k, psi, out)


def ross_vector_many_terms(
    rows: slice, points: Array, labels: tuple[Array, Array], k: int, psi: Array, out: Array
) -> None:
    """Fill in Ross terms of vectors for many yes/no labels, one row of labels each."""
    _check_points(points, labels[0], 2)
    sizes = (*points.shape, len(labels[0]), rows.start, rows.stop)
    _call("ross_vector_many_terms", *sizes, points, *labels, k, psi, out)


def label_vector_terms(
    rows: slice, points: Array, labels: tuple[Array, Array], k: int, psi: Array, out: Array
) -> None:
    """Fill in the terms of `neighbors.label_vector_terms` for some rows."""
    _check_points(points, labels[0], len(labels[1]))
    sizes = (*points.shape, rows.start, rows.stop)
    _call("label_vector_terms", *sizes, points, *labels, k, psi, out)


def count_draws(start: Array, step: int, limits: Array, counts: Array) -> None:
    """Fill in how many limits the number drawn for each resample and sample reaches."""
    _call("count_draws", *counts.shape, start, step, limits, counts)


def add_to_groups(each: Array, groups: Array, sums: Array) -> None:
    """Add each row to the sum of its group."""
    _call("add_to_groups", *each.shape, each, groups, sums)


def add_products(weights: Array, rows: Array, sums: Array) -> None:
    """Add ``weights @ rows`` to the sums, row after row."""
    _call("add_products", *weights.shape, rows.shape[1], weights, rows, sums)


def joint_counts(
    flags: tuple[Array, Array], clusters: tuple[Array, Array], deals: tuple[Array, Array],
    counts: Array,
) -> None:  # fmt: skip
    """Count samples with both flags for each permutation (orders and turns) of clusters."""
    _call("joint_counts", *deals[0].shape, *flags, *clusters, *deals, counts)


def pixel_ranks(maps: Array, sizes: Array, pixels: Array, counts: Array) -> None:
    """Count, in each upsampled map, pixels above one pixel, equal to it, and equal before it."""
    _call("pixel_ranks", *maps.shape, maps, sizes, pixels, counts)


def predictive_label_terms(
    columns: tuple[Array, Array], strata: tuple[Array, int], labels: tuple[Array, int],
    clusters: tuple[Array, bool], terms: Array,
) -> None:  # fmt: skip
    """Fill in the predictive terms of columns, given as values and sort order."""
    (numbers, n_strata), (own, n_labels) = strata, labels
    sizes = (*columns[0].shape, n_strata, n_labels)
    _call("predictive_label_terms", *sizes, *columns, numbers, own, *clusters, terms)


def predictive_pair_terms(
    columns: tuple[Array, Array], strata: tuple[Array, int], pairs: Array,
    clusters: tuple[Array, bool], terms: tuple[Array, Array],
) -> None:  # fmt: skip
    """Fill in the predictive terms of pairs of columns."""
    numbers, n_strata = strata
    sizes = (len(pairs), columns[0].shape[1], n_strata)
    _call("predictive_pair_terms", *sizes, *columns, numbers, pairs, *clusters, *terms)
