"""How much does a concept's vector tell about the other concepts?"""

from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field

from theodolite._stats.grouped_weights import RowWeights
from theodolite._stats.information import BLOCK_BYTES, plug_in_terms, ross_many
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.metrics.base import Card, metric, ratio
from theodolite.metrics.blocks import AT, COUNT, SUM, VECTORS, BlockContext, Blockwise
from theodolite.metrics.leak_free._nulls import CLEAN_VECTORS
from theodolite.metrics.leak_free._terms import WIDER, share, weighted_means
from theodolite.metrics.leak_free._vectors import MOST, told_apart
from theodolite.metrics.option_types import Neighbours

Form = Annotated[
    Literal["reference", "paper"],
    Field(description="All ordered pairs, as the published code, or each pair once, as the paper."),
]


@metric(
    "embedding_interconcept_information",
    title="Information of concept vectors about other concepts",
    version=1,
    question="leak_free",
    better="lower",
    bounds=(0.0, MOST),
    uses=("vectors", "explained.truth"),
    may_use=("explained.known",),
    decides=False,
    nulls=(CLEAN_VECTORS,),
    cite="parisini2025leakage",
    card=Card(
        asks="How much do the vectors of one concept tell about the other concepts?",
        read="0 for nothing, about 1 where one concept's vectors give every other concept. What is "
        "above the score without leakage is leakage.",
        misleads="Related true concepts raise it without any leakage. The formula of the paper "
        "takes half of the ordered pairs and changes with the order of the concepts (0.1709 "
        "against 0.0854 in the worked example).",
        cost="all distances between samples, per concept",
    ),
)
class EmbeddingInterconceptInformation(Blockwise):
    r"""Information of a concept's vectors about another true concept, mean over pairs.

    .. math:: I^{(IC)} = \frac{2}{k(k-1)} \sum_i \sum_{j<i} \frac{I(w_i; c_j)}{H(c_j)}

    That is the ``paper``; it takes each pair once although the two directions differ, so it changes
    with the order of the concepts. ``reference``, the published code, takes all ordered pairs.
    Samples in which some concept is not known are left out. Introduced in
    :cite:t:`parisini2025leakage`, eq. 11.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import embedding_interconcept_information
        >>> truth = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10, dtype=bool)
        >>> both = np.repeat(truth[:, None, :] + np.arange(40)[:, None, None] / 1e4, 2, axis=1)
        >>> round(embedding_interconcept_information(both, truth), 2)
        1.02
    """

    block = VECTORS
    needs_truths = True

    @staticmethod
    def part(
        evidence: EmbeddingEvidence,
        weights: RowWeights,
        block: BlockContext,
        *,
        form: Form = "reference",
        k: Neighbours = 3,
    ) -> Mapping[str, np.ndarray]:
        assert block.truths is not None  # noqa: S101  they are asked for
        rows = np.flatnonzero(block.common.known)
        vectors, weights = told_apart(evidence)[rows], weights[:, rows]
        shares = [np.zeros((len(weights), 0))]
        step = max(BLOCK_BYTES // (8 * max(len(rows), 1)), 1)
        for place, i in enumerate(block.item.concepts):
            others = [j for j in range(block.n) if (j < i if form == "paper" else j != i)]
            for at in range(0, len(others), step):
                truth = block.truths.table(others[at : at + step])[rows]
                terms = ross_many(vectors[:, place], truth, k=k)
                entropy = np.stack([plug_in_terms(flags, flags) for flags in truth.T])
                whole = weighted_means(entropy, weights)
                shares.append(share(weighted_means(terms, weights, wider=WIDER), whole, MOST))
        each = np.concatenate(shares, axis=1)
        defined = ~np.isnan(each)
        sums = np.where(defined, each, 0.0).sum(axis=1, keepdims=True)
        counts = defined.sum(axis=1, keepdims=True).astype(float)
        return {AT: np.zeros(1, np.int64), SUM: sums, COUNT: counts}

    @classmethod
    def whole(cls, parts: Mapping[str, np.ndarray]) -> Float[np.ndarray, " rows"]:
        return ratio(parts[SUM], parts[COUNT])[:, 0]
