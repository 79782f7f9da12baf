"""How much does a concept's vector tell about the label?"""

from collections.abc import Mapping
from typing import Literal

import numpy as np

from theodolite._stats.grouped_weights import RowWeights
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.metrics.base import Card, metric
from theodolite.metrics.blocks import VECTORS, BlockContext, Blockwise
from theodolite.metrics.leak_free._nulls import CLEAN_VECTORS
from theodolite.metrics.leak_free._vectors import MOST, task_information, told_apart
from theodolite.metrics.option_types import Neighbours


@metric(
    "embedding_task_information",
    title="Information of concept vectors about the label",
    version=1,
    question="leak_free",
    better="lower",
    bounds=(0.0, MOST),
    uses=("vectors", "explained.labels"),
    may_use=("explained.known",),
    nulls_use=("explained.truth",),
    detail=True,
    decides=False,
    nulls=(CLEAN_VECTORS,),
    cite="parisini2025leakage",
    card=Card(
        asks="How much do the vectors of one concept tell about the answer?",
        read="0 for nothing, about 1 where one concept's vectors alone settle the label. What is "
        "above the score without leakage is leakage.",
        misleads="In many dimensions nearest neighbours are far and estimates biased: compare "
        "models of one dimension only, at one number of samples. There is no comparison with the "
        "true concept in the definition; the null beside it gives one.",
        cost="all distances between samples, per concept",
    ),
)
class EmbeddingTaskInformation(Blockwise):
    r"""Information of each concept's vectors about the label, as a share of its entropy.

    .. math:: I^{(CT)} = \frac1k \sum_i \frac{I(w_i; y)}{H(y)}

    Ross's estimator with Euclidean distances. Estimates can exceed 1; they are cut off at 2.
    Introduced in :cite:t:`parisini2025leakage`, eq. 10.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import embedding_task_information
        >>> truth = np.tile([[0], [1]], (20, 1)).astype(bool)
        >>> vectors = np.stack([truth[:, 0], np.arange(40) / 1e4], axis=1)[:, None, :]
        >>> embedding_task_information(vectors, truth[:, 0].astype(int)).round(2)
        array([1.02])
    """

    block = VECTORS

    @staticmethod
    def part(
        evidence: EmbeddingEvidence,
        weights: RowWeights,
        block: BlockContext,
        *,
        over: Literal["concepts"] = "concepts",
        k: Neighbours = 3,
    ) -> Mapping[str, np.ndarray]:
        del over
        labels = np.asarray(evidence.explained.labels)
        return block.of_concepts(task_information(told_apart(evidence), labels, weights, k=k))
