"""How much of the loss that an ablation costs does a dictionary recover?"""

from dataclasses import dataclass

from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import rows_of
from theodolite.metrics.base import Card, Weights, metric
from theodolite.metrics.language._recovered import OF, Ablation, Recovered, nulls_of


@metric(
    "loss_recovered",
    title="Loss recovered",
    version=1,
    question="faithful",
    better="higher",
    bounds=(float("-inf"), float("inf")),
    uses=("loss", "loss_spliced", "loss_ablated"),
    uses_if={"ablation": {"zero": ("loss_zeroed",)}},
    may_use=("chance_loss_spliced",),
    nulls=nulls_of("loss"),
    decides=False,
    cite="bricken2023monosemanticity",
    asked_as="Does the network do as well with what the dictionary rebuilds?",
    card=Card(
        asks="Of the loss that the network would suffer without the layer, how much is saved when "
        "what the dictionary rebuilds is put in?",
        read="1 is as good as the layer itself, 0 no better than its mean. Read it beside a "
        "random dictionary.",
        misleads="Zeros in place of the layer cost so much that anything recovers most of it: "
        "published numbers use `ablation='zero'`, where random directions may get more than half. "
        "A few rare tokens can make up most of a sum of losses.",
        cost="three runs of the network, then one sum",
    ),
)
@dataclass(frozen=True)
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

    @classmethod
    def of(
        cls, evidence: TokenEvidence, weights: Weights = None, *, ablation: Ablation = "mean"
    ) -> "LossRecovered":
        """Sums over the tokens of a shard."""
        ablated = rows_of(getattr(evidence, f"loss_{OF[ablation]}"))
        spliced = rows_of(evidence.loss_spliced)
        state: LossRecovered = cls.of_tokens(rows_of(evidence.loss).flat, spliced, ablated, weights)
        return state
