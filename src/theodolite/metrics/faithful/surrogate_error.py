"""How far are concepts times importances from what the network puts out?"""

from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.faithful._distances import absolute_error
from theodolite.metrics.faithful._nulls import ALL
from theodolite.metrics.faithful.frame import MAY_USE, USES_IF, Projection, Surrogate, compared


@metric(
    "surrogate_error",
    paper_names=("SURF_MAE",),
    title="Surrogate error (SURF MAE)",
    version=2,
    question="faithful",
    better="lower",
    bounds=(0.0, float("inf")),
    uses=("importances",),
    may_use=MAY_USE,
    uses_if=USES_IF,
    nulls=ALL,
    reliable_from=0.9,
    share_from="null",
    cite="kumar2026unfaithfulness",
    card=Card(
        asks="How far is the sum of concepts times importances from the output?",
        read="In units of the outputs; 0 is the layer itself. Compare with always answering "
        "the average: an explanation that does not beat it says less than no explanation. From a "
        "tenth of the best null on down we would rely on it, which is a convention.",
        misleads="Outputs have no common scale, so two networks cannot be compared by it. All "
        "classes count alike: a network with a thousand classes can be explained well for "
        "all but the one that matters.",
        cost="one product of embeddings and summed concept vectors",
        says="The sum of {noun} times importances is off by {value} from the reference's output, "
        "in its own units ({low}–{high}{best}). {null}{enough}.",
    ),
)
class SurrogateError(SampleMean):
    r"""Mean absolute difference between the outputs of a network and of its explanation (SURF).

    .. math:: \hat y_i = b_i + \sum_k \alpha_{ik} P(h; V_i)_k, \qquad
              d = \frac{1}{NC} \sum_{x,i} |y_i - \hat y_i|

    The explanation of class :math:`i` are concepts :math:`V_i` with importances :math:`\alpha_i`;
    the network's bias :math:`b` is added. Nothing is fitted. Introduced in
    :cite:t:`kumar2026unfaithfulness`, eqs. 10 and 11. ``surrogate`` may be another than the
    paper's.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import surrogate_error
        >>> surrogate_error(
        ...     np.array([[2.0, np.nan], [np.nan, 0.5]]),
        ...     embeddings=np.array([[1.0, 0.0], [1.0, 3.0]]),
        ...     head=np.array([[2.0, 0.0], [0.0, 1.0]]),
        ...     vectors=np.eye(2),
        ... )
        0.375
    """

    @staticmethod
    def each(
        evidence: SurrogateEvidence,
        *,
        surrogate: Surrogate = "linear",
        projection: Projection = "given",
    ) -> PerSample:
        """The mean error of each sample's outputs."""
        return compared(evidence, absolute_error, surrogate, projection)
