"""Do explanation and network say that the same attributes are there?"""

from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.faithful._distances import same_sides
from theodolite.metrics.faithful._nulls import ALL
from theodolite.metrics.faithful.frame import MAY_USE, USES_IF, Projection, Surrogate, compared


@metric(
    "attribute_agreement",
    title="Attribute agreement",
    version=1,
    question="faithful",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("importances",),
    may_use=MAY_USE,
    uses_if=USES_IF,
    decides=False,
    on_request=True,
    nulls=ALL,
    cite="kumar2026unfaithfulness",
    card=Card(
        asks="Do explanation and network say that the same attributes are there?",
        read="0.9 means that nine of ten attributes come out alike.",
        misleads="Attributes that are hardly ever there agree without any explanation: compare "
        "with always answering the average. Means nothing for classes of which one must "
        "be chosen.",
        cost="one product of embeddings and summed concept vectors",
    ),
)
class AttributeAgreement(SampleMean):
    r"""Share of outputs that explanation and network put on the same side of 0.

    .. math:: \frac{1}{NC} \sum_{x,i} 1[(y_i > 0) = (\hat y_i > 0)]

    For networks whose outputs are attributes, each there or not there. The paper states no
    threshold; an output above 0 is a probability above one half.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import attribute_agreement
        >>> attribute_agreement(
        ...     np.array([[2.0, np.nan], [np.nan, 0.5]]),
        ...     embeddings=np.array([[1.0, 0.0], [1.0, 3.0]]),
        ...     head=np.array([[2.0, 0.0], [0.0, 1.0]]),
        ...     vectors=np.eye(2),
        ... )
        1.0
    """

    @staticmethod
    def each(
        evidence: SurrogateEvidence,
        *,
        surrogate: Surrogate = "linear",
        projection: Projection = "given",
    ) -> PerSample:
        """The share of equal attributes of each sample."""
        return compared(evidence, same_sides, surrogate, projection)
