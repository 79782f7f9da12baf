"""Do concepts tell about each other what the true concepts leave open?"""

from collections.abc import Mapping

import numpy as np

from theodolite._stats.grouped_weights import RowWeights
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics.base import Card, metric
from theodolite.metrics.blocks import BlockContext, Blockwise
from theodolite.metrics.leak_free._nulls import CLEAN
from theodolite.metrics.leak_free._pairs import pair_terms_given_truth
from theodolite.metrics.leak_free._terms import WIDER, neighbour_inputs, weighted_means
from theodolite.metrics.option_types import ConceptsOrPairs, Neighbours


@metric(
    "interconcept_leakage_given_concepts",
    title="Interconcept leakage given the concepts (neighbour estimate)",
    version=2,
    question="leak_free",
    better="lower",
    bounds=(-1.0, 1.0),
    uses=("values", "truth"),
    may_use=("known",),
    detail=True,
    decides=False,
    nulls=(CLEAN,),
    tolerance=0.05,
    cite="parisini2025leakage",
    card=Card(
        asks="Beyond what two true concepts say, do their values tell about each other?",
        read="The share of one value's variation that the other explains among samples that agree "
        "on both concepts: 0 for none, 1 where one gives the other. Comparable over numbers of "
        "samples from about 25 per combination of two concepts on; below that it is too low. Up to "
        "0.05 above the score without leakage we would accept, which is a convention. Whole "
        "numbers (two values) cannot score above 0.75 by this scale.",
        misleads="Anything that both values share and the concepts do not say counts: a blurred "
        "picture that makes all values timid, or graded inputs that are related, looks like "
        "leakage. It says that values are not only concepts; compare with a model whose concepts "
        "were trained apart before calling it smuggling. Rows that repeat others must be declared "
        "as clusters, or they are each other's neighbours.",
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
        k: Neighbours = 3,
    ) -> Mapping[str, np.ndarray]:
        inputs, clusters = neighbour_inputs(evidence, block.common), evidence.samples.clusters
        pairs = block.pairs
        wider = 1.0 if inputs.discrete else WIDER
        pair_scores = np.full((len(weights), len(pairs)), np.nan)
        for some, terms in pair_terms_given_truth(inputs, clusters, pairs, k=k):
            pair_scores[:, some] = weighted_means(terms, weights, wider=wider)
        return block.of_pairs(np.maximum(1 - np.exp(-2 * pair_scores), -1.0), over)
