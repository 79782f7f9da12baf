"""Do concepts tell what the true concepts leave open?"""

import itertools
from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
from jaxtyping import Float

from theodolite._stats.grouped_weights import RowWeights
from theodolite._stats.information import plug_in_terms
from theodolite._stats.neighbors import average_over_cluster_rows, label_terms, label_vector_terms
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.metrics.base import Card
from theodolite.metrics.blocks import VECTORS, BlockContext, Blockwise
from theodolite.metrics.leak_free._terms import (
    WIDER,
    leakage_metric,
    neighbor_inputs,
    pair_terms_given_truth,
    share,
    truth_and_known,
    vector_leakage_metric,
    weighted_means,
)
from theodolite.metrics.option_types import ConceptsOrPairs, Neighbors


def shares_of_open_labels(
    evidence: ConceptEvidence,
    weights: RowWeights,
    clusters: np.ndarray | None,
    tell: Callable[[np.ndarray, int, np.ndarray], np.ndarray],
    wider: float = WIDER,
) -> Float[np.ndarray, "rows concepts"]:
    """Return I(x; y | c) / H(y | c) of each concept, each cluster counted once.

    ``tell`` gets samples that agree on a concept, its number and the samples' labels, and returns
    the terms of what the concept's numbers tell about the label.
    """
    labels = np.asarray(evidence.labels)
    truth, known = truth_and_known(evidence)

    def terms(rows: np.ndarray) -> np.ndarray:
        both = np.full((2, truth.shape[1], len(rows)), np.nan)
        for j, there in itertools.product(range(truth.shape[1]), (False, True)):
            at = np.flatnonzero(known[rows, j] & (truth[rows, j] == there))
            answers = labels[rows[at]]
            both[0, j, at] = tell(rows[at], j, answers)
            both[1, j, at] = plug_in_terms(answers, answers)
        return both

    learned, left_open = average_over_cluster_rows(clusters, len(labels), terms)
    learned_mean = weighted_means(learned, weights, wider=wider)
    return share(learned_mean, weighted_means(left_open, weights), least=-1.0)


