"""How near does a dictionary bring the next token's distribution to that of the network?"""

from dataclasses import dataclass

import numpy as np

from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import rows_of
from theodolite.metrics.base import Card, Weights, metric
from theodolite.metrics.language._recovered import OF, Ablation, Recovered, nulls_of


@metric(
    "divergence_recovered",
    title="Divergence recovered",
    version=1,
    question="faithful",
    better="higher",
    bounds=(float("-inf"), 1.0),
    uses=("divergence_spliced", "divergence_ablated"),
    uses_if={"ablation": {"zero": ("divergence_zeroed",)}},
    may_use=("chance_divergence_spliced",),
    nulls=nulls_of("divergence"),
    reliable_from=0.8,
    share_from="null",
    share=True,
    cite="bricken2023monosemanticity",
    asked_as="Does the network answer the same with what the dictionary rebuilds?",
    card=Card(
        asks="How much nearer to the network's own next-token distribution is the one with what "
        "the dictionary rebuilds than the one without the layer?",
        read="1 is the same distribution, 0 as far away as with the mean activation. From 0.8 of "
        "the way from the harder null to 1 on we would rely on it, a convention.",
        misleads="Zeros in place of the layer flatter, as they do the loss. A layer that hardly "
        "matters leaves little to recover, and the share is then of next to nothing.",
        cost="three runs of the network, then one sum",
        says="What the dictionary rebuilds keeps {value} of the network's own next-token "
        "distribution ({low}–{high}{best}). {null}{enough}.",
    ),
)
@dataclass(frozen=True)
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

    @classmethod
    def of(
        cls, evidence: TokenEvidence, weights: Weights = None, *, ablation: Ablation = "mean"
    ) -> "DivergenceRecovered":
        """Sums over the tokens of a shard."""
        ablated = rows_of(getattr(evidence, f"divergence_{OF[ablation]}"))
        spliced = rows_of(evidence.divergence_spliced)
        nothing = np.zeros(len(spliced.flat))
        state: DivergenceRecovered = cls.of_tokens(nothing, spliced, ablated, weights)
        return state
