"""What the leakage scores share: means of terms under weights, and what the concepts say."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite._stats.grouped_weights import GroupedWeights, RowWeights
from theodolite._stats.information import tie_broken
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics.base import ratio
from theodolite.metrics.blocks import Common

WIDER = 1.3
"""Terms of neighboring samples rise and fall together, which drawing samples one by one does not
see: measured on normal pairs from 200 to 4,000 samples, intervals came out 0.75 to 0.97 as wide as
they must be (tests/stats/test_information.py). Resampled means are moved out by this factor."""
AS_CATEGORIES = (
    "Whole numbers are counted as categories, as published; codes of a number (percent, int8, "
    "uint16) are not: with more than 20 distinct values the score is near its limit whatever the "
    "model does."
)
EXACT = 1 << 27
"""Products of resamples, terms and samples up to which sums are in double precision."""


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
    away: Float[np.ndarray, "terms samples"],
    counts: np.ndarray | None,
    weights: RowWeights,
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
    values, discrete = np.asarray(evidence.values, np.float64), common.discrete
    if not discrete:
        keys = np.asarray(evidence.samples.index)
        values = tie_broken(values, keys, evidence.concepts.names, seed=tie_seed)
    known = evidence.known if evidence.known is None or not evidence.known.all() else None
    return ConceptTerms(
        np.round(values) if discrete else values, discrete, np.asarray(evidence.truth), known
    )


def neighbor_inputs(evidence: ConceptEvidence, common: Common) -> ConceptTerms:
    """Values as they are, or rounded if they are whole numbers of which there are few."""
    values = np.asarray(evidence.values, np.float64)
    discrete = common.discrete and not common.many_kinds
    known = evidence.known if evidence.known is None or not evidence.known.all() else None
    return ConceptTerms(
        np.round(values) if discrete else values, discrete, np.asarray(evidence.truth), known
    )


def rows_known(inputs: ConceptTerms, *concepts: int) -> Int[np.ndarray, " rows"] | slice:
    """The samples in which the truth of these concepts is known."""
    if inputs.known is None:
        return slice(None)
    return np.flatnonzero(inputs.known[:, list(concepts)].all(axis=1))


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
