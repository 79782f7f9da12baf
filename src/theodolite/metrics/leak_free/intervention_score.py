"""Does the model's head still work when it is given the true concepts?"""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from theodolite.evidence.kinds.intervention import InterventionEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.leak_free._nulls import HONEST_HEAD

Reference = Annotated[
    Literal["head", "one"],
    Field(description="Accuracy to compare with: of a head trained on the true concepts, or 1."),
]


@metric(
    "intervention_score",
    paper_names=("S_int",),
    title="Accuracy lost under full intervention (S_int)",
    version=2,
    question="leak_free",
    better="lower",
    bounds=(-1.0, 1.0),
    uses=("right_after",),
    uses_if={"reference": {"head": ("right_reference",)}},
    nulls=(HONEST_HEAD,),
    tolerance=0.02,
    cite="parisini2025leakage",
    card=Card(
        asks="How much accuracy is lost when every concept is replaced by the truth?",
        read="Above 0 the head relies on something that the true concepts do not have. 0.02 we "
        "would accept, which is a convention.",
        misleads="A head that was trained on soft values and is given 0 and 1 can lose accuracy "
        "without any leakage. 0 does not mean that nothing leaks: a concept embedding model can "
        "leak a great deal and score 0, because its vectors carry the answer on both sides.",
        cost="one comparison per sample",
        says="With all {noun} corrected, the model loses {value} of its accuracy "
        "({low}–{high}{best}). {null}{enough}.",
    ),
)
class InterventionScore(SampleMean):
    r"""Accuracy lost when all concepts are replaced by the truth (:math:`S_{int}`).

    .. math:: S_{int} = a_{ref} - a_{int}

    Accuracy of a head of the same kind trained on the true concepts, minus accuracy of the model's
    own head given the true concepts. ``reference="one"`` takes 1 for the former, as the published
    script does. Introduced in :cite:t:`parisini2025leakage`, eq. 5.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import intervention_score
        >>> right = np.array([[[1, 0]], [[1, 1]], [[0, 1]], [[1, 0]]], bool)
        >>> intervention_score(right, right_reference=np.array([1, 1, 1, 0], bool))
        0.25
    """

    @staticmethod
    def each(evidence: InterventionEvidence, *, reference: Reference = "head") -> PerSample:
        """Right by the reference, minus right after all concepts were corrected."""
        last = np.asarray(evidence.right_after)[:, 0, -1].astype(float)
        honest = np.ones(len(last))
        if reference == "head":
            honest = np.asarray(evidence.right_reference).astype(float)
        return PerSample(honest - last, np.ones(len(last)), np.ones(len(last), bool))
