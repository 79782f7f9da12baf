"""Estimate mutual information and entropy, in nats, as means of one term per sample.

Three estimators: two discrete variables (*plug-in*: counts), numbers and a label (*Ross* 2014),
numbers and numbers (*KSG*, algorithm 1 of Kraskov 2004). The last two use nearest neighbors.
Intervals and per-sample views are computed from the terms. No estimate is clipped at 0. Used by
the leakage metrics.
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import digamma, ndtri

from theodolite._stats import information_numpy
from theodolite._stats.native import functions as native
from theodolite._stats.native.library import has_native
from theodolite._stats.sampling import mix_bits
from theodolite._stats.threads import run_in_slices
from theodolite.errors import EvidenceError

NEIGHBORS = 3
MAX_NEIGHBORS = 3  # the compiled search keeps this many in registers
NOISE = 1e-10
BLOCK_BYTES = 1 << 25
SMALL = 200_000  # pairs times samples up to which one thread is faster
Terms = Float[np.ndarray, " samples"]


def plug_in(a: np.ndarray, b: np.ndarray) -> float:
    """Estimate the mutual information of two discrete variables from their counts.

    >>> round(plug_in(np.array([0, 0, 1, 1]), np.array([5, 5, 7, 7])), 6)  # one shared bit
    0.693147
    """
    return _average_defined(plug_in_terms(a, b))


def plug_in_terms(
    a: Int[np.ndarray, " samples"] | Bool[np.ndarray, " samples"],
    b: Int[np.ndarray, " samples"] | Bool[np.ndarray, " samples"],
) -> Terms:
    """Return log p(a, b) / p(a) p(b) of every sample."""
    if not len(a):
        return np.zeros(0)
    _, of_a, n_a = np.unique(a, return_inverse=True, return_counts=True)
    _, of_b, n_b = np.unique(b, return_inverse=True, return_counts=True)
    cell = of_a * len(n_b) + of_b
    if len(n_a) * len(n_b) > 4 * len(
        a
    ):  # more combinations than samples: count the observed ones only
        _, cell = np.unique(cell, return_inverse=True)
    counts = np.bincount(cell)
    return np.asarray(np.log(counts[cell] * (len(a) / (n_a[of_a] * n_b[of_b]))))


def plug_in_entropy(a: np.ndarray) -> float:
    """Estimate the entropy of a discrete variable from its counts."""
    return plug_in(a, a)


def ross(values: np.ndarray, labels: Int[np.ndarray, " samples"], *, k: int = NEIGHBORS) -> float:
    """Estimate the mutual information of numbers (or vectors) and a label.

    Vectors are compared by Euclidean distance. Samples with a unique label are left out; NaN if
    none remains.

    >>> c, d = np.array([0.0, 1, 3, 7, 8, 12]), np.array([0, 0, 0, 1, 1, 2])
    >>> round(ross(c, d, k=1), 6)
    0.783333
    """
    return _average_defined(ross_terms(values, labels, k=k))


def ross_terms(
    values: np.ndarray, labels: Int[np.ndarray, " samples"], *, k: int = NEIGHBORS
) -> Float[np.ndarray, "*columns samples"]:
    """Return psi(N) + psi(k_i) - psi(N_y) - psi(m_i) of every sample; NaN for a unique label.

    ``values``: one number per sample, or (samples, dimensions) for one vector per sample.
    """
    values = np.asarray(values, np.float64)
    if values.ndim == 1:
        return np.asarray(ross_columns(values[:, None], labels, k=k)[0])
    out, rows, counts, numbered = _find_shared_labels(labels, k)
    if len(rows):
        points, psi = np.ascontiguousarray(values[rows]), tabulate_digamma(len(rows))
        terms = np.empty(len(rows))
        kernels = native if has_native() else information_numpy

        def fill(block: slice) -> None:
            kernels.ross_vector_terms(block, points, (numbered, counts), k, psi, terms)

        run_in_slices(len(rows), fill, small=len(rows) ** 2 < SMALL)
        out[rows] = terms + digamma(len(rows))
    return out


def ross_columns(
    values: Float[np.ndarray, "samples columns"],
    labels: Int[np.ndarray, " samples"],
    *,
    k: int = NEIGHBORS,
) -> Float[np.ndarray, "columns samples"]:
    """Return the Ross terms of each column with one label for all columns."""
    alone, rows, counts, numbered = _find_shared_labels(labels, k)
    out = np.tile(alone, (values.shape[1], 1))
    if len(rows):
        columns = Columns(np.asarray(values, np.float64)[rows])
        terms = _ross_columns(columns, numbered, counts, k)
        out[:, rows] = terms + digamma(len(rows))
    return out


def _ross_columns(
    columns: "Columns", labels: Int[np.ndarray, " samples"], counts: np.ndarray, k: int
) -> Float[np.ndarray, "columns samples"]:
    n_columns, n = columns.values.shape
    if not has_native():
        return information_numpy.ross_column_terms(
            columns.values, labels, counts, k, tabulate_digamma(n)
        )
    terms, psi = np.empty((n_columns, n)), tabulate_digamma(n)
    each = (columns.ordered, columns.order, *columns.index())

    def fill(block: slice) -> None:
        slices = tuple(part[block] for part in each)
        native.ross_column_terms(slices, labels, counts, k, psi, terms[block])

    run_in_slices(n_columns, fill, small=terms.size < SMALL)
    return terms


def ross_many(
    vectors: Float[np.ndarray, "samples dimensions"],
    flags: Bool[np.ndarray, "samples labels"],
    *,
    k: int = NEIGHBORS,
) -> Float[np.ndarray, "labels samples"]:
    """Return the Ross terms of vectors with each of many yes/no labels; distances are shared."""
    check_k(k)
    out = np.full((flags.shape[1], len(flags)), np.nan)
    n_true = flags.sum(axis=0)
    alone = (n_true == 1) | (n_true == len(flags) - 1)
    for label in np.flatnonzero(alone):
        out[label] = ross_terms(vectors, flags[:, label].astype(np.int64), k=k)
    shared = np.flatnonzero(~alone)
    if len(shared) and len(flags) > 1:
        labels = np.ascontiguousarray(flags[:, shared].T, np.int64)
        counts = np.stack([len(flags) - n_true[shared], n_true[shared]], axis=1)
        terms = np.empty(labels.shape)
        points, psi = np.ascontiguousarray(vectors, np.float64), tabulate_digamma(len(flags))
        kernels = native if has_native() else information_numpy

        def fill(block: slice) -> None:
            kernels.ross_vector_many_terms(block, points, (labels, counts), k, psi, terms)

        run_in_slices(len(flags), fill, small=len(flags) ** 2 < SMALL)
        out[shared] = terms + digamma(len(flags))
    return out


def _find_shared_labels(
    labels: Int[np.ndarray, " samples"], k: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return NaN for every sample; the samples with a shared label, label counts and numbers."""
    check_k(k)
    _, inverse, counts = np.unique(labels, return_inverse=True, return_counts=True)
    rows = np.flatnonzero(counts[inverse] > 1) if len(labels) else np.zeros(0, np.int64)
    _, numbered, counts = np.unique(labels[rows], return_inverse=True, return_counts=True)
    return np.full(len(labels), np.nan), rows, counts, numbered.astype(np.int64)


