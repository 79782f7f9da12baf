"""Would the explanation alone give the network's answer?"""

from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.surrogate_settings import ideal
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.faithful._distances import same_answer
from theodolite.metrics.faithful._nulls import BLIND
from theodolite.metrics.faithful.frame import MAY_USE, USES_IF, Projection, Surrogate, compared


@metric(
    "surrogate_agreement",
    title="Surrogate agreement (Top-1)",
    version=2,
    question="faithful",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("importances",),
    may_use=MAY_USE,
    uses_if=USES_IF,
    decides=False,
    nulls=BLIND,
    ideal=ideal,
    ideal_options={"surrogate": "learned", "projection": "given"},
    cite="zhang2021invertible",
    card=Card(
        asks="Does the explanation lead to the network's answer?",
        read="0.9 means the same answer for nine of ten samples.",
        misleads="Blind to all outputs but the highest, and nearly blind to importances: with "
        "random ones it is often as high. High agreement does not make an explanation "
        "faithful.",
        cost="one product of embeddings and summed concept vectors",
    ),
)
class SurrogateAgreement(SampleMean):
    r"""Share of samples for which explanation and network have the same highest output.

    .. math:: \frac1N \sum_x 1\bigl[\arg\max_i y_i = \arg\max_i \hat y_i\bigr]

    Agreement with the network, not with the label. Where several outputs are highest, the chance
    that a random choice among them agrees: two thirds, say, is then the best that can be had, and
    it is what the network's outputs score against themselves. Called ICE\ :sub:`2` in
    :cite:t:`kumar2026unfaithfulness`, eq. 6.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import surrogate_agreement
        >>> surrogate_agreement(
        ...     np.array([[2.0, np.nan], [np.nan, 0.5]]),
        ...     embeddings=np.array([[1.0, 0.0], [1.0, 3.0]]),
        ...     head=np.array([[2.0, 0.0], [0.0, 1.0]]),
        ...     vectors=np.eye(2),
        ... )
        0.5
    """

    @staticmethod
    def each(
        evidence: SurrogateEvidence,
        *,
        surrogate: Surrogate = "linear",
        projection: Projection = "given",
    ) -> PerSample:
        """Whether the answers are equal."""
        return compared(evidence, same_answer, surrogate, projection)
