"""Is the concept there where the latent that is named after it is active?"""

from collections.abc import Mapping
from typing import Literal

import numpy as np

from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import rows_of
from theodolite.metrics.base import Card, NullModel, PerSample, SampleMean, metric
from theodolite.metrics.language._tokens import explained_entries, per_sample, summed

Over = Literal["explanations"]


def _active(evidence: TokenEvidence) -> np.ndarray:
    """Whether each explained latent is active in each sequence of which the concept is known."""
    values = rows_of(evidence.value)
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
    return per_sample(active * share[np.asarray(evidence.concept_of)], active)


BASE_RATE = NullModel(
    "base rate",
    "active in sequences drawn from all of them: how often the concept is there at all",
    expected=_base_rate,
    sums=_rates,
    random=False,
)


@metric(
    "label_precision",
    title="Precision of named latents",
    version=1,
    question="exists",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("latent", "value", "truth", "explained", "concept_of"),
    may_use=("known",),
    detail=True,
    nulls=(BASE_RATE,),
    reliable_from=0.8,
    decides=False,
    cite="bricken2023monosemanticity",
    asked_as="Is the concept there where its latent is active?",
    card=Card(
        asks="In how many of the sequences where a latent is active is the concept it is named "
        "after?",
        read="A share of sequences, to be read beside the base rate: how often the concept is "
        "there at all.",
        misleads="It says nothing of the sequences with the concept in which the latent is "
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
        """Whether each explained latent is active in each sequence, and rightly so."""
        del over
        active = _active(evidence)
        there = np.asarray(evidence.truth)[:, np.asarray(evidence.concept_of)]
        return per_sample(active * there, active)
