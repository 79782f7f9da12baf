"""How far is the explanation off, as a share of the output?"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.surrogate_settings import outputs_of
from theodolite.metrics.base import (
    Additive,
    Card,
    PerSample,
    SampleMean,
    Weights,
    metric,
    ratio,
    total,
)
from theodolite.metrics.faithful._nulls import ALL
from theodolite.metrics.faithful.frame import (
    MAY_USE,
    USES_IF,
    Projection,
    Surrogate,
    compared,
    needed,
    surrogate_outputs,
)
from theodolite.metrics.faithful.surrogates import relative_error


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
        question="How far is the explanation off at the true class, as a share of the output "
        "there?",
        interpretation="0.2 means that the output is missed by a fifth of its size.",
        limitations="A single output near 0 can make it as large as you like. All classes but one "
        "are out of sight.",
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


Over = Literal["classes"]


@metric(
    "surrogate_relative_error_by_class",
    title="Relative error per class (ICE)",
    version=1,
    question="faithful",
    better="lower",
    bounds=(0.0, float("inf")),
    uses=("importances", "labels"),
    may_use=MAY_USE,
    uses_if=USES_IF,
    detail=True,
    per_class=True,
    decides=False,
    nulls=ALL,
    cite="zhang2021invertible",
    card=Card(
        question="How far is a class's output off, as a share of its mean?",
        interpretation="0.2 means that the output is missed by a fifth of its mean size.",
        limitations="A class whose outputs change sign has a mean near 0 and an error without "
        "limit. Only the class's own output is looked at, on its own samples.",
        cost="one product of embeddings and summed concept vectors",
    ),
)
@dataclass(frozen=True)
class SurrogateRelativeErrorByClass(Additive):
    r"""Mean error of a class's own output over the size of its mean, for each class.

    .. math:: d_i = \frac{\sum_{x \in X_i} |y_i - \hat y_i|}{|\sum_{x \in X_i} y_i|}

    :math:`X_i` are the samples of class :math:`i`. This is what the code of
    :cite:t:`zhang2021invertible` computes, without the small number that it adds below the line: a
    class whose mean output is 0, or that has no samples, is undefined. The mean of ratios of
    :func:`~theodolite.metrics.functions.faithful.surrogate_relative_error` is another quantity.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import surrogate_relative_error_by_class
        >>> surrogate_relative_error_by_class(
        ...     np.array([[2.0, np.nan], [np.nan, 0.5]]),
        ...     embeddings=np.array([[1.0, 0.0], [1.0, 3.0]]),
        ...     head=np.array([[2.0, 0.0], [0.0, 1.0]]),
        ...     vectors=np.eye(2),
        ...     labels=np.array([0, 1]),
        ... )
        array([0. , 0.5])
    """

    errors: Float[np.ndarray, "*resamples classes"]
    outputs: Float[np.ndarray, "*resamples classes"]

    @classmethod
    def of(
        cls,
        evidence: SurrogateEvidence,
        weights: Weights = None,
        *,
        surrogate: Surrogate = "linear",
        projection: Projection = "given",
    ) -> "SurrogateRelativeErrorByClass":
        network = outputs_of(evidence)
        approximation = surrogate_outputs(evidence, surrogate, projection)
        own = np.zeros(network.shape)
        own[np.arange(len(own)), needed(evidence, "labels")] = 1.0
        return cls(
            errors=total(own * np.abs(network - approximation), weights),
            outputs=total(own * network, weights),
        )

    def value(self, *, over: Over = "classes") -> Float[np.ndarray, "*resamples classes"]:
        del over
        return ratio(self.errors, np.abs(self.outputs))
