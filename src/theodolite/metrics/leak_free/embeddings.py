"""What do the vectors of concepts tell about labels and concepts?"""

from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field

from theodolite._stats.grouped_weights import RowWeights
from theodolite._stats.information import (
    BLOCK_BYTES,
    add_noise,
    plug_in_terms,
    ross_many,
    ross_terms,
)
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.metrics.base import Card, ratio
from theodolite.metrics.blocks import AT, COUNT, SUM, VECTORS, BlockContext, Blockwise
from theodolite.metrics.leak_free._nulls import ALIGNED_AT_RANDOM, SHUFFLED_VECTORS
from theodolite.metrics.leak_free._terms import (
    WIDER,
    share,
    truth_and_known,
    vector_leakage_metric,
    weighted_means,
)
from theodolite.metrics.option_types import Neighbors

Which = Literal["vectors", "positive", "negative"]
MOST = 2.0
"""Normalized information is cut off here: it is at most 1, but estimates of it exceed that."""


def task_information(
    vectors: Float[np.ndarray, "samples concepts dimensions"],
    labels: np.ndarray,
    weights: RowWeights,
    *,
    k: int,
) -> Float[np.ndarray, "rows concepts"]:
    """I(w_i; y) / H(y) of each concept's vectors."""
    learned = np.stack([ross_terms(vectors[:, j], labels, k=k) for j in range(vectors.shape[1])])
    entropy = plug_in_terms(labels, labels)
    return share(
        weighted_means(learned, weights, wider=WIDER), weighted_means(entropy[None], weights), MOST
    )


def told_apart(evidence: EmbeddingEvidence, which: Which = "vectors") -> np.ndarray:
    """The vectors, with noise of 1e-10 of their size for concepts in which some vector repeats.

    Equal vectors are at distance 0, and would all count as one another's neighbors.
    """
    vectors = np.asarray(getattr(evidence, which), np.float64)
    keys, size = np.asarray(evidence.samples.index), vectors.shape[2]
    out = vectors
    for j, name in enumerate(evidence.concepts.names):
        if len(np.unique(vectors[:, j], axis=0)) < len(vectors):
            out = vectors.copy() if out is vectors else out
            names = [f"{name} {which} {d}" for d in range(size)]
            out[:, j] = add_noise(vectors[:, j], keys, names, seed=0)
    return np.asarray(out)


