"""How well are answers and concepts predicted, and what does correcting concepts do?"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Bool, Float
from pydantic import Field

from theodolite._stats.grouped_weights import RowWeights
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.intervention import InterventionEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric, ratio
from theodolite.metrics.blocks import BlockContext, Blockwise
from theodolite.metrics.leak_free._nulls import (
    HONEST_HEAD,
    NOTHING_CORRECTED,
    SHUFFLED_PREDICTIONS,
    SHUFFLED_TRUTH,
)
from theodolite.metrics.leak_free._terms import auc_terms, weighted_means
from theodolite.metrics.option_types import Share

By = Literal["accuracy", "f1", "auc"]
Scores = Annotated[
    Sequence[By], Field(min_length=1, description="Accuracy, F1, or area under the ROC curve.")
]
Threshold = Annotated[
    float | None,
    Field(description="Value above which a concept is predicted; None: 0.5, or 0 for logits."),
]
Reference = Annotated[
    Literal["head", "one"],
    Field(description="Accuracy to compare with: of a head trained on the true concepts, or 1."),
]
Corrected = Annotated[
    Sequence[Share], Field(min_length=1, description="Shares of the concepts that are corrected.")
]
Policy = Annotated[int, Field(ge=0, description="Number of the policy in the evidence.")]
accuracy_metric = partial(
    metric,
    question="leak_free",
    better="higher",
    bounds=(0.0, 1.0),
    decides=False,
    cite="parisini2025leakage",
)


@accuracy_metric(
    "task_accuracy",
    title="Task accuracy",
    uses=("predicted", "labels"),
    nulls=(SHUFFLED_PREDICTIONS,),
    card=Card(
        question="How often is the model's answer right?",
        interpretation="The share of samples that are rightly classified.",
        limitations="High accuracy with badly predicted concepts is a sign of leakage, not "
        "quality.",
        cost="one comparison per sample",
    ),
)
class TaskAccuracy(SampleMean):
    r"""Share of samples whose predicted class is the true one.

    .. math:: \frac1N \sum_i 1[\hat y_i = y_i]

    Example:
        >>> from theodolite.metrics import task_accuracy
        >>> task_accuracy([0, 1, 1, 0], [0, 1, 0, 0])
        0.75
    """

    @staticmethod
    def each(evidence: ConceptEvidence) -> PerSample:
        return PerSample.from_values(np.asarray(evidence.predicted == evidence.labels))


@accuracy_metric(
    "concept_prediction",
    title="Concept prediction",
    uses=("values", "truth"),
    may_use=("known",),
    sweeps=("by",),
    detail=True,
    headline={"by": "accuracy"},
    nulls=(SHUFFLED_TRUTH,),
    card=Card(
        question="How well does the model predict the concepts?",
        interpretation="Accuracy, F1 and area under the ROC curve, averaged over concepts.",
        limitations="Says nothing about leakage: two models with the same accuracy can leak "
        "nothing and everything. Logits that all lie between 0 and 1 need threshold=0.",
        cost="one sort per concept",
    ),
)
class ConceptPrediction(Blockwise):
    r"""Accuracy, F1 score and area under the ROC curve of each concept.

    .. math:: \frac{TP + TN}{N} \qquad F_1 = \frac{2\,TP}{2\,TP + FP + FN} \qquad
        P(\hat c^{+} > \hat c^{-}) + \tfrac12 P(\hat c^{+} = \hat c^{-})

    The area is the probability that a sample with the concept has a higher value than one without.

    A concept counts as predicted where its value exceeds the threshold: 0.5 if all values lie
    between 0 and 1 (probabilities), else 0 (logits), unless it is given. F1 is undefined where a
    concept is neither there nor predicted, the area where it is always or never there.

    Example:
        >>> from theodolite.metrics import concept_prediction
        >>> concept_prediction([[0.9], [0.6], [0.4], [0.1]], [[1], [0], [1], [0]])
        array([[0.5 ],
               [0.5 ],
               [0.75]])
    """

    @staticmethod
    def part(
        evidence: ConceptEvidence,
        weights: RowWeights,
        block: BlockContext,
        *,
        by: Scores = ("accuracy", "f1", "auc"),
        threshold: Threshold = None,
        over: Literal["concepts"] = "concepts",
    ) -> Mapping[str, np.ndarray]:
        del over
        values, truth = np.asarray(evidence.values, np.float64).T, np.asarray(evidence.truth).T
        known = np.ones(truth.shape, bool) if evidence.known is None else evidence.known.T
        if threshold is None:
            threshold = 0.5 if block.common.lowest >= 0 and block.common.highest <= 1 else 0.0
        predicted = values > threshold

        def mean(terms: np.ndarray) -> np.ndarray:
            return weighted_means(np.where(known, terms, np.nan), weights)

        def of(score: By) -> np.ndarray:
            if score == "accuracy":
                return mean((predicted == truth).astype(float))
            if score == "auc":
                return np.asarray(np.clip(mean(_areas(values, truth, known)), 0.0, 1.0))
            both, either = (predicted & truth).astype(float), predicted.astype(float) + truth
            return ratio(2 * mean(both), mean(either))

        return block.of_concepts(np.stack([of(score) for score in by], axis=1))


def _areas(
    values: Float[np.ndarray, "concepts samples"],
    truth: Bool[np.ndarray, "concepts samples"],
    known: Bool[np.ndarray, "concepts samples"],
) -> Float[np.ndarray, "concepts samples"]:
    terms = np.full(values.shape, np.nan)
    for j, rows in enumerate(known):
        terms[j, rows] = auc_terms(values[j, rows], truth[j, rows])
    return terms


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
        >>> from theodolite.metrics import intervention_score
        >>> right = [[[True, False]], [[True, True]], [[False, True]], [[True, False]]]
        >>> intervention_score(right, right_reference=[True, True, True, False])
        0.25
    """

    @staticmethod
    def each(evidence: InterventionEvidence, *, reference: Reference = "head") -> PerSample:
        last = np.asarray(evidence.right_after)[:, 0, -1].astype(float)
        honest = np.asarray(evidence.right_reference) if reference == "head" else 1.0
        return PerSample.from_values(honest - last)


@accuracy_metric(
    "intervention_accuracy",
    title="Accuracy under intervention",
    uses=("right_after",),
    sweeps=("corrected",),
    headline={"corrected": 1.0},
    nulls=(NOTHING_CORRECTED,),
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
        right = np.asarray(evidence.right_after)
        if not 0 <= policy < right.shape[1]:
            raise EvidenceError("policy", f"{policy}", f"0 to {right.shape[1] - 1}")
        shares = np.asarray(corrected, float)
        if shares.size == 0 or shares.min() < 0 or shares.max() > 1:
            raise EvidenceError("corrected", f"{list(corrected)}", "shares from 0 to 1")
        steps = np.round(shares * (right.shape[2] - 1)).astype(int)
        return PerSample.from_values(right[:, policy, steps])
