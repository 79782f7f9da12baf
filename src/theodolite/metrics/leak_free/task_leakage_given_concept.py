"""Does a concept tell about the label what the true concept leaves open?"""

from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics.base import Card, Pooled, metric
from theodolite.metrics.leak_free._nulls import CLEAN
from theodolite.metrics.leak_free._terms import (
    WIDER,
    estimator_inputs,
    rows_known,
    share,
    weighted_means,
)
from theodolite.stats.information import plug_in_terms, ross_columns


def task_leakage_given_concept(
    values: Float[np.ndarray, "samples concepts"],
    truth: Bool[np.ndarray, "samples concepts"],
    labels: Int[np.ndarray, " samples"],
    *,
    k: int = 3,
) -> Float[np.ndarray, " concepts"]:
    r"""What a concept's value tells about the label beyond the true concept.

    .. math:: T_i = \frac{I(\hat c_i; y \mid c_i)}{H(y \mid c_i)}

    The information is estimated among the samples that have the concept and among those that do
    not, each by Ross's estimator (from counts where all values are whole). Undefined where the
    concept settles the label: then nothing is left to leak. Ours, to mend the concepts-task score
    of :cite:t:`parisini2025leakage`.

    Example:
        >>> c = np.repeat([0, 1, 0, 1], 25).astype(bool)
        >>> y = np.repeat([0, 0, 1, 1], 25)
        >>> wiggle = np.linspace(0, 0.1, 100) ** 2
        >>> task_leakage_given_concept((c + 0.3 * y + wiggle)[:, None], c[:, None], y).round(2)
        array([1.])
    """
    evidence = ConceptEvidence(values=values, truth=truth, labels=labels)
    return TaskLeakageGivenConcept.of(evidence, k=k).value()


@metric(
    "task_leakage_given_concept",
    title="Task leakage given the concept",
    version=1,
    question="leaks",
    better="lower",
    bounds=(0.0, 1.0),
    uses=("values", "truth", "labels"),
    detail=True,
    baselines=(CLEAN,),
    tolerance=0.05,
    decides=False,
    cite="parisini2025leakage",
    card=Card(
        asks="Of what the true concept leaves open about the answer, how much does its value tell?",
        read="0.1 means that, on average, a concept's value tells a tenth of what the true concept "
        "leaves open about the label. Compare with nothing but the concept; up to 0.05 above it we "
        "would accept, which is a convention.",
        misleads="Whatever the value grades beyond yes and no counts, if it has to do with the "
        "label: a long horn told from a short one is not smuggling, but looks like it. Where "
        "inputs are graded and concepts related, an honest model scores above 0 too: compare with "
        "a model whose concepts were trained without the labels. With few samples per label and "
        "concept the estimate is noisy.",
        cost="two sorts per concept",
    ),
)
class TaskLeakageGivenConcept(Pooled):
    """Information about the label that the true concept does not have, per concept."""

    @staticmethod
    def measure(
        evidence: ConceptEvidence,
        weights: Float[np.ndarray, "rows samples"],
        *,
        over: Literal["concepts"] = "concepts",
        k: int = 3,
        tie_seed: int = 0,
    ) -> Float[np.ndarray, "rows concepts"]:
        del over
        inputs, labels = estimator_inputs(evidence, tie_seed), np.asarray(evidence.labels)
        learnt = np.full((inputs.values.shape[1], len(labels)), np.nan)
        left_open = learnt.copy()
        for j in range(len(learnt)):
            sure = np.arange(len(labels))[rows_known(inputs, j)]
            for there in (False, True):
                rows = sure[inputs.truth[sure, j] == there]
                if inputs.discrete:
                    learnt[j, rows] = plug_in_terms(
                        inputs.values[rows, j].astype(int), labels[rows]
                    )
                else:
                    learnt[j, rows] = ross_columns(
                        inputs.values[rows, j : j + 1], labels[rows], k=k
                    )[0]
                left_open[j, rows] = plug_in_terms(labels[rows], labels[rows])
        wider = 1.0 if inputs.discrete else WIDER
        return share(
            weighted_means(learnt, weights, wider=wider), weighted_means(left_open, weights)
        )
