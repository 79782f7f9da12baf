"""How well are answers and concepts predicted?"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Bool, Float
from pydantic import Field

from theodolite._stats.grouped_weights import RowWeights
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.blocks import BlockContext, Blockwise
from theodolite.metrics.leak_free._nulls import SHUFFLED_PREDICTIONS, SHUFFLED_TRUTH
from theodolite.metrics.leak_free._terms import auc_terms, weighted_means


@metric(
    "task_accuracy",
    title="Task accuracy",
    question="leak_free",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("predicted", "labels"),
    decides=False,
    nulls=(SHUFFLED_PREDICTIONS,),
    cite="parisini2025leakage",
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
        >>> import numpy as np
        >>> from theodolite.metrics import task_accuracy
        >>> task_accuracy(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]))
        0.75
    """

    @staticmethod
    def each(evidence: ConceptEvidence) -> PerSample:
        """Whether each sample is right."""
        right = np.asarray(evidence.predicted == evidence.labels, float)
        return PerSample(right, np.ones(len(right)), np.ones(len(right), bool))


By = Literal["accuracy", "f1", "auc"]


Scores = Annotated[
    Sequence[By], Field(min_length=1, description="Accuracy, F1, or area under the ROC curve.")
]
Threshold = Annotated[
    float | None,
    Field(description="Value above which a concept is predicted; None: 0.5, or 0 for logits."),
]


@metric(
    "concept_prediction",
    title="Concept prediction",
    question="leak_free",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("values", "truth"),
    may_use=("known",),
    sweeps=("by",),
    detail=True,
    decides=False,
    headline={"by": "accuracy"},
    nulls=(SHUFFLED_TRUTH,),
    cite="parisini2025leakage",
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
        >>> import numpy as np
        >>> from theodolite.metrics import concept_prediction
        >>> values = np.array([[0.9], [0.6], [0.4], [0.1]])
        >>> concept_prediction(values, np.array([[1], [0], [1], [0]], bool))
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
            both, either = (
                mean((predicted & truth).astype(float)),
                mean(predicted.astype(float) + truth),
            )
            f1 = np.full(both.shape, np.nan)
            return np.asarray(np.divide(2 * both, either, out=f1, where=either > 0))

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
