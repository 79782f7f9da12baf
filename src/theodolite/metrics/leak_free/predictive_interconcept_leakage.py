"""Do the values of two concepts help to predict each other in samples that were never seen?"""

from collections.abc import Mapping

import numpy as np

from theodolite._stats.grouped_weights import RowWeights
from theodolite._stats.predictive_interval import wider_by
from theodolite._stats.predictive_pairs import predictive_pair_terms
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics.base import Card, metric
from theodolite.metrics.blocks import BlockContext, Blockwise
from theodolite.metrics.leak_free._nulls import CLEAN
from theodolite.metrics.leak_free._predictive import concept_strata
from theodolite.metrics.leak_free._terms import weighted_means
from theodolite.metrics.option_types import ConceptsOrPairs


@metric(
    "predictive_interconcept_leakage",
    title="Predictive interconcept leakage",
    version=1,
    question="leak_free",
    better="lower",
    bounds=(-1.0, 1.0),
    uses=("values", "truth"),
    may_use=("known",),
    detail=True,
    nulls=(CLEAN,),
    tolerance=0.05,
    decides=False,
    on_request=True,
    cite="parisini2025leakage",
    card=Card(
        asks="Beyond what two true concepts say, do their values help to predict each other in "
        "samples that were never seen?",
        read="The share of one value's variation that the other explains among samples that agree "
        "on both concepts: 0 or a little less for none, 1 where one gives the other.",
        misleads="A lower bound. What two values share is seen late if it does not rise or fall "
        "together: of values that follow each other's square, a fifth is seen with 500 samples, "
        "where neighbour estimates see three quarters. Whatever both values share and the concepts "
        "do not say counts: a blurred picture that makes all values timid looks like leakage. Rows "
        "that repeat each other must be declared as clusters.",
        cost="all pairs of concepts, about as much as interconcept_leakage_given_concepts",
    ),
)
class PredictiveInterconceptLeakage(Blockwise):
    r"""What two concepts' values gain on each other beyond the true concepts.

    .. math:: G_{ij} = 1 - \exp\left(-2\, I_{ij}\right), \quad I_{ij} = \frac1N \sum_n \log
        \frac{p(\hat c_{in}, \hat c_{jn} \mid c_{in}, c_{jn})}
        {p(\hat c_{in} \mid c_{in}, c_{jn})\, p(\hat c_{jn} \mid c_{in}, c_{jn})}

    Densities of ranks are learnt without the cluster that sample n belongs to, among the samples
    that agree on both concepts; a cluster counts once. On this scale jointly normal values score
    their squared correlation :cite:p:`linfoot1957informational`. 0 where values tell nothing about
    each other, below 0 where what seemed to help did not. Ours, to mend the interconcept score of
    :cite:t:`parisini2025leakage`.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import predictive_interconcept_leakage
        >>> truth = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 30, dtype=bool)
        >>> shared = np.sin(np.arange(120))[:, None]
        >>> predictive_interconcept_leakage(truth + 0.3 * shared, truth, over="pairs").round(1)
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
    ) -> Mapping[str, np.ndarray]:
        values, clusters = np.asarray(evidence.values), evidence.samples.clusters
        pairs = block.pairs
        counts, n_clusters = None, len(evidence)
        if clusters is not None:
            _, own, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
            counts, n_clusters = 1 / sizes[own], len(sizes)
        gained = np.full((len(weights), len(pairs)), np.nan)
        blocks = predictive_pair_terms(values, pairs, clusters, concept_strata(evidence))
        for some, (out, _) in blocks:
            gained[:, some] = weighted_means(
                out, weights, wider=wider_by(n_clusters), counts=counts
            )
        return block.of_pairs(np.maximum(1 - np.exp(-2 * gained), -1.0), over)
