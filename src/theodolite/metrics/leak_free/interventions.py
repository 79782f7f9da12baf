"""What does correcting concepts do to the answer?"""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.intervention import InterventionEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.leak_free._nulls import HONEST_HEAD, NOTHING_CORRECTED
from theodolite.metrics.option_types import Share

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
        question="How much accuracy is lost when every concept is replaced by the truth?",
        interpretation="Above 0 the head relies on something that the true concepts do not have. "
        "0.02 we would accept, which is a convention.",
        limitations="A head that was trained on soft values and is given 0 and 1 can lose accuracy "
        "without any leakage. 0 does not mean that nothing leaks: a concept embedding model can "
        "leak a great deal and score 0, because its vectors carry the answer on both sides.",
        cost="one comparison per sample",
        template="With all {noun} corrected, the model loses {value} of its accuracy "
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


Corrected = Annotated[
    Sequence[Share], Field(min_length=1, description="Shares of the concepts that are corrected.")
]
Policy = Annotated[int, Field(ge=0, description="Number of the policy in the evidence.")]


@metric(
    "intervention_accuracy",
    title="Accuracy under intervention",
    question="leak_free",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("right_after",),
    sweeps=("corrected",),
    decides=False,
    headline={"corrected": 1.0},
    nulls=(NOTHING_CORRECTED,),
    cite="parisini2025leakage",
    card=Card(
        question="Is the answer right more often once concepts are corrected?",
        interpretation="An honest model gains with every correction. A curve that falls shows a "
        "head that relies on more than the concepts.",
        limitations="A model that is right anyway has nothing to gain. A concept embedding model "
        "can gain and leak.",
        cost="one comparison per sample",
    ),
)
class InterventionAccuracy(SampleMean):
    r"""Accuracy after a share of the concepts was replaced by the truth: the intervention curve.

    .. math:: a_s = \frac1N \sum_i 1[\hat y(\tilde c_i^{(s)}) = y_i]

    :math:`\tilde c_i^{(s)}` are the concepts of sample :math:`i` with a share :math:`s` of them
    replaced.

    ``policy`` is the number of the policy in the evidence. Shares are rounded to whole concepts.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import intervention_accuracy
        >>> right = np.array([[[1, 0, 0]], [[0, 1, 1]], [[0, 0, 1]], [[1, 1, 1]]], bool)
        >>> intervention_accuracy(right)
        array([0.5 , 0.5 , 0.75])
    """

    @staticmethod
    def each(
        evidence: InterventionEvidence,
        *,
        corrected: Corrected = (0.0, 0.5, 1.0),
        policy: Policy = 0,
    ) -> PerSample:
        """Whether each sample is right after each share of corrections."""
        right = np.asarray(evidence.right_after)
        if not 0 <= policy < right.shape[1]:
            raise EvidenceError("policy", f"{policy}", f"0 to {right.shape[1] - 1}")
        shares = np.asarray(corrected, float)
        if shares.size == 0 or shares.min() < 0 or shares.max() > 1:
            raise EvidenceError("corrected", f"{list(corrected)}", "shares from 0 to 1")
        steps = np.round(shares * (right.shape[2] - 1)).astype(int)
        part = right[:, policy, steps].astype(float)
        return PerSample(part, np.ones(part.shape), np.ones(len(part), bool))
