"""Metric of how much of an ablation's loss an SAE's reconstruction recovers."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, Literal, TypeVar

import numpy as np
from jaxtyping import Float
from pydantic import Field

from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.plain_arrays import replace_arrays
from theodolite.evidence.ragged import Ragged, require_ragged
from theodolite.metrics.base import Additive, Card, NullModel, Weights, metric, ratio, total

Ablation = Annotated[
    Literal["mean", "zero"],
    Field(description="What is put in for the activations: their mean, or zeros."),
]
OF = {"mean": "ablated", "zero": "zeroed"}


@dataclass(frozen=True)
class Recovered(Additive):
    """Sums over tokens of what an ablation costs, and of what is left of that."""

    cost: Float[np.ndarray, "*resamples"]
    """Increase of the loss by the ablation."""
    recovered: Float[np.ndarray, "*resamples"]
    """Decrease of that loss by the reconstruction."""
    sequences: Float[np.ndarray, "*resamples"]
    empty: Float[np.ndarray, "*resamples"]

    counts_of: ClassVar[str] = "sequences"
    quantity: ClassVar[Literal["loss", "divergence"]]
    """What a token costs; the divergence from the network as it is costs nothing there."""

    @classmethod
    def of(
        cls: type["State"],
        evidence: TokenEvidence,
        weights: Weights = None,
        *,
        ablation: Ablation = "mean",
    ) -> "State":
        """Sums over the tokens of a shard that have a next one."""
        spliced, ablated = (
            require_ragged(getattr(evidence, f"{cls.quantity}_{name}"))
            for name in ("spliced", OF[ablation])
        )
        clean = np.zeros(len(spliced.flat))
        if cls.quantity == "loss":
            clean = require_ragged(evidence.loss).flat
        known = ~(np.isnan(clean) | np.isnan(spliced.flat) | np.isnan(ablated.flat))

        def sums(values: np.ndarray) -> np.ndarray:
            return spliced.sums(np.where(known, np.asarray(values, float), 0.0))

        some = (sums(np.ones(len(known))) > 0).astype(float)
        return cls(
            cost=total(sums(ablated.flat) - sums(clean), weights),
            recovered=total(sums(ablated.flat) - sums(spliced.flat), weights),
            sequences=total(some, weights),
            empty=total(1.0 - some, weights),
        )

    def counted(self) -> tuple[np.ndarray, np.ndarray]:
        """Sequences that entered, and those without a next token."""
        return self.sequences, self.empty

    def value(self) -> np.ndarray:
        """Compute the recovered fraction; undefined where the ablation costs nothing."""
        return ratio(self.recovered, self.cost)


State = TypeVar("State", bound=Recovered)


recovered_metric = partial(
    metric, question="faithful", better="higher", cite="bricken2023monosemanticity"
)


def nulls_of(measure: str) -> tuple[NullModel, NullModel]:
    """Dictionaries of random directions, and the mean activation; ``measure`` of what is put in."""

    draws = f"chance_{measure}_spliced"

    def random_dictionary(evidence: TokenEvidence, number: int) -> TokenEvidence:
        spliced, chance = f"{measure}_spliced", getattr(evidence, draws)
        own = require_ragged(getattr(evidence, spliced))
        gone = np.full(len(own.flat), np.nan)  # as one that was not tried: it is left out
        flat = gone if chance is None else chance.flat[:, number % chance.flat.shape[1]]
        return replace_arrays(evidence, **{spliced: Ragged(flat, own.starts)})

    def mean_activation(evidence: TokenEvidence, seed: int) -> TokenEvidence:
        del seed
        mean = getattr(evidence, f"{measure}_ablated")
        return replace_arrays(evidence, **{f"{measure}_spliced": mean})

    return (
        NullModel(
            "random_sae",
            "what a dictionary of random directions rebuilds, the mean over those that were tried; "
            "undefined where none was",
            random_dictionary, draws_in=draws,
            label="random SAE",
        ),
        NullModel(
            "mean_activation", "the same vector put in at every token", mean_activation,
            random=False,
        ),
    )  # fmt: skip


@recovered_metric(
    "loss_recovered",
    title="Loss recovered",
    bounds=(float("-inf"), float("inf")),
    uses=("loss", "loss_spliced", "loss_ablated"),
    uses_if={"ablation": {"zero": ("loss_zeroed",)}},
    may_use=("chance_loss_spliced",),
    nulls=nulls_of("loss"),
    decides=False,
    asked_as="Does the network do as well with what the dictionary rebuilds?",
    card=Card(
        question="Of the loss that the network would suffer without the layer, how much is saved "
        "when what the dictionary rebuilds is put in?",
        interpretation="1 is as good as the layer itself, 0 no better than its mean. Read it "
        "beside a random SAE.",
        limitations="Zeros in place of the layer cost so much that anything recovers most of it: "
        "published numbers use `ablation='zero'`, where random directions may get more than half. "
        "A few rare tokens can make up most of a sum of losses.",
        cost="three runs of the network, then one sum",
    ),
)
class LossRecovered(Recovered):
    r"""Share of the loss of an ablation that is recovered.

    .. math:: \frac{\sum_t L^{abl}_t - L^{spl}_t}{\sum_t L^{abl}_t - L_t}

    with the cross-entropy :math:`L` of the next token as it is, with what the dictionary rebuilds,
    and with the layer ablated to its mean (or ``ablation="zero"``), over tokens that have a next
    one. An ablation that costs nothing: NaN. It may exceed 1, where the dictionary does better than
    the layer. As in :cite:t:`bricken2023monosemanticity`, there with zeros.

    Example:
        >>> from theodolite.metrics import loss_recovered
        >>> round(loss_recovered([[3.0]], [[3.2]], [[5.0]]), 6)
        0.9
    """

    quantity = "loss"


@recovered_metric(
    "divergence_recovered",
    title="Divergence recovered",
    bounds=(float("-inf"), 1.0),
    uses=("divergence_spliced", "divergence_ablated"),
    uses_if={"ablation": {"zero": ("divergence_zeroed",)}},
    may_use=("chance_divergence_spliced",),
    nulls=nulls_of("divergence"),
    threshold=0.8,
    threshold_from="null",
    is_percentage=True,
    asked_as="Does the network answer the same with what the dictionary rebuilds?",
    card=Card(
        question="How much nearer to the network's own next-token distribution is the one with "
        "what the dictionary rebuilds than the one without the layer?",
        interpretation="1 is the same distribution, 0 as far away as with the mean activation. "
        "From 0.8 of the way from the harder null to 1 on we would rely on it, a convention.",
        limitations="Zeros in place of the layer flatter, as they do the loss. A layer that hardly "
        "matters leaves little to recover, and the share is then of next to nothing. How many "
        "latents are active does not count: a dictionary that passes everything on recovers all.",
        cost="three runs of the network, then one sum",
        template="What the dictionary rebuilds keeps {value} of the network's own next-token "
        "distribution ({low}–{high}{best}). {null}{enough}.",
    ),
)
class DivergenceRecovered(Recovered):
    r"""Share of the divergence of an ablation that is recovered.

    .. math:: 1 - \frac{\sum_t KL(p_t, p^{spl}_t)}{\sum_t KL(p_t, p^{abl}_t)}

    with the next token's distribution :math:`p` as it is, with what the dictionary rebuilds, and
    with the layer ablated to its mean (or ``ablation="zero"``). Unlike the loss it cannot be better
    than the network by luck of the next token. An ablation that changes nothing: NaN. The loss in
    its place: :cite:t:`bricken2023monosemanticity`.

    Example:
        >>> from theodolite.metrics import divergence_recovered
        >>> round(divergence_recovered([[0.026812]], [[0.296794]]), 5)
        0.90966
    """

    quantity = "divergence"
