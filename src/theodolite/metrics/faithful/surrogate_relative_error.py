"""How far is the explanation off at the true class?"""

from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.faithful._distances import relative_error
from theodolite.metrics.faithful._nulls import ALL
from theodolite.metrics.faithful.frame import USES_IF, Projection, Surrogate, compared


def surrogate_relative_error(
    importances: Float[np.ndarray, "concepts classes"],
    *,
    surrogate: Surrogate = "linear",
    projection: Projection = "given",
    **arrays: Any,
) -> Float[np.ndarray, ""]:
    r"""Mean over samples of :math:`|y_t - \hat y_t| / |y_t|` at the true class :math:`t`.

    .. math:: \frac1N \sum_x \frac{|y_t - \hat y_t|}{|y_t|}

    Called ICE\ :sub:`1` in :cite:t:`kumar2026unfaithfulness`, eq. 5. Undefined where
    :math:`y_t = 0`. The code of :cite:t:`zhang2021invertible` computes another quantity, a ratio of
    means: :func:`~theodolite.metrics.faithful.surrogate_relative_error_by_class`.

    Example:
        >>> surrogate_relative_error(
        ...     np.array([[2.0, np.nan], [np.nan, 0.5]]),
        ...     embeddings=np.array([[1.0, 0.0], [1.0, 3.0]]),
        ...     head=np.array([[2.0, 0.0], [0.0, 1.0]]),
        ...     vectors=np.eye(2),
        ...     labels=np.array([0, 1]),
        ... )
        array(0.25)
    """
    evidence = SurrogateEvidence(importances=importances, **arrays)
    state: SurrogateRelativeError = SurrogateRelativeError.of(
        evidence, surrogate=surrogate, projection=projection
    )
    return state.value()


@metric(
    "surrogate_relative_error",
    title="Relative error at the label (Norm L1)",
    version=1,
    question="faithful",
    better="lower",
    bounds=(0.0, float("inf")),
    uses=("importances", "labels"),
    uses_if=USES_IF,
    decides=False,
    baselines=ALL,
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
    """Sums of relative errors."""

    @staticmethod
    def each(
        evidence: SurrogateEvidence,
        *,
        surrogate: Surrogate = "linear",
        projection: Projection = "given",
    ) -> PerSample:
        """The relative error of each sample."""
        return compared(evidence, relative_error, surrogate, projection)
