"""Over how many latents is a concept split?"""

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.metrics.base import Card, Pooled, metric
from theodolite.metrics.language._probes import By, Pooling, Side, fitted_probe, pooled_codes
from theodolite.metrics.language.latent_probe import (
    RANDOM_DICTIONARY,
    SplitSeed,
    chosen_latents,
    folds,
    halves,
    known_labels,
)

Most = Annotated[int, Field(ge=1, le=64, description="The most latents that are tried.")]
Over = Literal["concepts"]
LEAST_GAIN = 0.03
"""More than this must a further latent add to F1, as published."""


@metric(
    "splitting",
    title="Splitting",
    question="leak_free",
    better="lower",
    bounds=(0.0, float("inf")),
    uses=("latent", "value", "truth"),
    may_use=("known", "chance_pooled"),
    detail=True,
    nulls=(RANDOM_DICTIONARY,),
    decides=False,
    cite="chanin2024absorption",
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
        """The number of each concept, its latents and probes chosen once, under the weights."""
        del over
        codes, known = pooled_codes(evidence, pooling), known_labels(evidence)
        choosing, truth = halves(evidence, split_seed), np.asarray(evidence.truth)
        fold = folds(evidence, split_seed)
        best = chosen_latents(codes, truth, known & choosing[:, None], by, side, most)
        result = np.full((len(weights), truth.shape[1]), np.nan)
        for concept, latents in enumerate(best):
            there, rows = truth[:, concept], known[:, concept] & ~choosing
            if len(latents) and there[rows].any() and not there[rows].all():
                values = np.stack([codes.of(int(n)) for n in latents], axis=1)
                both = known[:, concept] & choosing, rows
                result[:, concept] = splits(_curve(values, there, both, fold, weights))
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


def splits(curve: Iterable[np.ndarray]) -> np.ndarray:
    """How far each column of F1 by number of latents is gone, beyond the first.

    >>> splits([np.array([0.5]), np.array([0.6]), np.array([0.62])])
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
    shares = np.divide(2 * both, either, out=np.full(len(counts), np.nan), where=either > 0)
    return np.asarray(shares)
