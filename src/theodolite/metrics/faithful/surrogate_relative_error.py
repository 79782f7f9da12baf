"""How far is the explanation off at the true class?"""

from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.faithful._distances import relative_error
from theodolite.metrics.faithful._nulls import ALL
from theodolite.metrics.faithful.frame import MAY_USE, USES_IF, Projection, Surrogate, compared


@metric(
    "surrogate_relative_error",
    title="Relative error at the label (Norm L1)",
    version=1,
    question="faithful",
    better="lower",
    bounds=(0.0, float("inf")),
    uses=("importances", "labels"),
    may_use=MAY_USE,
    uses_if=USES_IF,
    decides=False,
    nulls=ALL,
    cite="zhang2021invertible",
    card=Card(
        asks="How far is the explanation off at the true class, as a share of the output there?",
        read="0.2 means that the output is missed by a fifth of its size.",
        misleads="A single output near 0 can make it as large as you like. All classes but one are "
        "out of sight.",
        cost="one product of embeddings and summed concept vectors",
    ),
)
class SurrogateRelativeError(SampleMean):
    r"""Mean over samples of :math:`|y_t - \hat y_t| / |y_t|` at the true class :math:`t`.

    .. math:: \frac1N \sum_x \frac{|y_t - \hat y_t|}{|y_t|}

    Called ICE\ :sub:`1` in :cite:t:`kumar2026unfaithfulness`, eq. 5. Undefined where
    :math:`y_t = 0`. The code of :cite:t:`zhang2021invertible` computes another quantity, a ratio of
    means: :func:`~theodolite.metrics.functions.faithful.surrogate_relative_error_by_class`.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import surrogate_relative_error
        >>> surrogate_relative_error(
        ...     np.array([[2.0, np.nan], [np.nan, 0.5]]),
        ...     embeddings=np.array([[1.0, 0.0], [1.0, 3.0]]),
        ...     head=np.array([[2.0, 0.0], [0.0, 1.0]]),
        ...     vectors=np.eye(2),
        ...     labels=np.array([0, 1]),
        ... )
        0.25
    """

    @staticmethod
    def each(
        evidence: SurrogateEvidence,
        *,
        surrogate: Surrogate = "linear",
        projection: Projection = "given",
    ) -> PerSample:
        """The relative error of each sample."""
        return compared(evidence, relative_error, surrogate, projection, evidence.labels)
