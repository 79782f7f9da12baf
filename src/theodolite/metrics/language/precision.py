"""Metric of whether a latent's predicate holds where the latent is active."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.plain_arrays import replace_arrays
from theodolite.evidence.ragged import require_ragged
from theodolite.metrics.base import Card, NullModel, PerSample, SampleMean, metric
from theodolite.metrics.language._tokens import explained_entries, holds_at, summed

Weight = Annotated[
    Literal["value", "token"],
    Field(description="What each active token counts: how active the latent is there, or 1."),
]
Over = Literal["explanations"]
precision_metric = partial(
    metric,
    better="higher",
    bounds=(0.0, 1.0),
    detail=True,
    threshold=0.8,
    decides=False,
    cite="bricken2023monosemanticity",
)


def _activity(evidence: TokenEvidence, weight: Weight) -> tuple[np.ndarray, np.ndarray]:
    """By sequence and explanation: the latent's activity where it holds, and all of it; of a random
    dictionary what was summed before."""
    if evidence.latent is None:
        return _sums_of_draw(evidence.chance_on_formula), _sums_of_draw(evidence.chance_activation)
    values = require_ragged(evidence.value)
    entry, item = explained_entries(evidence)
    amounts = np.maximum(values.flat[entry].astype(float), 0.0)
    if weight == "token":
        amounts = (amounts > 0).astype(float)
    sample, predicate = values.row[entry], np.asarray(evidence.predicate_of)[item]
    inside = holds_at(evidence, values.inner_row[entry], predicate)
    stated = np.asarray(evidence.predicate_of) >= 0
    return (
        summed(evidence, sample, item, amounts * inside) * stated,
        summed(evidence, sample, item, amounts) * stated,
    )


def _sums_of_draw(sums: np.ndarray | None) -> np.ndarray:
    assert sums is not None  # noqa: S101  the null has put them in
    return np.asarray(sums[:, 0], float)


def _how_often(evidence: TokenEvidence) -> dict[str, np.ndarray]:
    counts = np.bincount(require_ragged(evidence.holds).flat, minlength=len(evidence.predicates))
    return {
        "holds": counts.astype(float),
        "tokens": np.array(len(require_ragged(evidence.tokens).flat)),
    }


def _any_token(
    evidence: TokenEvidence, sums: Mapping[str, np.ndarray], *, weight: Weight, over: Over
) -> PerSample:
    del over
    _, whole = _activity(evidence, weight)
    share = sums["holds"][np.asarray(evidence.predicate_of)] / max(float(sums["tokens"]), 1.0)
    return PerSample.from_values(whole * share, whole)


def _random_dictionary(evidence: TokenEvidence, number: int) -> TokenEvidence:
    """Replace the activations by one draw of a random dictionary, if there are draws."""
    chances = evidence.chance_activation, evidence.chance_on_formula
    nothing = np.zeros((len(evidence), 1, len(evidence.explanations)))
    whole, part = (nothing if a is None else a[:, number % a.shape[1] :][:, :1] for a in chances)
    single = {"chance_activation": whole, "chance_on_formula": part}
    return replace_arrays(evidence, latent=None, value=None, **single)


RANDOM_DICTIONARY = NullModel(
    "random_sae",
    "the best latent for the same explanation of a dictionary of random directions; undefined "
    "where none was given",
    make=_random_dictionary,
    draws_in="chance_activation",
    label="random SAE",
)
ANY_TOKEN = NullModel(
    "random_token",
    "the same activity at tokens drawn from all texts: how often the explanation holds at all",
    expected=_any_token,
    sums=_how_often,
    random=False,
)


@precision_metric(
    "activation_precision",
    title="Precision of activity",
    question="detects",
    uses=("tokens", "latent", "value", "holds", "explained", "predicate_of"),
    may_use=("chance_activation", "chance_on_formula"),
    nulls=(RANDOM_DICTIONARY, ANY_TOKEN),
    asked_as="Is the latent active where its explanation holds?",
    card=Card(
        question="How much of a latent's activity is at tokens of which its explanation holds?",
        interpretation="A share of the activity, or of the active tokens. Without a random SAE "
        "beside it, it is no finding about the network: any direction is active at some word.",
        limitations="Explanations written from the strongest activations describe these, and by "
        "value they weigh most: look at `weight='token'` too. A predicate that always holds gets "
        "1.",
        cost="one pass over the codes",
    ),
)
class ActivationPrecision(SampleMean):
    r"""Share of a latent's activity at tokens of which its explanation holds.

    .. math:: \frac{\sum_t a_t \, 1[g(t)]}{\sum_t a_t}

    with the latent's activity :math:`a_t > 0` at token :math:`t`, or 1 where it is active
    (``weight="token"``), and its explanation :math:`g`. Never active, or no predicate: NaN. That
    activity is specific to what a feature is named after is asked in
    :cite:t:`bricken2023monosemanticity`.

    Example:
        >>> from theodolite.metrics import activation_precision
        >>> tokens = [[0, 1, 2], [3, 1, 4, 5], [0, 6, 2]]
        >>> cat = [[[], [0], []], [[], [0], [], []], [[], [], []]]
        >>> latent = [[[], [0], []], [[], [0], [0], []], [[], [0], []]]
        >>> value = [[[], [2.0], []], [[], [1.5], [0.5], []], [[], [0.4], []]]
        >>> activation_precision(tokens, latent, value, cat, [0], [0]).round(6)
        array([0.795455])
        >>> activation_precision(tokens, latent, value, cat, [0], [0], weight="token")
        array([0.5])
    """

    @staticmethod
    def each(
        evidence: TokenEvidence, *, weight: Weight = "value", over: Over = "explanations"
    ) -> PerSample:
        del over
        return PerSample.from_values(*_activity(evidence, weight))


def _active(evidence: TokenEvidence) -> np.ndarray:
    """Return where each explained latent is active in sequences with a known concept."""
    values = require_ragged(evidence.value)
    entry, item = explained_entries(evidence)
    positive = (values.flat[entry] > 0).astype(float)
    active = summed(evidence, values.row[entry], item, positive) > 0
    concept = np.asarray(evidence.concept_of)
    active &= concept >= 0
    if evidence.known is not None:
        active &= np.asarray(evidence.known)[:, concept]
    return active.astype(float)


def _rates(evidence: TokenEvidence) -> dict[str, np.ndarray]:
    truth = np.asarray(evidence.truth)
    known = np.ones(truth.shape, bool) if evidence.known is None else np.asarray(evidence.known)
    return {"there": (truth & known).sum(axis=0, dtype=float), "known": known.sum(axis=0)}


def _base_rate(evidence: TokenEvidence, sums: Mapping[str, np.ndarray], *, over: Over) -> PerSample:
    del over
    active = _active(evidence)
    share = sums["there"] / np.maximum(sums["known"], 1)
    return PerSample.from_values(active * share[np.asarray(evidence.concept_of)], active)


BASE_RATE = NullModel(
    "base_rate",
    "active in sequences drawn from all of them: how often the concept is there at all",
    expected=_base_rate,
    sums=_rates,
    random=False,
)


@precision_metric(
    "label_precision",
    title="Precision of named latents",
    question="exists",
    uses=("latent", "value", "truth", "explained", "concept_of"),
    may_use=("known",),
    nulls=(BASE_RATE,),
    asked_as="Is the concept there where its latent is active?",
    card=Card(
        question="In how many of the sequences where a latent is active is the concept it is named "
        "after?",
        interpretation="A share of sequences, to be read beside the base rate: how often the "
        "concept is there at all.",
        limitations="It says nothing of the sequences with the concept in which the latent is "
        "silent. A latent that is active in every sequence gets the base rate.",
        cost="one pass over the codes",
    ),
)
class LabelPrecision(SampleMean):
    r"""Share of sequences with the concept among those in which its latent is active.

    .. math:: \frac{|\{s : a_l(s) > 0, c(s)\}|}{|\{s : a_l(s) > 0\}|}

    Sequences of which the concept is not known are left out. Never active: NaN. After
    :cite:t:`bricken2023monosemanticity`.

    Example:
        >>> from theodolite.metrics import label_precision
        >>> latent = [[[], [0], []], [[], [0], [0], []], [[], [0], []], [[]]]
        >>> value = [[[], [2.0], []], [[], [1.5], [0.5], []], [[], [0.4], []], [[]]]
        >>> label_precision(latent, value, [[1], [1], [0], [0]], [0], [0]).round(6)
        array([0.666667])
    """

    @staticmethod
    def each(evidence: TokenEvidence, *, over: Over = "explanations") -> PerSample:
        del over
        active = _active(evidence)
        there = np.asarray(evidence.truth)[:, np.asarray(evidence.concept_of)]
        return PerSample.from_values(active * there, active)
