"""How few pixels does a map point at?"""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.shared.map_nulls import NOISE
from theodolite.metrics.shared.marked import ASKED_AS, flattened

Form = Annotated[
    Literal["defined", "reference"],
    Field(description="As defined, or with 1e-7 added to every pixel, as published code does."),
]


@metric(
    "sparseness",
    title="Sparseness",
    version=1,
    question="located",
    asked_as=ASKED_AS,
    better="higher",
    bounds=(0.0, 1.0),
    uses=("maps",),
    decides=False,
    nulls=(NOISE,),
    cite="chalasani2020concise",
    card=Card(
        asks="Does the map point at few pixels?",
        read="0 if all pixels matter alike, near 1 if a single one does; noise has a third.",
        misleads="Few is not right: a map of one wrong pixel is as sparse as can be. It depends "
        "on the number of pixels and on whether negative relevance was cut off.",
        cost="one sort of each map",
    ),
)
class Sparseness(SampleMean):
    r"""Gini index of the relevance, signs left out, mean over pictures.

    .. math:: G = \frac{\sum_i (2i - n - 1)\, a_{(i)}}{n \sum_i a_{(i)}}, \qquad a = |e|

    with the :math:`n` pixels in rising order. It is 0 where all pixels are alike and
    :math:`1 - 1/n` where one alone matters. A map of nothing but zeros is undefined; ``reference``
    adds 1e-7 to every pixel, as published code does, and gives 0. See
    :cite:t:`chalasani2020concise`.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import sparseness
        >>> sparseness(np.array([[[1.0, 2.0], [3.0, 4.0]]]))
        0.25
    """

    @staticmethod
    def each(evidence: SaliencyEvidence, *, form: Form = "defined") -> PerSample:
        """The Gini index of each map."""
        size = np.abs(flattened(evidence.maps).astype(np.float64))
        if form == "reference":
            size += 1e-7
        size.sort(axis=1)
        n = size.shape[1]
        weights = 2.0 * np.arange(1, n + 1) - n - 1
        whole = n * size.sum(axis=1)
        defined = whole > 0
        part = np.divide(size @ weights, whole, out=np.zeros(len(size)), where=defined)
        # rounding may leave what is 0 a little below
        return PerSample(np.maximum(part, 0.0), defined.astype(float), np.ones(len(size), bool))
