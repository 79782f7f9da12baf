"""Does a concept's vector tell about the label what the true concept leaves open?"""

import itertools
from collections.abc import Mapping
from typing import Literal

import numpy as np

from theodolite._stats.grouped_weights import RowWeights
from theodolite._stats.information import plug_in_terms
from theodolite._stats.neighbours import label_vector_terms, one_of_each_cluster
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.metrics.base import Card, metric
from theodolite.metrics.blocks import VECTORS, BlockContext, Blockwise
from theodolite.metrics.leak_free._nulls import CLEAN_VECTORS
from theodolite.metrics.leak_free._terms import WIDER, share, weighted_means
from theodolite.metrics.leak_free._vectors import truth_of
from theodolite.metrics.option_types import Neighbours


@metric(
    "embedding_task_leakage_given_concept",
    title="Task leakage of concept vectors given the concept (neighbour estimate)",
    version=2,
    question="leak_free",
    better="lower",
    bounds=(-1.0, 1.0),
    uses=("vectors", "explained.truth", "explained.labels"),
    may_use=("explained.known",),
    detail=True,
    nulls=(CLEAN_VECTORS,),
    decides=False,
    tolerance=0.05,
    cite="parisini2025leakage",
    card=Card(
        asks="Of what the true concept leaves open about the answer, how much do its vectors tell?",
        read="0.1 means that, on average, a concept's vectors tell a tenth of what the true "
        "concept leaves open about the label. "
        "Up to 0.05 above the score without leakage we would accept, "
        "which is a convention.",
        misleads="As for single values: gradings that have to do with the label count too. In many "
        "dimensions estimates are too low rather than too high. Rows that repeat others must be "
        "declared as clusters, or they are each other's neighbours.",
        cost="all distances between samples, per concept",
    ),
)
class EmbeddingTaskLeakageGivenConcept(Blockwise):
    r"""What a concept's vectors tell about the label beyond the true concept.

    .. math:: T_i = \frac{I(w_i; y \mid c_i)}{H(y \mid c_i)}

    As for single values, with Euclidean distances. Ours: the
    embedding scores of :cite:t:`parisini2025leakage` have no true concept to compare with.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import embedding_task_leakage_given_concept
        >>> truth = np.tile([[0], [1]], (20, 1)).astype(bool)
        >>> labels = np.repeat([0, 1], 20)
        >>> vectors = np.stack([truth[:, 0], labels + np.arange(40) / 1e4], axis=1)[:, None, :]
        >>> embedding_task_leakage_given_concept(vectors, truth, labels).round(2)
        array([1.])
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
        labels, vectors = np.asarray(evidence.explained.labels), np.asarray(evidence.vectors)
        truth, known = truth_of(evidence)

        def terms(rows: np.ndarray) -> np.ndarray:
            both = np.full((2, truth.shape[1], len(rows)), np.nan)
            for j, there in itertools.product(range(truth.shape[1]), (False, True)):
                at = np.flatnonzero(known[rows, j] & (truth[rows, j] == there))
                answers = labels[rows[at]]
                both[0, j, at] = label_vector_terms(vectors[rows[at], j], answers, k=k)
                both[1, j, at] = plug_in_terms(answers, answers)
            return both

        learnt, left_open = one_of_each_cluster(evidence.samples.clusters, len(labels), terms)
        learnt_mean = weighted_means(learnt, weights, wider=WIDER)
        return block.of_concepts(share(learnt_mean, weighted_means(left_open, weights), least=-1.0))
