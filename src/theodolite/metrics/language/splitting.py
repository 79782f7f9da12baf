"""Metrics of latent splitting and absorption of a concept."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.plain_arrays import replace_arrays
from theodolite.evidence.ragged import require_ragged
from theodolite.metrics.base import Card, NullModel, PerSample, Pooled, SampleMean, metric, ratio
from theodolite.metrics.language._probes import By, Pooling, Side, fitted_probe, pool_activations
from theodolite.metrics.language.latent_probe import (
    RANDOM_DICTIONARY,
    SplitSeed,
    choose_latents,
    find_known_labels,
    split_folds,
    split_halves,
)

Kind = Annotated[
    Literal["fraction", "full"],
    Field(description="How much others carry, or whether they carry it while its own are silent."),
]
Form = Annotated[
    Literal["length", "as_published"],
    Field(description="Whether rows of the decoder count with their length, or as if it were 1."),
]
Most = Annotated[int, Field(ge=1, le=64, description="The most latents that are tried.")]
Over = Literal["concepts"]
MAX_ABSORBERS, MIN_COSINE, MIN_SHARE, MIN_FULL_COSINE = 3, 0.1, 0.4, 0.025
"""As published."""
LEAST_GAIN = 0.03
"""More than this must a further latent add to F1, as published."""
concept_metric = partial(
    metric,
    question="leak_free",
    better="lower",
    detail=True,
    decides=False,
    cite="chanin2024absorption",
)


def _permuted_decoder(evidence: TokenEvidence, seed: int) -> TokenEvidence:
    decoder = np.asarray(evidence.decoder)
    order = np.random.default_rng(seed).permutation(len(decoder))
    return replace_arrays(evidence, decoder=decoder[order])


PERMUTED_DECODER = NullModel(
    "permuted_decoder", "directions dealt out among the latents", _permuted_decoder
)


def _absorbed(
    evidence: TokenEvidence, concept: int, kind: Kind, form: Form
) -> tuple[np.ndarray, np.ndarray]:
    """Return for each token how much of the concept other latents carry, and whether it counts."""
    latents, values = require_ragged(evidence.latent), require_ragged(evidence.value)
    along = np.asarray(require_ragged(evidence.projections).flat[:, concept], float)
    there = np.nan_to_num(along) > 0
    probe = np.asarray(np.asarray(evidence.probes)[concept], float)
    decoder = np.asarray(evidence.decoder, float)
    length = np.sqrt((decoder**2).sum(axis=1) * (probe**2).sum())
    cosine = (decoder * probe).sum(axis=1) / np.where(length > 0, length, 1.0)
    reach = cosine if form == "as_published" else cosine * np.sqrt((decoder**2).sum(axis=1))
    own_latents = np.asarray(evidence.explained)[np.asarray(evidence.concept_of) == concept]
    own = np.isin(latents.flat, own_latents)
    token, n = values.inner_row, len(along)
    carried = values.flat.astype(float) * reach[latents.flat]
    main = np.bincount(token, carried * own, n)
    whole = np.where(there, along, 1.0)
    if kind == "full":
        near = ~own & (cosine[latents.flat] >= MIN_FULL_COSINE)
        largest = _largest(token, np.where(near, carried, 0.0), n, 1)
        silent = np.bincount(token, own, n) == 0
        return (silent & (largest / whole >= MIN_SHARE)).astype(float), there
    others = ~own & (cosine[latents.flat] >= MIN_COSINE) & (carried > 0)
    absorbers = _largest(token, np.where(others, carried, 0.0), n, MAX_ABSORBERS)
    amount = np.minimum(absorbers, whole - main)
    fraction = amount / np.where(main > 0, amount + main, 1.0)
    fraction = np.where(main <= 0, 1.0, fraction)
    none = (main >= whole) | (absorbers / whole < MIN_SHARE)
    return np.where(none, 0.0, fraction), there


def _largest(token: np.ndarray, amounts: np.ndarray, n: int, most: int) -> np.ndarray:
    """Return the sum of the largest amounts of each token."""
    order = np.lexsort((-amounts, token))
    place = np.arange(len(order)) - np.searchsorted(token, token)
    first = order[place < most]
    return np.bincount(token[first], amounts[first], n)


@concept_metric(
    "absorption",
    title="Absorption",
    bounds=(0.0, 1.0),
    uses=("latent", "value", "decoder", "probes", "projections", "explained", "concept_of"),
    nulls=(PERMUTED_DECODER,),
    asked_as="Is the concept carried by its own latents?",
    card=Card(
        question="Where a concept is and a probe finds it, how much of what the probe finds is "
        "carried by other latents than those that are named after the concept?",
        interpretation="0 means that its own latents carry it, 1 that others do. It is no merit by "
        "itself: random directions absorb nothing, for they carry nothing. Read it beside "
        "`latent_probe`.",
        limitations="Latents that share a direction for a good reason count as absorbers. A "
        "constant part of the activations along the probe counts as if it were carried: center "
        "them.",
        cost="one product for each active latent and concept",
    ),
)
class Absorption(SampleMean):
    r"""Mean share of a probe's projection that other latents carry than the concept's own.

    .. math:: \frac{a}{a + m}, \quad a = \min\Big(\sum_{l \in T} r_l,\; P - m\Big)

    at tokens where the concept is and the probe finds it, with the activation's projection
    :math:`P` on the probe, :math:`r_l` the part of it that latent :math:`l` writes, :math:`m` the
    sum over the concept's own latents, and :math:`T` the up to three largest others with a cosine
    of at least 0.1. 0 where :math:`m \ge P` or the others make up less than 0.4 of :math:`P`; 1
    where :math:`m \le 0`. ``kind="full"``: the share of tokens at which none of its own is active
    and one other makes up 0.4 of :math:`P`. No token asked: NaN. With ``form="as_published"``, rows
    of the decoder count as if their length were 1, as in :cite:t:`chanin2024absorption`.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import absorption
        >>> rows = [[0.6, 0.8, 0.0], [0.8, -0.6, 0.0], [0.3, 0.0, 0.953939], [-0.5, 0.866025, 0.0]]
        >>> codes = {"latent": [[[0, 1, 2]]], "value": [[[0.5, 1.5, 0.4]]], "decoder": rows}
        >>> named = {"explained": [0], "concept_of": [0], "probes": [[1.0, 0.0, 0.0]]}
        >>> absorption(**codes, **named, projections=[[[1.67]]]).round(6)
        array([0.814815])
    """

    @staticmethod
    def each(
        evidence: TokenEvidence,
        *,
        kind: Kind = "fraction",
        form: Form = "length",
        over: Over = "concepts",
    ) -> PerSample:
        del over
        projections = require_ragged(evidence.projections)
        parts, wholes = [], []
        for concept in range(projections.flat.shape[1]):
            carried, there = _absorbed(evidence, concept, kind, form)
            parts.append(projections.sums(carried * there))
            wholes.append(projections.sums(there))
        return PerSample.from_values(np.stack(parts, axis=1), np.stack(wholes, axis=1))


@concept_metric(
    "splitting",
    title="Splitting",
    bounds=(0.0, float("inf")),
    uses=("latent", "value", "truth"),
    may_use=("known", "chance_pooled"),
    nulls=(RANDOM_DICTIONARY,),
    asked_as="Is the concept in a single latent?",
    card=Card(
        question="By how many latents more than one does a probe of a concept become better?",
        interpretation="0 means that the best latent tells as much as several, 2 that three are "
        "needed. It decides nothing: a concept that no latent tells is not split either. Read it "
        "beside `latent_probe`.",
        limitations="A gain of 0.03 is within chance for fewer than some hundred sequences with "
        "the concept: look at the interval.",
        cost="a sort for each latent, and a logistic regression for each latent that is tried",
    ),
)
class Splitting(Pooled):
    r"""Latents that a probe goes on to use beyond the best: as long as each adds to F1.

    .. math:: \max \{k : F_j - F_{j-1} > 0.03 \text{ for all } 1 < j \le k\} - 1

    with :math:`F_k` the F1 on held-out sequences of a logistic regression on the :math:`k` latents
    with the largest AUROC, chosen and fitted on the other half, as ``latent_probe`` does with
    ``k``; up to ``most`` are tried. A whole number for each concept. One class only in either half,
    or no sequence that is or is called positive: NaN. As in :cite:t:`chanin2024absorption`, there
    without halves.

    Example:
        >>> from theodolite.metrics import splitting
        >>> rows = [{0: 1.0}, {1: 1.0}, {}, {}] * 8
        >>> latent = [[list(row)] for row in rows]
        >>> value = [[list(row.values())] for row in rows]
        >>> splitting(latent, value, [[1], [1], [0], [0]] * 8)
        array([1.])
    """

    @staticmethod
    def measure(  # noqa: PLR0913  options are keywords
        evidence: TokenEvidence,
        weights: np.ndarray,
        *,
        most: Most = 10,
        pooling: Pooling = "max",
        by: By = "auroc",
        side: Side = "positive",
        split_seed: SplitSeed = 0,
        over: Over = "concepts",
    ) -> np.ndarray:
        del over
        codes, known = pool_activations(evidence, pooling), find_known_labels(evidence)
        choosing, truth = split_halves(evidence, split_seed), np.asarray(evidence.truth)
        fold = split_folds(evidence, split_seed)
        best = choose_latents(codes, truth, known & choosing[:, None], by, side, most)
        result = np.full((len(weights), truth.shape[1]), np.nan)
        for concept, latents in enumerate(best):
            there, rows = truth[:, concept], known[:, concept] & ~choosing
            if len(latents) and there[rows].any() and not there[rows].all():
                values = np.stack([codes.of(int(n)) for n in latents], axis=1)
                both = known[:, concept] & choosing, rows
                result[:, concept] = compute_relative_gains(
                    _curve(values, there, both, fold, weights)
                )
        return result


def _curve(
    values: np.ndarray,
    there: np.ndarray,
    halves_of: tuple[np.ndarray, np.ndarray],
    fold: np.ndarray,
    weights: np.ndarray,
) -> Iterator[np.ndarray]:
    """F1 on the second half of probes on more and more latents, fitted to the first."""
    first, rows = halves_of
    counts = weights[:, rows].astype(float)
    for k in range(1, values.shape[1] + 1):
        own = values[:, :k]
        probe = fitted_probe(own[first], there[first], fold[first])
        yield weighted_f1(probe.scores(own[rows]) > 0, there[rows], counts)


def compute_relative_gains(curve: Iterable[np.ndarray]) -> np.ndarray:
    """Return the relative gain of F1 beyond the first latent.

    >>> compute_relative_gains([np.array([0.5]), np.array([0.6]), np.array([0.62])])
    array([1.])
    """
    steps = iter(curve)
    last = next(steps)
    value, going = np.where(np.isnan(last), np.nan, 0.0), ~np.isnan(last)
    for k, now in enumerate(steps, 2):
        going = going & (now - last > LEAST_GAIN + 1e-12)
        if not going.any():
            break
        value, last = np.where(going, k - 1.0, value), now
    return np.asarray(value)


def weighted_f1(positive: np.ndarray, there: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """F1 under each row of weights; undefined where nothing is or is called positive."""
    both = (counts * (positive & there)).sum(axis=1)
    either = (counts * positive).sum(axis=1) + (counts * there).sum(axis=1)
    return ratio(2 * both, either)
