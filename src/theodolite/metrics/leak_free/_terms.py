"""Shared parts of the leakage scores: declarations, information terms and weighted means."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from jaxtyping import Bool, Float, Int, UInt

from theodolite._stats.grouped_weights import GroupedWeights, RowWeights
from theodolite._stats.information import (
    BLOCK_BYTES,
    SMALL,
    Columns,
    break_ties,
    ksg_terms,
    pair_terms,
    plug_in_terms,
)
from theodolite._stats.native import functions as native
from theodolite._stats.native.library import has_native
from theodolite._stats.neighbors import average_over_cluster_rows, stratified_pair_terms
from theodolite._stats.threads import run_in_slices
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics.base import metric, ratio
from theodolite.metrics.blocks import Common
from theodolite.metrics.leak_free._nulls import CLEAN, CLEAN_VECTORS

Pairs = Int[np.ndarray, "pairs 2"]
WIDER = 1.3
"""Terms of neighboring samples rise and fall together, which drawing samples one by one does not
see: measured on normal pairs from 200 to 4,000 samples, intervals came out 0.75 to 0.97 as wide as
they must be (tests/stats/test_information.py). Resampled means are moved out by this factor."""
EXACT = 1 << 27
"""Products of resamples, terms and samples up to which sums are in double precision."""
leakage_metric = partial(
    metric,
    question="leak_free",
    better="lower",
    bounds=(-1.0, 1.0),
    uses=("values", "truth", "labels"),
    may_use=("known",),
    detail=True,
    nulls=(CLEAN,),
    cite="parisini2025leakage",
)
vector_leakage_metric = partial(
    leakage_metric,
    uses=("vectors", "explained.truth", "explained.labels"),
    may_use=("explained.known",),
    nulls=(CLEAN_VECTORS,),
)


def weighted_means(
    terms: Float[np.ndarray, "*terms samples"],
    weights: RowWeights,
    *,
    wider: float = 1.0,
    counts: Float[np.ndarray, " samples"] | None = None,
) -> Float[np.ndarray, "rows *terms"]:
    """Means over what is defined, one row per row of weights; NaN where nothing is.

    ``counts`` is how much each sample counts in every row, where they do not count alike.
    """
    flat = terms.reshape(int(np.prod(terms.shape[:-1])), terms.shape[-1])
    defined = ~np.isnan(flat)
    if counts is not None:  # as if the terms were multiplied, and the means divided by their sums
        return _counted_means(flat, defined * counts, weights, wider).reshape(
            len(weights), *terms.shape[:-1]
        )
    n = defined.sum(axis=1)
    everywhere = bool((n == flat.shape[1]).all())
    there = flat if everywhere else np.where(defined, flat, 0.0)
    plain = there.sum(axis=1) / np.maximum(n, 1)
    away = flat - plain[:, None]
    if not everywhere:
        away[~defined] = 0.0
    products, counted = _products(away, None if everywhere else defined, weights)
    moved = np.divide(products, counted, out=np.zeros((len(weights), len(flat))), where=counted > 0)
    moved[_as_they_are(weights)] = 0.0  # to the last digit
    means = np.where((n > 0) & (counted > 0), plain + wider * moved, np.nan)
    return np.asarray(means.reshape(len(weights), *terms.shape[:-1]))


def _products(
    away: Float[np.ndarray, "terms samples"], counts: np.ndarray | None, weights: RowWeights
) -> tuple[Float[np.ndarray, "rows terms"], Float[np.ndarray, "rows #terms"]]:
    """Sums of the terms, and of what counts (all samples if ``None``), in each row of weights."""
    if isinstance(weights, GroupedWeights):
        alike = np.ones((1, away.shape[1])) if counts is None else counts
        return weights.times(weights.sums(away)), weights.times(weights.sums(alike))
    kind = np.float64 if weights.shape[0] * away.size <= EXACT else np.float32
    cast_weights = weights.astype(kind, copy=False)
    if counts is None:
        counted = cast_weights.sum(axis=1)[:, None]
    else:
        counted = cast_weights @ counts.T.astype(kind)
    return cast_weights @ away.T.astype(kind), counted


def _as_they_are(weights: RowWeights) -> Bool[np.ndarray, " rows"]:
    """Rows in which each sample counts once."""
    rows = weights.rows if isinstance(weights, GroupedWeights) else weights
    return np.asarray((rows == 1).all(axis=1))


def _counted_means(
    terms: Float[np.ndarray, "terms samples"],
    counts: Float[np.ndarray, "terms samples"],
    weights: RowWeights,
    wider: float,
) -> Float[np.ndarray, "rows terms"]:
    defined = np.where(counts > 0, terms, 0.0)
    plain = ratio((counts * defined).sum(axis=1), counts.sum(axis=1))
    away = np.where(counts > 0, counts * (defined - plain[:, None]), 0.0)
    moved = ratio(*_products(away, counts, weights))
    moved[_as_they_are(weights)] = 0.0  # to the last digit
    return np.asarray(plain + wider * moved)


def share(
    part: Float[np.ndarray, "*n"],
    whole: Float[np.ndarray, "*#n"],
    most: float = 1.0,
    least: float = 0.0,
) -> Float[np.ndarray, "*n"]:
    """A part of a whole from ``least`` to ``most``; NaN where the whole is empty."""
    part, whole = np.broadcast_arrays(part, whole)
    shares = np.full(part.shape, np.nan)
    np.divide(part, whole, out=shares, where=whole > 1e-12)
    return np.asarray(np.clip(shares, least, most))


@dataclass(frozen=True, eq=False)
class ConceptTerms:
    """The concepts' values, ready to be estimated from."""

    values: Float[np.ndarray, "samples concepts"]
    discrete: bool
    """Whether all are whole numbers: then they are counted, else neighbors are sought."""
    truth: Bool[np.ndarray, "samples concepts"]
    known: Bool[np.ndarray, "samples concepts"] | None


