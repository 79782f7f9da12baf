"""Information between all pairs of concepts."""

from collections.abc import Iterable, Iterator

import numpy as np
from jaxtyping import Float, Int, UInt

from theodolite._stats.information import (
    BLOCK_BYTES,
    SMALL,
    Columns,
    ksg_terms,
    pair_terms,
    plug_in_terms,
)
from theodolite._stats.native import functions as native
from theodolite._stats.native.library import has_native
from theodolite._stats.neighbors import one_of_each_cluster, stratified_pair_terms
from theodolite._stats.threads import in_slices
from theodolite.metrics.leak_free._terms import ConceptTerms, rows_known

Pairs = Int[np.ndarray, "pairs 2"]


def value_pair_terms(
    inputs: ConceptTerms, pairs: Pairs, *, k: int
) -> Iterator[tuple[slice, Float[np.ndarray, "some samples"]]]:
    """Terms of the information between the values of two concepts, a block of pairs at a time."""
    if not inputs.discrete and inputs.known is None:
        yield from pair_terms(Columns(inputs.values), pairs, k=k)
        return
    for block in _blocks(inputs, pairs):
        yield block, np.stack([_terms_of_pair(inputs, i, j, k) for i, j in pairs[block].tolist()])


def _terms_of_pair(inputs: ConceptTerms, i: int, j: int, k: int) -> Float[np.ndarray, " samples"]:
    terms = np.full(len(inputs.values), np.nan)
    rows = np.arange(len(inputs.values))[rows_known(inputs, i, j)]
    a, b = inputs.values[rows, i], inputs.values[rows, j]
    if inputs.discrete:
        terms[rows] = plug_in_terms(a.astype(int), b.astype(int))
    else:
        terms[rows] = ksg_terms(a, b, k=k)
    return terms


def pair_terms_given_truth(
    inputs: ConceptTerms, clusters: np.ndarray | None, pairs: Pairs, *, k: int
) -> Iterator[tuple[slice, Float[np.ndarray, "some samples"]]]:
    """The same beyond what both true concepts say, each cluster counted once."""
    strata = np.asarray(inputs.truth.T, np.int64)
    if inputs.known is not None:
        strata = np.where(inputs.known.T, strata, 2)
    if inputs.discrete:
        for block in _blocks(inputs, pairs):
            some = pairs[block].tolist()
            yield block, np.stack([_counted_pair(inputs, strata, i, j) for i, j in some])
        return
    if clusters is None:  # columns are sorted once for all pairs
        yield from _known_terms(
            inputs, pairs, stratified_pair_terms(inputs.values, pairs, strata, k=k)
        )
        return
    for block in _blocks(inputs, pairs):
        some = pairs[block]

        def terms_of(rows: np.ndarray, some: Pairs = some) -> np.ndarray:
            parts = stratified_pair_terms(inputs.values[rows], some, strata[:, rows], k=k)
            return np.concatenate([part for _, part in parts])

        terms = one_of_each_cluster(clusters, len(inputs.values), terms_of)
        yield from _known_terms(inputs, pairs, [(block, terms)])


def _known_terms(
    inputs: ConceptTerms, pairs: Pairs, parts: Iterable[tuple[slice, np.ndarray]]
) -> Iterator[tuple[slice, Float[np.ndarray, "some samples"]]]:
    """Terms of blocks of pairs, NaN where the truth of either is not known."""
    for block, terms in parts:
        if inputs.known is not None:
            i, j = pairs[block].T
            terms[~(inputs.known[:, i] & inputs.known[:, j]).T] = np.nan
        yield block, terms


def _counted_pair(
    inputs: ConceptTerms, strata: Int[np.ndarray, "concepts samples"], i: int, j: int
) -> Float[np.ndarray, " samples"]:
    terms = np.full(len(inputs.values), np.nan)
    for a, b in np.ndindex(2, 2):
        rows = np.flatnonzero((strata[i] == a) & (strata[j] == b))
        values = inputs.values[rows].astype(int)
        terms[rows] = plug_in_terms(values[:, i], values[:, j])
    return terms


def _blocks(inputs: ConceptTerms, pairs: Pairs) -> Iterator[slice]:
    step = max(BLOCK_BYTES // (8 * max(len(inputs.values), 1)), 1)
    return (slice(at, min(at + step, len(pairs))) for at in range(0, len(pairs), step))


def true_counts(inputs: ConceptTerms) -> Float[np.ndarray, "2 2 concepts concepts"]:
    """How many samples have each of the four combinations of two true concepts, from products."""
    known = np.ones(inputs.truth.shape) if inputs.known is None else inputs.known.astype(float)
    there = inputs.truth * known
    sides = (known - there, there)
    return np.stack([np.stack([a.T @ b for b in sides]) for a in sides])


def true_pair_terms(
    inputs: ConceptTerms, counts: Float[np.ndarray, "2 2 concepts concepts"], pairs: Pairs
) -> Float[np.ndarray, "pairs samples"]:
    """log p(c_i, c_j) / p(c_i) p(c_j) of every sample, from the counts of all pairs."""
    i, j = pairs.T
    joint = counts[:, :, i, j]
    n = joint.sum(axis=(0, 1))
    expected = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    logs = np.zeros(joint.shape)
    np.log(np.divide(joint * n, expected, out=np.ones(joint.shape), where=joint > 0), out=logs)
    cells = np.ascontiguousarray(logs.reshape(4, -1).T)
    terms = _terms_of_cells(np.ascontiguousarray(inputs.truth.T, np.uint8), pairs, cells)
    if inputs.known is not None:
        terms[~(inputs.known[:, i] & inputs.known[:, j]).T] = np.nan
    return np.asarray(terms)


def _terms_of_cells(
    truth: UInt[np.ndarray, "concepts samples"], pairs: Pairs, cells: Float[np.ndarray, "pairs 4"]
) -> Float[np.ndarray, "pairs samples"]:
    """For each pair and sample the number that belongs to its combination of two truths."""
    if not has_native():
        return np.take_along_axis(cells, 2 * truth[pairs[:, 0]] + truth[pairs[:, 1]], axis=1)
    terms = np.empty((len(pairs), truth.shape[1]))
    pairs = np.ascontiguousarray(pairs)
    in_slices(
        len(pairs),
        lambda some: native.cell_terms(truth, pairs[some], cells[some], terms[some]),
        small=terms.size < SMALL,
    )
    return terms
