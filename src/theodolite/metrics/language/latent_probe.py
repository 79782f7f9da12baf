"""Metric of how well a single latent predicts a concept on held-out sequences."""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from theodolite._stats.sampling import hash_clusters, select_half
from theodolite._stats.weighted_auroc import compute_weighted_aurocs
from theodolite.evidence.axes import Latents
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.plain_arrays import replace_arrays
from theodolite.evidence.ragged import Ragged, require_ragged
from theodolite.metrics.base import Card, NullModel, Pooled, metric, metric_of
from theodolite.metrics.language._probes import (
    BLOCK,
    FOLDS,
    By,
    PooledCodes,
    Pooling,
    Side,
    compute_aurocs,
    compute_merits,
    fitted_probe,
    pool_activations,
)
from theodolite.metrics.null_model import from_another_sample
from theodolite.metrics.states import CHOSEN, TRIALS

Over = Literal["concepts"]
HowMany = Annotated[
    int,
    Field(ge=1, le=64, description="How many latents: with more than 1, a logistic regression."),
]
SplitSeed = Annotated[int, Field(ge=0, description="Which sequences a latent is chosen on.")]


def find_known_labels(evidence: TokenEvidence) -> np.ndarray:
    """Return where the presence of a concept is known."""
    truth = np.asarray(evidence.truth)
    return np.ones(truth.shape, bool) if evidence.known is None else np.asarray(evidence.known)


def _tokens_as_latents(evidence: TokenEvidence, seed: int) -> TokenEvidence:
    del seed
    tokens = require_ragged(evidence.tokens)
    inner = np.arange(len(tokens.flat) + 1)
    n = int(tokens.flat.max(initial=0)) + 1
    return replace_arrays(
        evidence,
        latent=Ragged(tokens.flat, tokens.starts, inner),
        value=Ragged(np.ones(len(tokens.flat)), tokens.starts, inner),
        latents=Latents(count=n),
    )


def _random_dictionary(evidence: TokenEvidence, seed: int) -> TokenEvidence:
    chance = evidence.chance_pooled
    if chance is None:
        return replace_arrays(evidence, known=np.zeros_like(find_known_labels(evidence)))
    number = seed % chance.shape[1]
    own = chance[:, number : number + 1]
    return replace_arrays(evidence, latent=None, value=None, chance_pooled=own)


RANDOM_DICTIONARY = NullModel(
    "random_sae",
    "the best latent of a dictionary of random directions; undefined where none was given",
    _random_dictionary,
    per_item=True,
    draws_in="chance_pooled",
    label="random SAE",
)
NULLS = (
    RANDOM_DICTIONARY,
    NullModel(
        "single_token", "the best token, by whether it occurs in the sequence",
        _tokens_as_latents, random=False, beaten="more than a word",
    ),
    from_another_sample(
        "permuted_labels", "permuted concepts over the sequences, and the best latent for these",
        "truth", "known",
    ),
)  # fmt: skip


