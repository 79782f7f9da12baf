"""Does a concept tell about the label what the true concept leaves open?"""

from collections.abc import Mapping
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from theodolite._stats.grouped_weights import RowWeights
from theodolite._stats.information import plug_in_terms
from theodolite._stats.neighbours import label_terms, one_of_each_cluster
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics.base import Card, metric
from theodolite.metrics.blocks import BlockContext, Blockwise
from theodolite.metrics.leak_free._nulls import CLEAN
from theodolite.metrics.leak_free._terms import (
    WIDER,
    ConceptTerms,
    neighbour_inputs,
    share,
    weighted_means,
)
from theodolite.metrics.option_types import Neighbours


@metric(
    "task_leakage_given_concept",
    title="Task leakage given the concept (neighbour estimate)",
    version=2,
    question="leak_free",
    better="lower",
    bounds=(-1.0, 1.0),
    uses=("values", "truth", "labels"),
    may_use=("known",),
    detail=True,
    nulls=(CLEAN,),
    decides=False,
    tolerance=0.05,
    cite="parisini2025leakage",
    card=Card(
        asks="Of what the true concept leaves open about the answer, how much does its value tell?",
        read="0.1 means that, on average, a concept's value tells a tenth of what the true concept "
        "leaves open about the label. Compare with the score without leakage; up to 0.05 above "
        "it we would accept, which is a convention.",
        misleads="Whatever the value grades beyond yes and no counts, if it has to do with the "
        "label: a long horn told from a short one is not smuggling, but looks like it. Where "
        "inputs are graded and concepts related, an honest model scores above 0 too: compare with "
        "a model whose concepts were trained without the labels. Too high with few samples: 0.28 "
        "where 0.22 is true with 30 of each concept and label. Equal values are counted, which "
        "leaves it up to 0.03 too low; rows that repeat others must be declared as clusters, or "
        "they are each other's neighbours.",
        cost="two sorts per concept",
    ),
)
class TaskLeakageGivenConcept(Blockwise):
    r"""What a concept's value tells about the label beyond the true concept.

    .. math:: T_i = \frac{I(\hat c_i; y \mid c_i)}{H(y \mid c_i)}

    The information is estimated among the samples that have the concept and among those that do
    not, each by Ross's estimator with ties counted and each cluster counted once (from counts where
    all values are whole numbers, of which no concept has more than 20). Slightly below 0 where
    nothing is told. Undefined where the concept settles the label: then nothing is left to leak.
    Ours, to mend the concepts-task score
    of :cite:t:`parisini2025leakage`.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import task_leakage_given_concept
        >>> c = np.repeat([0, 1, 0, 1], 25).astype(bool)
        >>> y = np.repeat([0, 0, 1, 1], 25)
        >>> wiggle = np.linspace(0, 0.1, 100) ** 2
        >>> task_leakage_given_concept((c + 0.3 * y + wiggle)[:, None], c[:, None], y).round(2)
        array([1.])
    """

    @staticmethod
    def part(
        evidence: ConceptEvidence,
        weights: RowWeights,
        block: BlockContext,
        *,
        over: Literal["concepts"] = "concepts",
        k: Neighbours = 3,
    ) -> Mapping[str, np.ndarray]:
        del over
        inputs = neighbour_inputs(evidence, block.common)
        labels = np.asarray(evidence.labels)

        def terms(rows: np.ndarray) -> np.ndarray:
            return _terms(inputs, labels, rows, k)

        clusters = None if inputs.discrete else evidence.samples.clusters
        learnt, left_open = one_of_each_cluster(clusters, len(labels), terms)
        wider = 1.0 if inputs.discrete else WIDER
        learnt_mean = weighted_means(learnt, weights, wider=wider)
        return block.of_concepts(share(learnt_mean, weighted_means(left_open, weights), least=-1.0))


def _terms(
    inputs: ConceptTerms,
    labels: Int[np.ndarray, " samples"],
    rows: Int[np.ndarray, " some"],
    k: int,
) -> Float[np.ndarray, "2 concepts some"]:
    """What values tell about the label, and what the true concepts leave open, of some samples."""
    terms = np.full((2, inputs.values.shape[1], len(rows)), np.nan)
    known = np.ones(len(labels), bool)
    for j in range(terms.shape[1]):
        sure = known if inputs.known is None else inputs.known[:, j]
        for there in (False, True):
            at = np.flatnonzero(sure[rows] & (inputs.truth[rows, j] == there))
            values, answers = inputs.values[rows[at], j], labels[rows[at]]
            if inputs.discrete:
                terms[0, j, at] = plug_in_terms(values.astype(int), answers)
            else:
                terms[0, j, at] = label_terms(values, answers, k=k)
            terms[1, j, at] = plug_in_terms(answers, answers)
    return terms