@leakage_metric(
    "task_leakage_given_concept",
    title="Task leakage given the concept (neighbor estimate)",
    version=2,
    decides=False,
    tolerance=0.05,
    card=Card(
        question="Of what the true concept leaves open about the answer, how much does its value "
        "tell?",
        interpretation="0.1 means that, on average, a concept's value tells a tenth of what the "
        "true concept leaves open about the label. Compare with the score without leakage; up to "
        "0.05 above it we would accept, which is a convention.",
        limitations="Whatever the value grades beyond yes and no counts, if it has to do with the "
        "label: a long horn told from a short one is not smuggling, but looks like it. Where "
        "inputs are graded and concepts related, an honest model scores above 0 too: compare with "
        "a model whose concepts were trained without the labels. Too high with few samples: 0.28 "
        "where 0.22 is true with 30 of each concept and label. Equal values are counted, which "
        "leaves it up to 0.03 too low; rows that repeat others must be declared as clusters, or "
        "they are each other's neighbors.",
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
        k: Neighbors = 3,
    ) -> Mapping[str, np.ndarray]:
        del over
        inputs = neighbor_inputs(evidence, block.common)

        def tell(rows: np.ndarray, j: int, answers: np.ndarray) -> np.ndarray:
            if inputs.discrete:
                return plug_in_terms(inputs.values[rows, j].astype(int), answers)
            return label_terms(inputs.values[rows, j], answers, k=k)

        clusters, wider = (None, 1.0) if inputs.discrete else (evidence.samples.clusters, WIDER)
        return block.of_concepts(shares_of_open_labels(evidence, weights, clusters, tell, wider))


@vector_leakage_metric(
    "embedding_task_leakage_given_concept",
    title="Task leakage of concept vectors given the concept (neighbor estimate)",
    version=2,
    decides=False,
    tolerance=0.05,
    card=Card(
        question="Of what the true concept leaves open about the answer, how much do its vectors "
        "tell?",
        interpretation="0.1 means that, on average, a concept's vectors tell a tenth of what the "
        "true concept leaves open about the label. Up to 0.05 above the score without leakage we "
        "would accept, which is a convention.",
        limitations="As for single values: gradings that have to do with the label count too. In "
        "many dimensions estimates are too low rather than too high. Rows that repeat others must "
        "be declared as clusters, or they are each other's neighbors.",
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
        k: Neighbors = 3,
    ) -> Mapping[str, np.ndarray]:
        del over
        vectors, clusters = np.asarray(evidence.vectors), evidence.samples.clusters

        def tell(rows: np.ndarray, j: int, answers: np.ndarray) -> np.ndarray:
            return label_vector_terms(vectors[rows, j], answers, k=k)

        return block.of_concepts(shares_of_open_labels(evidence.explained, weights, clusters, tell))


@leakage_metric(
    "interconcept_leakage_given_concepts",
    title="Interconcept leakage given the concepts (neighbor estimate)",
    version=2,
    uses=("values", "truth"),
    decides=False,
    tolerance=0.05,
    card=Card(
        question="Beyond what two true concepts say, do their values tell about each other?",
        interpretation="The share of one value's variation that the other explains among samples "
        "that agree on both concepts: 0 for none, 1 where one gives the other. Comparable over "
        "numbers of samples from about 25 per combination of two concepts on; below that it is too "
        "low. Up to 0.05 above the score without leakage we would accept, which is a convention. "
        "Whole numbers (two values) cannot score above 0.75 by this scale.",
        limitations="Anything that both values share and the concepts do not say counts: a blurred "
        "image that makes all values timid, or graded inputs that are related, looks like "
        "leakage. It says that values are not only concepts; compare with a model whose concepts "
        "were trained apart before calling it smuggling. Rows that repeat others must be declared "
        "as clusters, or they are each other's neighbors.",
        cost="all pairs of concepts, about 1.5 times interconcept_leakage",
    ),
)
class InterconceptLeakageGivenConcepts(Blockwise):
    r"""What two concepts' values tell about each other beyond the true concepts.

    .. math:: G_{ij} = 1 - \exp\left(-2\, I(\hat c_i; \hat c_j \mid c_i, c_j)\right)

    The information is estimated among samples that agree on both concepts (KSG with ties counted
    and each cluster counted once; from counts where all values are whole numbers, of which no
    concept has more than 20) and put on a scale from 0 to 1 on which jointly normal values score
    their squared correlation :cite:p:`linfoot1957informational`; estimates around 0 may lie below.
    It needs no entropy of numbers, so it does not change with the number of samples beyond about 25
    for each combination of two concepts. Ours, to mend the interconcept score of
    :cite:t:`parisini2025leakage`.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import interconcept_leakage_given_concepts
        >>> truth = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 30, dtype=bool)
        >>> shared = np.sin(np.arange(120))[:, None]
        >>> interconcept_leakage_given_concepts(truth + 0.3 * shared, truth, over="pairs").round(1)
        array([1.])
    """

    pairs = True

    @staticmethod
    def part(
        evidence: ConceptEvidence,
        weights: RowWeights,
        block: BlockContext,
        *,
        over: ConceptsOrPairs = "concepts",
        k: Neighbors = 3,
    ) -> Mapping[str, np.ndarray]:
        inputs, clusters = neighbor_inputs(evidence, block.common), evidence.samples.clusters
        pairs = block.pairs
        wider = 1.0 if inputs.discrete else WIDER
        pair_scores = np.full((len(weights), len(pairs)), np.nan)
        for some, terms in pair_terms_given_truth(inputs, clusters, pairs, k=k):
            pair_scores[:, some] = weighted_means(terms, weights, wider=wider)
        return block.of_pairs(np.maximum(1 - np.exp(-2 * pair_scores), -1.0), over)