def estimator_inputs(evidence: ConceptEvidence, common: Common, tie_seed: int) -> ConceptTerms:
    """Values with ties broken, or rounded if they are whole numbers."""
    inputs = _inputs(evidence, discrete=common.discrete)
    if inputs.discrete:
        return inputs
    keys, names = np.asarray(evidence.samples.index), evidence.concepts.names
    return replace(inputs, values=break_ties(inputs.values, keys, names, seed=tie_seed))


def neighbor_inputs(evidence: ConceptEvidence, common: Common) -> ConceptTerms:
    """Values as they are, or rounded if they are whole numbers of which there are few."""
    return _inputs(evidence, discrete=common.discrete and not common.many_kinds)


def _inputs(evidence: ConceptEvidence, *, discrete: bool) -> ConceptTerms:
    values = np.asarray(evidence.values, np.float64)
    known = evidence.known if evidence.known is None or not evidence.known.all() else None
    return ConceptTerms(
        np.round(values) if discrete else values, discrete, np.asarray(evidence.truth), known
    )


def rows_known(inputs: ConceptTerms, *concepts: int) -> Int[np.ndarray, " rows"] | slice:
    """The samples in which the truth of these concepts is known."""
    if inputs.known is None:
        return slice(None)
    return np.flatnonzero(inputs.known[:, list(concepts)].all(axis=1))


def truth_and_known(
    evidence: ConceptEvidence,
) -> tuple[Bool[np.ndarray, "samples concepts"], Bool[np.ndarray, "samples concepts"]]:
    """True concepts, and where they are known."""
    truth = np.asarray(evidence.truth)
    known = np.ones(truth.shape, bool) if evidence.known is None else np.asarray(evidence.known)
    return truth, known


def rows_all_known(evidence: ConceptEvidence) -> Int[np.ndarray, " rows"]:
    """The samples in which the truth of every concept is known."""
    if evidence.known is None:
        return np.arange(len(evidence))
    return np.flatnonzero(evidence.known.all(axis=1))


def auc_terms(
    scores: Float[np.ndarray, " samples"], truth: Bool[np.ndarray, " samples"]
) -> Float[np.ndarray, " samples"]:
    """Terms whose mean is the area under the ROC curve, and whose spread is how it varies.

    For a positive the share of negatives below it, for a negative the share of positives above it,
    each counted so that both groups together give the area once.
    """
    n, positives = len(truth), int(truth.sum())
    if positives in (0, n):
        return np.full(n, np.nan)
    low, high = np.sort(scores[~truth]), np.sort(scores[truth])
    won = np.where(
        truth,
        (np.searchsorted(low, scores, "left") + np.searchsorted(low, scores, "right"))
        / (2 * len(low)),
        1 - (np.searchsorted(high, scores, "left") + np.searchsorted(high, scores, "right"))
        / (2 * len(high)),
    )  # fmt: skip
    area = won[truth].mean()
    rate = np.where(truth, positives / n, 1 - positives / n)
    return np.asarray(area + (won - area) / rate)


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

        terms = average_over_cluster_rows(clusters, len(inputs.values), terms_of)
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
    run_in_slices(
        len(pairs),
        lambda some: native.cell_terms(truth, pairs[some], cells[some], terms[some]),
        small=terms.size < SMALL,
    )
    return terms
