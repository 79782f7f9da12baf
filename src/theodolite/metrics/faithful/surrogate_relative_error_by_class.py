"""How far is the explanation off for each class, as the code of ICE counts it?"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.surrogate_settings import outputs_of
from theodolite.metrics.base import Additive, Card, Weights, metric, ratio, total
from theodolite.metrics.faithful._nulls import ALL
from theodolite.metrics.faithful.frame import (
    MAY_USE,
    USES_IF,
    Projection,
    Surrogate,
    needed,
    surrogate_outputs,
)

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
        asks="How far is a class's output off, as a share of its mean?",
        read="0.2 means that the output is missed by a fifth of its mean size.",
        misleads="A class whose outputs change sign has a mean near 0 and an error without limit. "
        "Only the class's own output is looked at, on its own samples.",
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
