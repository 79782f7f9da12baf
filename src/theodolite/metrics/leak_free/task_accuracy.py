"""How often is the model's answer right?"""

import numpy as np

from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.leak_free._nulls import SHUFFLED_PREDICTIONS


@metric(
    "task_accuracy",
    title="Task accuracy",
    version=1,
    question="leak_free",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("predicted", "labels"),
    decides=False,
    nulls=(SHUFFLED_PREDICTIONS,),
    cite="parisini2025leakage",
    card=Card(
        asks="How often is the model's answer right?",
        read="The share of samples that are rightly classified.",
        misleads="High accuracy with badly predicted concepts is a sign of leakage, not quality.",
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