@vector_leakage_metric(
    "embedding_task_information",
    title="Information of concept vectors about the label",
    bounds=(0.0, MOST),
    uses=("vectors", "explained.labels"),
    nulls_use=("explained.truth",),
    decides=False,
    card=Card(
        question="How much do the vectors of one concept tell about the answer?",
        interpretation="0 for nothing, about 1 where one concept's vectors alone settle the label. "
        "What is above the score without leakage is leakage.",
        limitations="In many dimensions nearest neighbors are far and estimates biased: compare "
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
        k: Neighbors = 3,
    ) -> Mapping[str, np.ndarray]:
        del over
        labels = np.asarray(evidence.explained.labels)
        return block.of_concepts(task_information(told_apart(evidence), labels, weights, k=k))


@vector_leakage_metric(
    "embedding_self_information",
    title="Information of concept vectors about their concept",
    better="higher",
    bounds=(0.0, MOST),
    uses=("vectors", "explained.truth"),
    decides=False,
    nulls=(SHUFFLED_VECTORS,),
    card=Card(
        question="How much do the vectors of a concept tell about that concept?",
        interpretation="About 1 where the vectors give the concept. Wanted, and no leakage by "
        "itself.",
        limitations="Estimates exceed 1 by a few per cent where the vectors separate the concept.",
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
        k: Neighbors = 3,
    ) -> Mapping[str, np.ndarray]:
        del over
        truth, known = truth_and_known(evidence.explained)
        vectors = told_apart(evidence)
        learned = np.full((truth.shape[1], len(truth)), np.nan)
        entropy = learned.copy()
        for j in range(len(learned)):
            rows = np.flatnonzero(known[:, j])
            own = truth[rows, j].astype(np.int64)
            learned[j, rows] = ross_terms(vectors[rows, j], own, k=k)
            entropy[j, rows] = plug_in_terms(own, own)
        learned_mean = weighted_means(learned, weights, wider=WIDER)
        return block.of_concepts(share(learned_mean, weighted_means(entropy, weights), MOST))


Form = Annotated[
    Literal["reference", "paper"],
    Field(description="All ordered pairs, as the published code, or each pair once, as the paper."),
]


@vector_leakage_metric(
    "embedding_interconcept_information",
    title="Information of concept vectors about other concepts",
    detail=False,
    bounds=(0.0, MOST),
    uses=("vectors", "explained.truth"),
    decides=False,
    card=Card(
        question="How much do the vectors of one concept tell about the other concepts?",
        interpretation="0 for nothing, about 1 where one concept's vectors give every other "
        "concept. What is above the score without leakage is leakage.",
        limitations="Related true concepts raise it without any leakage. The formula of the paper "
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
        k: Neighbors = 3,
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


AlignmentForm = Annotated[
    Literal["paper", "reference"],
    Field(
        description="All samples of a side, as in the paper, or cut to the smaller, as in the code."
    ),
]


@vector_leakage_metric(
    "embedding_alignment",
    title="Alignment leakage of concept vectors",
    bounds=(-2.0, 2.0),
    uses=("positive", "negative", "explained.truth", "explained.labels"),
    decides=False,
    nulls=(ALIGNED_AT_RANDOM,),
    card=Card(
        question="Do vectors tell more about the answer where they agree with the true concept?",
        interpretation="0 for no difference; above 0, a correction by hand swaps in a vector that "
        "knows the answer better, so that intervention looks better than it is.",
        limitations="Sides with few samples give noisy estimates whose biases do not cancel. The "
        "published code cuts the larger side to the first samples in order of the data.",
        cost="all distances between samples, four times per concept",
    ),
)
class EmbeddingAlignment(Blockwise):
    r"""How much more aligned vectors tell about the label than unaligned ones.

    .. math:: I^{(align)} = I^{(CT)}(c^+_{al}) - I^{(CT)}(c^+_{un})
        + I^{(CT)}(c^-_{al}) - I^{(CT)}(c^-_{un})

    Positive vectors are aligned where the concept is there, negative ones where it is not.
    ``paper`` takes all samples of a side; ``reference``, the published code, only the first of each
    up to the size of the smaller side. Each term is normalized by the entropy of the label among
    its own samples; undefined where that is 0. Introduced in :cite:t:`parisini2025leakage`, eq. 13.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import embedding_alignment
        >>> truth = np.tile([[0], [1]], (20, 1)).astype(bool)
        >>> labels = np.arange(40) // 2 % 2
        >>> class_vectors = (labels + np.arange(40) / 1e4)[:, None, None]
        >>> none = (np.arange(40) * 7 % 40)[:, None, None] / 40
        >>> aligned = np.where(truth[:, :, None], class_vectors, none)
        >>> unaligned = np.where(truth[:, :, None], none, class_vectors)
        >>> embedding_alignment(aligned, unaligned, truth, labels).round(1)
        array([2.])
    """

    block = VECTORS

    @staticmethod
    def part(
        evidence: EmbeddingEvidence,
        weights: RowWeights,
        block: BlockContext,
        *,
        over: Literal["concepts"] = "concepts",
        form: AlignmentForm = "paper",
        k: Neighbors = 3,
    ) -> Mapping[str, np.ndarray]:
        del over
        labels = np.asarray(evidence.explained.labels)
        truth, known = truth_and_known(evidence.explained)
        positive, negative = told_apart(evidence, "positive"), told_apart(evidence, "negative")
        scores = []
        for j in range(truth.shape[1]):
            active = np.flatnonzero(known[:, j] & truth[:, j])
            inactive = np.flatnonzero(known[:, j] & ~truth[:, j])
            if form == "reference":
                n = min(len(active), len(inactive))
                active, inactive = active[:n], inactive[:n]
            sides = (
                (positive, active),
                (positive, inactive),
                (negative, inactive),
                (negative, active),
            )
            terms = [
                task_information(vectors[rows, j : j + 1], labels[rows], weights[:, rows], k=k)
                for vectors, rows in sides
            ]
            scores.append((terms[0] - terms[1] + terms[2] - terms[3])[:, 0])
        return block.of_concepts(np.clip(np.stack(scores, axis=1), -2.0, 2.0))
