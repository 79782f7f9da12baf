"""Does the explanation order the classes as the network does?"""

from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.faithful._distances import rank_correlation
from theodolite.metrics.faithful._nulls import ALL
from theodolite.metrics.faithful.frame import MAY_USE, USES_IF, Projection, Surrogate, compared


@metric(
    "surrogate_rank_correlation",
    title="Surrogate rank correlation",
    version=1,
    question="faithful",
    better="higher",
    bounds=(-1.0, 1.0),
    uses=("importances",),
    may_use=MAY_USE,
    uses_if=USES_IF,
    decides=False,
    nulls=ALL,
    cite="kumar2026unfaithfulness",
    card=Card(
        asks="Does the explanation order the classes as the network does?",
        read="1 is the same order, 0 is unrelated, below 0 the opposite.",
        misleads="All ranks count alike: the order among hundreds of classes that are out of the "
        "question weighs as much as the order of the first two.",
        cost="one product of embeddings and summed concept vectors",
    ),
)
class SurrogateRankCorrelation(SampleMean):
    r"""Mean over samples of Spearman's correlation between the outputs of network and explanation.

    .. math:: \frac1N \sum_x \mathrm{corr}\bigl(\mathrm{rank}(y), \mathrm{rank}(\hat y)\bigr)

    Over the outputs of one sample; equal outputs share their rank. Undefined for a sample whose
    outputs, or the explanation's, are all equal: counted, and left out.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import surrogate_rank_correlation
        >>> surrogate_rank_correlation(
        ...     np.array([[2.0, np.nan], [np.nan, 0.5]]),
        ...     embeddings=np.array([[1.0, 0.0], [1.0, 3.0]]),
        ...     head=np.array([[2.0, 0.0], [0.0, 1.0]]),
        ...     vectors=np.eye(2),
        ... )
        0.0
    """

    @staticmethod
    def each(
        evidence: SurrogateEvidence,
        *,
        surrogate: Surrogate = "linear",
        projection: Projection = "given",
    ) -> PerSample:
        """The correlation over each sample's outputs."""
        return compared(evidence, rank_correlation, surrogate, projection)
