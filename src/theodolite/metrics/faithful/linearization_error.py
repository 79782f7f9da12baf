"""Can a layer in the middle of a network be explained as if the rest of it were linear?"""

import numpy as np

from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.faithful._nulls import OTHER_SAMPLES
from theodolite.metrics.faithful.frame import MAY_USE, surrogate_outputs
from theodolite.metrics.faithful.surrogates import absolute_error


@metric(
    "linearization_error",
    title="Linearization error",
    version=1,
    question="faithful",
    better="lower",
    bounds=(0.0, float("inf")),
    uses=("importances", "linearized"),
    may_use=MAY_USE,
    decides=False,
    nulls=(OTHER_SAMPLES,),
    cite="kumar2026unfaithfulness",
    card=Card(
        question="Does the slope of the network tell what it does at the embedding that concepts "
        "make?",
        interpretation="In units of the outputs. Scores by the slope mean something as long as "
        "this is small beside them; where it is as large as the surrogate's error, do not use "
        "them.",
        limitations="Small errors at a layer from which little follows prove nothing about others.",
        cost="counts; one Jacobian-vector product a sample comes before",
    ),
)
class LinearizationError(SampleMean):
    r"""Mean absolute difference between the rest of a network and its slope, at what concepts say.

    .. math:: \frac{1}{NC} \sum_{x,i} |F_i(\hat h) - F_i(h) - J_i(h)(\hat h - h)|

    :math:`F` is the network after the layer, :math:`J` its Jacobian at the sample's embedding
    :math:`h`, and :math:`\hat h` is rebuilt from the concepts. 0 at the last, linear layer.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import linearization_error
        >>> linearization_error(
        ...     np.ones((1, 2)),
        ...     rebuilt=np.array([[1.0, 2.0]]),
        ...     linearized=np.array([[1.5, 2.0]]),
        ...     outputs=np.array([[1.0, 2.5]]),
        ...     projections=np.ones((1, 1)),
        ... )
        0.25
    """

    @staticmethod
    def each(evidence: SurrogateEvidence) -> PerSample:
        """The mean error of each sample's outputs."""
        network, slope = (surrogate_outputs(evidence, s) for s in ("rebuilt", "linearized"))
        part, whole = absolute_error(network, slope, None)
        return PerSample(part, whole, np.ones(len(evidence), bool))
