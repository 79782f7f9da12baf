"""Do a concept's vectors tell more about the label where they agree with the concept?"""

from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from theodolite._stats.grouped_weights import RowWeights
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.metrics.base import Card, metric
from theodolite.metrics.blocks import VECTORS, BlockContext, Blockwise
from theodolite.metrics.leak_free._nulls import ALIGNED_AT_RANDOM
from theodolite.metrics.leak_free._vectors import task_information, told_apart, truth_of
from theodolite.metrics.option_types import Neighbours

Form = Annotated[
    Literal["paper", "reference"],
    Field(
        description="All samples of a side, as in the paper, or cut to the smaller, as in the code."
    ),
]


@metric(
    "embedding_alignment",
    title="Alignment leakage of concept vectors",
    version=1,
    question="leak_free",
    better="lower",
    bounds=(-2.0, 2.0),
    uses=("positive", "negative", "explained.truth", "explained.labels"),
    may_use=("explained.known",),
    detail=True,
    decides=False,
    nulls=(ALIGNED_AT_RANDOM,),
    cite="parisini2025leakage",
    card=Card(
        asks="Do vectors tell more about the answer where they agree with the true concept?",
        read="0 for no difference; above 0, a correction by hand swaps in a vector that knows the "
        "answer better, so that intervention looks better than it is.",
        misleads="Sides with few samples give noisy estimates whose biases do not cancel. The "
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
    up to the size of the smaller side. Each term is normalised by the entropy of the label among
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
        form: Form = "paper",
        k: Neighbours = 3,
    ) -> Mapping[str, np.ndarray]:
        del over
        labels = np.asarray(evidence.explained.labels)
        truth, known = truth_of(evidence)
        positive, negative = told_apart(evidence, "positive"), told_apart(evidence, "negative")
        scores = []
        for j in range(truth.shape[1]):
            active = np.flatnonzero(known[:, j] & truth[:, j])
            inactive = np.flatnonzero(known[:, j] & ~truth[:, j])
            if form == "reference":
                n = len(inactive) if len(active) > len(inactive) else len(active)
                active, inactive = active[:n], inactive[:n]
            terms = []
            for vectors, aligned, other in (
                (positive, active, inactive),
                (negative, inactive, active),
            ):
                for rows in (aligned, other):
                    part = vectors[rows, j : j + 1]
                    terms.append(task_information(part, labels[rows], weights[:, rows], k=k)[:, 0])
            scores.append(terms[0] - terms[1] + terms[2] - terms[3])
        return block.of_concepts(np.clip(np.stack(scores, axis=1), -2.0, 2.0))