def ksg(x: np.ndarray, y: np.ndarray, *, k: int = NEIGHBORS) -> float:
    """Estimate the mutual information of two columns of numbers (or vectors).

    Vectors are compared by their largest difference. NaN for k samples or fewer.

    >>> round(ksg(np.array([0.0, 1, 3, 7]), np.array([0.0, 2, 3, 9]), k=1), 6)  # 7/12
    0.583333
    """
    return _average_defined(ksg_terms(x, y, k=k))


def ksg_terms(x: np.ndarray, y: np.ndarray, *, k: int = NEIGHBORS) -> Terms:
    """Return psi(N) + psi(k) - psi(n_x) - psi(n_y) of every sample."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if x.ndim == 1 and y.ndim == 1:
        columns = Columns(np.stack([x, y], axis=1))
        return np.asarray(next(pair_terms(columns, np.array([[0, 1]]), k=k))[1][0])
    check_k(k)
    n = len(x)
    if n <= k:
        return np.full(n, np.nan)
    x, y = (np.ascontiguousarray(part.reshape(n, -1)) for part in (x, y))
    out, psi = np.empty(n), tabulate_digamma(n)
    kernels = native if has_native() else information_numpy
    run_in_slices(
        n,
        lambda some: kernels.ksg_vector_terms(some, x, y, k, psi, out),
        small=n**2 < SMALL,
    )
    return np.asarray(digamma(n) + digamma(k) - out)


@dataclass(frozen=True, eq=False, init=False)
class Columns:
    """Columns with their sorted values, sort order and ranks, shared by all pairs."""

    values: Float[np.ndarray, "columns samples"]
    ordered: Float[np.ndarray, "columns samples"]
    order: Int[np.ndarray, "columns samples"]
    rank: Int[np.ndarray, "columns samples"]

    def __init__(self, values: Float[np.ndarray, "samples columns"]) -> None:
        columns = np.array(values.T, np.float64, order="C")
        order = np.argsort(columns, axis=1, kind="stable").astype(np.int32)
        rank = np.empty_like(order)
        along = np.broadcast_to(np.arange(columns.shape[1], dtype=np.int32), order.shape)
        np.put_along_axis(rank, order, along, axis=1)
        ordered = np.take_along_axis(columns, order, axis=1)
        for name, array in (
            ("values", columns), ("ordered", ordered), ("order", order), ("rank", rank),
        ):  # fmt: skip
            object.__setattr__(self, name, array)

    def index(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return bucket starts, lowest value and scale of each column for the native kernels."""
        n_columns, n = self.values.shape
        index = (
            np.empty((n_columns, 4 * n + 2), np.int32),
            np.empty(n_columns),
            np.empty(n_columns),
        )

        def fill(block: slice) -> None:
            native.bucket_tables(self.ordered[block], *(part[block] for part in index))

        if n:
            run_in_slices(n_columns, fill, small=self.values.size < SMALL)
        return index


