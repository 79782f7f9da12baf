"""Does a concept tell more about the label than the true concept does?"""

from collections.abc import Mapping
from typing import Literal

import numpy as np

from theodolite._stats.grouped_weights import RowWeights
from theodolite._stats.information import plug_in_terms, ross_columns
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics.base import Card, metric
from theodolite.metrics.blocks import BlockContext, Blockwise
from theodolite.metrics.leak_free._nulls import CLEAN
from theodolite.metrics.leak_free._terms import (
    AS_CATEGORIES,
    WIDER,
    estimator_inputs,
    rows_known,
    share,
    weighted_means,
)
from theodolite.metrics.leak_free.warnings import leakage_warnings
from theodolite.metrics.option_types import Neighbours, TieSeed


@metric(
    "concept_task_leakage",
    paper_names=("CTL",),
    title="Concepts-task leakage (CTL)",
    version=1,
    question="leak_free",
    better="lower",
    bounds=(0.0, 1.0),
    uses=("values", "truth", "labels"),
    may_use=("known",),
    detail=True,
    decides=False,
    nulls=(CLEAN,),
    cite="parisini2025leakage",
    warns=leakage_warnings,
    card=Card(
        asks="Does a concept's value tell more about the answer than the true concept does?",
        read="0.1 means that, on average, a concept's value tells a tenth of what there is to know "
        "about the label more than the true concept. Compare with the score without leakage: "
        "what is above that is leakage.",
        misleads=f"{AS_CATEGORIES} "
        "Blind to leakage into a concept that is learnt badly: what the value fails to "
        "say about the label through the concept hides what it says beside it (a dial of planted "
        "leakage that starts at 0 and stays there is in docs/leakage.md). The estimate can exceed "
        "the entropy of the labels. Values that saturate are told apart by noise of 1e-10. "
        "task_leakage_given_concept does not have the first fault.",
        cost="one sort per concept: 0.1 s for 112 concepts, 200 labels and 5,794 samples",
    ),
)
class ConceptTaskLeakage(Blockwise):
    r"""How much more a concept's value tells about the label than the true concept (CTL).

    .. math:: \mathrm{CTL}_i = \max\left(0, \frac{I(\hat c_i; y) - I(c_i; y)}{H(y)}\right)

    Information by Ross's estimator with ``k`` neighbours where values are numbers, from counts
    where all are whole; the entropy of the labels from counts. Estimates can exceed what there is
    to know: the score is cut off at 1. Undefined where there is only one label. Introduced in
    :cite:t:`parisini2025leakage`, eqs. 6 and 7.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import concept_task_leakage
        >>> c = np.repeat([0, 1, 0, 1], 25).astype(bool)
        >>> y = np.repeat([0, 0, 1, 1], 25)
        >>> wiggle = np.linspace(0, 0.1, 100) ** 2
        >>> concept_task_leakage((c + 0.3 * y + wiggle)[:, None], c[:, None], y).round(2)
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
        tie_seed: TieSeed = 0,
    ) -> Mapping[str, np.ndarray]:
        del over
        inputs = estimator_inputs(evidence, block.common, tie_seed)
        labels = np.asarray(evidence.labels)
        shape = (inputs.values.shape[1], len(labels))
        learnt, true, entropy = (
            np.full(shape, np.nan),
            np.full(shape, np.nan),
            np.full(shape, np.nan),
        )
        if not inputs.discrete and inputs.known is None:
            learnt = ross_columns(inputs.values, labels, k=k)
        for j in range(shape[0]):
            rows = rows_known(inputs, j)
            if inputs.discrete:
                learnt[j, rows] = plug_in_terms(inputs.values[rows, j].astype(int), labels[rows])
            elif inputs.known is not None:
                learnt[j, rows] = ross_columns(inputs.values[rows, j : j + 1], labels[rows], k=k)[0]
            true[j, rows] = plug_in_terms(inputs.truth[rows, j], labels[rows])
            entropy[j, rows] = plug_in_terms(labels[rows], labels[rows])
        wider = 1.0 if inputs.discrete else WIDER
        learnt_mean = np.maximum(weighted_means(learnt, weights, wider=wider), 0.0)
        more = learnt_mean - weighted_means(true, weights)
        return block.of_concepts(share(more, weighted_means(entropy, weights)))
