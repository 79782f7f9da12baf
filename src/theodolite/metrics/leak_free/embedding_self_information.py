"""How much does a concept's vector tell about its own concept?"""

from collections.abc import Mapping
from typing import Literal

import numpy as np

from theodolite._stats.grouped_weights import RowWeights
from theodolite._stats.information import plug_in_terms, ross_terms
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.metrics.base import Card, metric
from theodolite.metrics.blocks import VECTORS, BlockContext, Blockwise
from theodolite.metrics.leak_free._nulls import SHUFFLED_VECTORS
from theodolite.metrics.leak_free._terms import WIDER, share, weighted_means
from theodolite.metrics.leak_free._vectors import MOST, told_apart, truth_of
from theodolite.metrics.option_types import Neighbours


@metric(
    "embedding_self_information",
    title="Information of concept vectors about their concept",
    version=1,
    question="leak_free",
    better="higher",
    bounds=(0.0, MOST),
    uses=("vectors", "explained.truth"),
    may_use=("explained.known",),
    detail=True,
    decides=False,
    nulls=(SHUFFLED_VECTORS,),
    cite="parisini2025leakage",
    card=Card(
        asks="How much do the vectors of a concept tell about that concept?",
        read="About 1 where the vectors give the concept. Wanted, and no leakage by itself.",
        misleads="Estimates exceed 1 by a few per cent where the vectors separate the concept.",
        cost="all distances between samples, per concept",
    ),
)
class EmbeddingSelfInformation(Blockwise):
    r"""Information of each concept's vectors about the concept, as a share of its entropy.

    .. math:: I^{(self)} = \frac1k \sum_i \frac{I(w_i; c_i)}{H(c_i)}

    Undefined for a concept that is always or never there. Introduced in
    :cite:t:`parisini2025leakage`, eq. 12.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import embedding_self_information
        >>> truth = np.tile([[0], [1]], (20, 1)).astype(bool)
        >>> vectors = np.stack([truth[:, 0], np.arange(40) / 1e4], axis=1)[:, None, :]
        >>> embedding_self_information(vectors, truth).round(2)
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
        truth, known = truth_of(evidence)
        vectors = told_apart(evidence)
        learnt = np.full((truth.shape[1], len(truth)), np.nan)
        entropy = learnt.copy()
        for j in range(len(learnt)):
            rows = np.flatnonzero(known[:, j])
            own = truth[rows, j].astype(np.int64)
            learnt[j, rows] = ross_terms(vectors[rows, j], own, k=k)
            entropy[j, rows] = plug_in_terms(own, own)
        learnt_mean = weighted_means(learnt, weights, wider=WIDER)
        return block.of_concepts(share(learnt_mean, weighted_means(entropy, weights), MOST))
