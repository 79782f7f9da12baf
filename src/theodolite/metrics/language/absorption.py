"""Is a concept carried by other latents than its own?"""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from theodolite.evidence.columns import with_arrays
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import rows_of
from theodolite.metrics.base import Card, NullModel, PerSample, SampleMean, metric
from theodolite.metrics.language._tokens import per_sample

Kind = Annotated[
    Literal["fraction", "full"],
    Field(description="How much others carry, or whether they carry it while its own are silent."),
]
Form = Annotated[
    Literal["length", "as_published"],
    Field(description="Whether rows of the decoder count with their length, or as if it were 1."),
]
Over = Literal["concepts"]
MOST_ABSORBERS, LEAST_COSINE, LEAST_SHARE, LEAST_COSINE_OF_FULL = 3, 0.1, 0.4, 0.025
"""As published."""


def _permuted_decoder(evidence: TokenEvidence, seed: int) -> TokenEvidence:
    decoder = np.asarray(evidence.decoder)
    order = np.random.default_rng(seed).permutation(len(decoder))
    return with_arrays(evidence, decoder=decoder[order])


PERMUTED_DECODER = NullModel(
    "permuted_decoder", "directions dealt out among the latents", _permuted_decoder
)


def _absorbed(
    evidence: TokenEvidence, concept: int, kind: Kind, form: Form
) -> tuple[np.ndarray, np.ndarray]:
    """Of each token: how much of the concept other latents carry, and whether it was asked."""
    latents, values = rows_of(evidence.latent), rows_of(evidence.value)
    along = np.asarray(rows_of(evidence.projections).flat[:, concept], float)
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
        near = ~own & (cosine[latents.flat] >= LEAST_COSINE_OF_FULL)
        largest = _largest(token, np.where(near, carried, 0.0), n, 1)
        silent = np.bincount(token, own, n) == 0
        return (silent & (largest / whole >= LEAST_SHARE)).astype(float), there
    others = ~own & (cosine[latents.flat] >= LEAST_COSINE) & (carried > 0)
    absorbers = _largest(token, np.where(others, carried, 0.0), n, MOST_ABSORBERS)
    amount = np.minimum(absorbers, whole - main)
    fraction = amount / np.where(main > 0, amount + main, 1.0)
    fraction = np.where(main <= 0, 1.0, fraction)
    none = (main >= whole) | (absorbers / whole < LEAST_SHARE)
    return np.where(none, 0.0, fraction), there


def _largest(token: np.ndarray, amounts: np.ndarray, n: int, most: int) -> np.ndarray:
    """The sum of the largest amounts of each token."""
    order = np.lexsort((-amounts, token))
    place = np.arange(len(order)) - np.searchsorted(token, token)
    first = order[place < most]
    return np.bincount(token[first], amounts[first], n)


@metric(
    "absorption",
    title="Absorption",
    question="leak_free",
    better="lower",
    bounds=(0.0, 1.0),
    uses=("latent", "value", "decoder", "probes", "projections", "explained", "concept_of"),
    detail=True,
    nulls=(PERMUTED_DECODER,),
    decides=False,
    cite="chanin2024absorption",
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
        """Sums over the tokens of each sequence of what others carry, and how many were asked."""
        del over
        projections = rows_of(evidence.projections)
        parts, wholes = [], []
        for concept in range(projections.flat.shape[1]):
            carried, there = _absorbed(evidence, concept, kind, form)
            parts.append(projections.sums(carried * there))
            wholes.append(projections.sums(there))
        return per_sample(np.stack(parts, axis=1), np.stack(wholes, axis=1))