@metric(
    "latent_probe",
    title="Best latent for a concept",
    question="exists",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("latent", "value", "truth"),
    may_use=("known", "chance_pooled"),
    nulls_use=("tokens",),
    detail=True,
    nulls=NULLS,
    cite="kantamneni2025sparse",
    asked_as="Does a latent tell where the concept is?",
    card=Card(
        question="How well does the latent that tells a concept best on one half of the texts tell "
        "it on the other half?",
        interpretation="An AUROC: the share of pairs, one with the concept and one without, that "
        "the latent puts in order. Yes: better than each of 20 random dictionaries, and surely "
        "than their mean. No: surely less than 0.1 better than that, a convention.",
        limitations="Random directions get far above 0.5, for there are so many of them. The best "
        "of all latents on the texts it was chosen on is no evidence at all. A latent may follow "
        "something else that comes with the concept, such as the length of the text.",
        cost="a sort for each latent",
        template="The best latent puts {value} of pairs, one text with what is asked and one "
        "without, in the right order ({low}–{high}{best}). {null}.",
    ),
)
class LatentProbe(Pooled):
    r"""AUROC, on held-out sequences, of the latent with the largest on the others.

    .. math:: \operatorname{AUROC}_B(a_{l^*}, c), \quad
        l^* = \arg\max_l \operatorname{AUROC}_A(a_l, c)

    with the latents' values :math:`a_l` in a sequence (``pooling``), the concept :math:`c`, and two
    halves :math:`A`, :math:`B` of the clusters of sequences, cut by ``split_seed``. A latent that
    is silent where the concept is can be chosen with ``side="either"``. With ``k`` latents, those
    with the largest AUROC enter a logistic regression that is fitted to the first half, with an L2
    penalty chosen in five folds of it. One class only in either half: NaN. Choosing on some texts
    and scoring on others is done in :cite:t:`kantamneni2025sparse`.

    Example:
        >>> from theodolite.metrics import latent_probe
        >>> rows = [2.0, 1.5, 0.4, 0.0] * 4
        >>> latent = [[[0]] if v else [[]] for v in rows]
        >>> value = [[[v]] if v else [[]] for v in rows]
        >>> latent_probe(latent, value, [[1], [1], [0], [0]] * 4)
        array([1.])
    """

    @staticmethod
    def measure(  # noqa: PLR0913  options are keywords
        evidence: TokenEvidence,
        weights: np.ndarray,
        *,
        k: HowMany = 1,
        pooling: Pooling = "max",
        by: By = "auroc",
        side: Side = "positive",
        split_seed: SplitSeed = 0,
        over: Over = "concepts",
    ) -> np.ndarray:
        """The held-out AUROC of each concept's latent, chosen once, under each row of weights."""
        options = {"k": k, "pooling": pooling, "by": by, "side": side, "split_seed": split_seed}
        return LatentProbe.measure_with_moments(evidence, weights, **options, over=over)[0]

    @staticmethod
    def measure_with_moments(
        evidence: TokenEvidence, weights: np.ndarray, **options: Any
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The same; the AUROC on the half that the latent was chosen on, and how many clusters the
        rarer class has in the other."""
        options = metric_of(LatentProbe).counting_options() | options
        k, by, side, split_seed = (options[name] for name in ("k", "by", "side", "split_seed"))
        codes, known = pool_activations(evidence, options["pooling"]), find_known_labels(evidence)
        choosing, truth = split_halves(evidence, split_seed), np.asarray(evidence.truth)
        best = choose_latents(codes, truth, known & choosing[:, None], by, side, k)
        result = np.full((len(weights), truth.shape[1]), np.nan)
        chosen, trials = np.full((2, truth.shape[1]), np.nan)
        fold = split_folds(evidence, split_seed)
        for concept, latents in enumerate(best):
            first, rows = known[:, concept] & choosing, known[:, concept] & ~choosing
            if not len(latents) or not rows.any():
                continue
            own, there = np.stack([codes.of(int(n)) for n in latents], axis=1), truth[:, concept]
            values = own[:, 0]
            if k > 1:
                values = fitted_probe(own[first], there[first], fold[first]).scores(own)
            chosen[concept] = compute_aurocs(values[first, None], there[first])[0]
            if k == 1 and side == "either" and chosen[concept] < 0.5:
                values, chosen[concept] = -values, 1 - chosen[concept]
            result[:, concept] = compute_weighted_aurocs(
                values[rows], there[rows], weights[:, rows]
            )
            trials[concept] = _rarer(evidence, rows, there)
        return result, {CHOSEN: chosen, TRIALS: trials}


def _rarer(evidence: TokenEvidence, rows: np.ndarray, there: np.ndarray) -> int:
    """Clusters of the class that has fewer of them."""
    samples: Any = evidence.samples
    keys = np.asarray(samples.index if samples.clusters is None else samples.clusters)
    return min(len(np.unique(keys[rows & own])) for own in (there, ~there))


def split_halves(evidence: TokenEvidence, seed: int) -> np.ndarray:
    """Split sequences into two halves by cluster, independent of their order."""
    return select_half(evidence.samples, seed)


def choose_latents(
    codes: PooledCodes, truth: np.ndarray, rows: np.ndarray, by: By, side: Side, k: int = 1
) -> list[np.ndarray]:
    """Return the k best latents of each concept among some sequences, the best first; none where
    the concept has one value."""
    n_concepts = truth.shape[1]
    best = [np.zeros(0, np.int64)] * n_concepts
    merit = [np.zeros(0)] * n_concepts
    both = [
        truth[rows[:, c], c].any() and not truth[rows[:, c], c].all() for c in range(n_concepts)
    ]
    for first in range(0, codes.n_latents, BLOCK):
        values = codes.block(first, min(first + BLOCK, codes.n_latents))
        for concept in np.flatnonzero(both):
            own = rows[:, concept]
            each = compute_merits(values[own], truth[own, concept], by, side)
            each = np.concatenate([merit[concept], each])
            number = np.concatenate([best[concept], first + np.arange(values.shape[1])])
            order = np.argsort(-each, kind="stable")[:k]
            best[concept], merit[concept] = number[order], each[order]
    return best


def split_folds(evidence: TokenEvidence, seed: int) -> np.ndarray:
    """Split sequences into five folds by cluster, independent of their order."""
    numbers = hash_clusters(evidence.samples, seed)
    return np.asarray((numbers >> np.uint64(1)) % FOLDS, np.int64)
