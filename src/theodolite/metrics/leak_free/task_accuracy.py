"""How often is the model's answer right?"""

import numpy as np
from jaxtyping import Float, Int

from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.leak_free._nulls import SHUFFLED_PREDICTIONS


def task_accuracy(
    predicted: Int[np.ndarray, " samples"], labels: Int[np.ndarray, " samples"]
) -> Float[np.ndarray, ""]:
    r"""Share of samples whose predicted class is the true one.

    .. math:: \frac1N \sum_i 1[\hat y_i = y_i]

    Example:
        >>> task_accuracy(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]))
        array(0.75)
    """
    nothing = np.zeros((len(labels), 1))
    evidence = ConceptEvidence(values=nothing, predicted=predicted, labels=labels)
    state: TaskAccuracy = TaskAccuracy.of(evidence)
    return state.value()


@metric(
    "task_accuracy",
    title="Task accuracy",
    version=1,
    question="leak_free",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("predicted", "labels"),
    decides=False,
    baselines=(SHUFFLED_PREDICTIONS,),
    cite="parisini2025leakage",
    card=Card(
        asks="How often is the model's answer right?",
        read="The share of samples that are rightly classified.",
        misleads="High accuracy with badly predicted concepts is a sign of leakage, not quality.",
        cost="one comparison per sample",
    ),
)
class TaskAccuracy(SampleMean):
    """Counts of right answers."""

    @staticmethod
    def each(evidence: ConceptEvidence) -> PerSample:
        """Whether each sample is right."""
        right = np.asarray(evidence.predicted == evidence.labels, float)
        return PerSample(right, np.ones(len(right)), np.ones(len(right), bool))