def pair_terms(
    columns: Columns,
    pairs: Int[np.ndarray, "pairs 2"],
    *,
    k: int = NEIGHBORS,
) -> Iterator[tuple[slice, Float[np.ndarray, "some samples"]]]:
    """Yield the KSG terms of many pairs of columns, in blocks of pairs that fit into memory."""
    check_k(k)
    n = columns.values.shape[1]
    psi, compiled = tabulate_digamma(n), has_native()
    prepared = (columns.ordered, columns.order, columns.rank, *columns.index()) if compiled else ()
    step = max(BLOCK_BYTES // (8 * max(n, 1)), 1)
    for at in range(0, len(pairs), step):
        block = slice(at, min(at + step, len(pairs)))
        out = np.full((block.stop - at, n), np.nan)
        chosen = np.ascontiguousarray(pairs[block], np.int64)

        def fill(part: slice, chosen: np.ndarray = chosen, out: np.ndarray = out) -> None:
            native.ksg_pair_terms(columns.values, prepared, chosen[part], k, psi, out[part])

        if n > k and not compiled:
            out[:] = information_numpy.ksg_pair_terms(columns.values, chosen, k, psi)
        elif n > k:
            run_in_slices(len(chosen), fill, small=out.size < SMALL)
        yield block, out


def self_information(
    values: Float[np.ndarray, "samples columns"],
    keys: Int[np.ndarray, " samples"],
    names: Sequence[str],
    *,
    k: int = NEIGHBORS,
    seed: int = 0,
) -> Float[np.ndarray, " columns"]:
    """Return the KSG estimate of a column and its noisy copy, which published code calls entropy.

    It is no entropy: without ties it is psi(N) - psi(k + 1), whatever the numbers are.

    >>> round(float(self_information(np.arange(24.0)[:, None] ** 2, np.arange(24), "c")[0]), 6)
    1.900958
    """
    n = len(values)
    out = np.full(values.shape[1], digamma(n) - digamma(k + 1) if n > k else np.nan)
    for column in np.flatnonzero(has_ties(values)).tolist() if n > k else ():
        column_values = values[:, [column]]
        twice = [
            add_noise(column_values, keys, [f"{names[column]} {copy}"], seed=seed)[:, 0]
            for copy in ("a", "b")
        ]
        out[column] = ksg(*twice, k=k)
    return out


def break_ties(
    values: Float[np.ndarray, "samples columns"],
    keys: Int[np.ndarray, " samples"],
    names: Sequence[str],
    *,
    seed: int = 0,
) -> Float[np.ndarray, "samples columns"]:
    """Add noise of 1e-10 of the largest value to columns in which values repeat.

    Neighbors at equal distances (saturated activations) make the estimates arbitrary. The noise
    depends on the sample's key, the column's name and the seed only, not on any order.
    """
    tied = np.flatnonzero(has_ties(values))
    if not len(tied):
        return np.asarray(values, np.float64)
    out = np.array(values, np.float64)
    out[:, tied] = add_noise(out[:, tied], keys, [names[i] for i in tied.tolist()], seed=seed)
    return out


def add_noise(
    values: Float[np.ndarray, "samples columns"],
    keys: Int[np.ndarray, " samples"],
    names: Sequence[str],
    *,
    seed: int,
) -> Float[np.ndarray, "samples columns"]:
    """Add normal noise of 1e-10 of the largest value (of 1 where all values are 0)."""
    starts = np.array([zlib.crc32(name.encode()) for name in names], np.uint64)
    starts = mix_bits(starts ^ mix_bits(np.array([seed], np.uint64)))
    bits = mix_bits(mix_bits(np.asarray(keys).astype(np.uint64))[:, None] ^ starts[None, :])
    uniform = ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    size = np.abs(values).max(axis=0, initial=0.0)
    size = np.where(size > 0, size, 1.0)
    return np.asarray(values + NOISE * size * ndtri(uniform))


def has_ties(values: Float[np.ndarray, "samples columns"]) -> Bool[np.ndarray, " columns"]:
    """Return True for each column in which a value repeats."""
    ordered = np.sort(values, axis=0)
    return np.asarray((ordered[1:] == ordered[:-1]).any(axis=0))


def is_discrete(values: np.ndarray) -> bool:
    """Return True if all values are whole numbers by the published rule (mod 1, within 1e-8).

    >>> is_discrete(np.array([0.0, 1.0, 1e-9])), is_discrete(np.array([0.0, 1.0, 1e-7]))
    (True, False)
    """
    return bool(np.isclose(np.asarray(values) % 1, 0).all())


def tabulate_digamma(n: int) -> Float[np.ndarray, " m"]:
    """Return a table with the digamma function of i at index i, for 1 to n + 1."""
    table = np.empty(n + 2)
    table[0] = np.nan
    table[1:] = digamma(np.arange(1, n + 2, dtype=float))
    return table


def _average_defined(terms: Terms) -> float:
    defined = terms[~np.isnan(terms)]
    return float(defined.mean()) if len(defined) else float("nan")


def check_k(k: int) -> None:
    """Raise an error unless k is a supported number of neighbors."""
    if not 1 <= k <= MAX_NEIGHBORS:
        raise EvidenceError("k", f"{k}", f"1 to {MAX_NEIGHBORS} neighbors")
