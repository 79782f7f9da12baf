"""How much probability do concepts times importances put in the wrong place?"""

from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.faithful._distances import moved_probability
from theodolite.metrics.faithful._nulls import ALL
from theodolite.metrics.faithful.frame import MAY_USE, USES_IF, Projection, Surrogate, compared
from theodolite.metrics.faithful.warnings import surrogate_warnings


@metric(
    "surrogate_distance",
    paper_names=("SURF_EMD",),
    title="Surrogate distance (SURF EMD)",
    version=2,
    question="faithful",
    better="lower",
    bounds=(0.0, 1.0),
    uses=("importances",),
    may_use=MAY_USE,
    uses_if=USES_IF,
    reliable_from=0.9,
    nulls=ALL,
    cite="kumar2026unfaithfulness",
    warns=surrogate_warnings,
    card=Card(
        asks="How much of the probability does the explanation put on other classes than the "
        "network?",
        read="0.1 means that a tenth of the probability lies on other classes, on average. Up "
        "to 0.1 we would rely on the explanation; that line is a convention.",
        misleads="Softmax makes it depend on the scale of the outputs: a sure network punishes "
        "small errors, one that says nothing punishes none. Read it beside the error of "
        "the outputs.",
        cost="one product of embeddings and summed concept vectors",
        says="{value} of the probability lands on other classes than the reference's "
        "({low}–{high}{best}). {null}{enough}.",
    ),
)
class SurrogateDistance(SampleMean):
    r"""Share of the probability that an explanation puts elsewhere than the network (SURF).

    .. math:: d = \frac{1}{2N} \sum_x \sum_i |p_i - \hat p_i|, \qquad p = \mathrm{softmax}(y)

    An earth mover's distance in which all classes are equally far apart; that is, total variation.
    Outputs are made as in :func:`~theodolite.metrics.functions.faithful.surrogate_error`. A single
    output has no distribution: undefined. Introduced in :cite:t:`kumar2026unfaithfulness`, eq. 12.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import surrogate_distance
        >>> value = surrogate_distance(
        ...     np.array([[2.0, np.nan], [np.nan, 0.5]]),
        ...     embeddings=np.array([[1.0, 0.0], [1.0, 3.0]]),
        ...     head=np.array([[2.0, 0.0], [0.0, 1.0]]),
        ...     vectors=np.eye(2),
        ... )
        >>> round(value, 4)
        0.1768
    """

    @staticmethod
    def each(
        evidence: SurrogateEvidence,
        *,
        surrogate: Surrogate = "linear",
        projection: Projection = "given",
    ) -> PerSample:
        """The probability that lies elsewhere, for each sample."""
        return compared(evidence, moved_probability, surrogate, projection)
