"""Do concepts help to predict, in samples that were never seen, what they should not tell?"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from theodolite._stats.grouped_weights import RowWeights
from theodolite._stats.joint.annotation import concept_allowances
from theodolite._stats.predictive import PredictiveTerms, predictive_terms
from theodolite._stats.predictive_interval import (
    PredictiveMoments,
    ceiling_of,
    predictive_moments,
    row_weights,
    wider_by,
)
from theodolite._stats.predictive_pairs import predictive_pair_terms
from theodolite._stats.predictive_vectors import predictive_vector_terms
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.metrics.base import Card, Pooled
from theodolite.metrics.blocks import BlockContext, Blockwise
from theodolite.metrics.leak_free._terms import (
    leakage_metric,
    share,
    vector_leakage_metric,
    weighted_means,
)
from theodolite.metrics.option_types import ConceptsOrPairs
from theodolite.metrics.states import ITEM

Rows = Float[np.ndarray, "rows samples"]
ConceptRows = Float[np.ndarray, "rows concepts"]
Concepts = Literal["concepts"]
ASSUMED_ERROR = 0.05
"""Rate of wrong annotations that is allowed for where none is declared."""


def concept_strata(evidence: ConceptEvidence) -> Int[np.ndarray, "concepts samples"]:
    """Whether each sample has each concept, as a number; -1 where that is not known."""
    strata = np.asarray(evidence.truth).astype(np.int64).T
    return strata if evidence.known is None else np.where(np.asarray(evidence.known).T, strata, -1)


def annotation_errors(evidence: ConceptEvidence) -> Float[np.ndarray, " concepts"]:
    """Return the rate of wrong annotations of each concept that is allowed for."""
    if evidence.annotation_error is not None:
        return np.asarray(evidence.annotation_error)
    return np.full(np.shape(evidence.values)[1], ASSUMED_ERROR)


@dataclass(frozen=True, eq=False)
class PredictiveGains:
    """What an explanation's numbers add to predicting the label beyond the true concept."""

    values: Float[np.ndarray, "samples concepts *dimensions"]
    labels: Int[np.ndarray, " samples"]
    clusters: Int[np.ndarray, " samples"] | None
    strata: Int[np.ndarray, "concepts samples"]
    estimate: Callable[..., PredictiveTerms]
    """(values, labels, clusters, strata) -> terms"""

    @cached_property
    def terms(self) -> PredictiveTerms:
        """Terms of the gains."""
        return self.estimate(self.values, self.labels, self.clusters, self.strata)

    def shares(self, weights: Rows) -> ConceptRows:
        """Return gains over what there was to gain, rows counted as the interval counts them."""
        counts = row_weights(self.labels, self.clusters)
        keys = self.labels if self.clusters is None else np.unique(self.clusters)
        gained = weighted_means(self.terms.out, weights, wider=wider_by(len(keys)), counts=counts)
        surprise = weighted_means(self.terms.surprise, weights, counts=counts)
        return share(gained, surprise, least=-1.0)

    def moments(self) -> PredictiveMoments:
        """Return what the interval and the doubts are made from."""
        own = self.labels, self.clusters, self.strata
        return predictive_moments(self.terms, *own, ceiling=ceiling_of(*own, self.estimate))

    def moments_by_concept(self) -> dict[str, np.ndarray]:
        """Return what the test of each concept is made from, by name."""
        each = [
            predictive_moments(
                self.terms.column(j), self.labels, self.clusters, self.strata[j : j + 1]
            ).arrays()
            for j in range(len(self.strata))
        ]
        return {ITEM + name: np.array([concept[name] for concept in each]) for name in each[0]}


@leakage_metric(
    "predictive_task_leakage",
    title="Predictive task leakage",
    tolerance=0.05,
    item_tolerance=0.1,
    decides=False,
    may_use=("known", "annotation_error"),
    is_percentage=True,
    card=Card(
        question="By how much does a concept's value help to predict the answer for samples that "
        "were never seen, beyond the true concept?",
        interpretation="0.1 means that, on average, a concept's value takes away a tenth of the "
        "surprise that the true concept leaves about the label. 0 or a little less: nothing.",
        limitations="One concept at a time: what several values tell only together is not seen, "
        "and a mean over concepts hides one that leaks among many. `joint_task_leakage` decides, "
        "with the tests of single concepts from here. A lower bound: what hides in the last "
        "digits, or in less than 1/128 of the ranks, is not seen, and with fewer than 100 clusters "
        "or with many labels much of a leak is missed. Rows that repeat each other must be "
        "declared as clusters. Whatever the value grades beyond yes and no counts, if it has to "
        "do with the label.",
        cost="a sort and 23 small models per concept",
        template="The values of {noun} give away {value} of what the true {noun} leave open about "
        "the label ({low}–{high}{best}). {null}{enough}.",
    ),
)
class PredictiveTaskLeakage(Pooled):
    r"""What a concept's value adds to predicting the label, beyond the true concept.

    .. math:: T_j = \frac{\sum_i \log p(y_i \mid \hat c_{ij}, c_{ij}) - \log p(y_i \mid c_{ij})}
        {- \sum_i \log p(y_i \mid c_{ij})}

    Both probabilities are learned without the cluster that sample i belongs to, from the ranks of
    the values among the samples that agree on the concept. Labels that fewer than two clusters
    have are left out. Rows of a cluster count as one together as far as they share their label. 0
    where the value tells nothing more, below 0 where what seemed to help did not; at most 1.
    Undefined where the concept settles the label. Ours, to mend the concepts-task
    score of :cite:t:`parisini2025leakage`.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import predictive_task_leakage
        >>> c = np.repeat([0, 1, 0, 1], 25).astype(bool)
        >>> y = np.repeat([0, 0, 1, 1], 25)
        >>> wiggle = np.linspace(0, 0.1, 100) ** 2
        >>> predictive_task_leakage((c + 0.3 * y + wiggle)[:, None], c[:, None], y).round(2)
        array([0.94])
    """

    @staticmethod
    def measure(
        evidence: ConceptEvidence, weights: Rows, *, over: Concepts = "concepts"
    ) -> ConceptRows:
        del over
        return _learn(evidence).shares(weights)

    @staticmethod
    def measure_with_moments(
        evidence: ConceptEvidence, weights: Rows, *, over: Concepts = "concepts"
    ) -> tuple[ConceptRows, dict[str, np.ndarray]]:
        del over
        gains = _learn(evidence)
        counted = row_weights(gains.labels, gains.clusters)
        rows = np.ones(len(gains.labels)) if counted is None else counted
        allowance = concept_allowances(
            gains.strata, gains.labels, rows, annotation_errors(evidence)
        )
        by_concept = gains.moments_by_concept() | {f"{ITEM}allowance": allowance}
        return gains.shares(weights), gains.moments().arrays() | by_concept


def _learn(evidence: ConceptEvidence) -> PredictiveGains:
    labels, clusters = np.asarray(evidence.labels), evidence.samples.clusters
    return PredictiveGains(
        np.asarray(evidence.values), labels, clusters, concept_strata(evidence), predictive_terms
    )


@vector_leakage_metric(
    "predictive_embedding_leakage",
    title="Predictive task leakage of concept vectors",
    tolerance=0.05,
    is_percentage=True,
    card=Card(
        question="By how much do a concept's vectors help to predict the answer for samples that "
        "were never seen, beyond the true concept?",
        interpretation="0.1 means that, on average, a concept's vectors take away a tenth of the "
        "surprise that the true concept leaves about the label. 0 or a little less: nothing.",
        limitations="A lower bound: what no linear discriminant finds is not seen, and with few "
        "clusters for each dimension much of a leak is missed; with fewer than three it cannot be "
        "told. Rows that repeat each other must be declared as clusters. Whatever vectors grade "
        "beyond yes and no counts, if it has to do with the label. One concept at a time: a mean "
        "over thirty concepts hides one that gives the label away, and what vectors tell only "
        "together is not seen.",
        cost="20 small eigenvalue problems per concept",
        template="The vectors of {noun} give away {value} of what the true {noun} leave open about "
        "the label ({low}–{high}{best}). {null}{enough}.",
    ),
)
class PredictiveEmbeddingLeakage(Pooled):
    r"""What a concept's vectors add to predicting the label, beyond the true concept.

    .. math:: T_j = \frac{\sum_i \log p(y_i \mid w_{ij}, c_{ij}) - \log p(y_i \mid c_{ij})}
        {- \sum_i \log p(y_i \mid c_{ij})}

    As for single values, with linear discriminants in place of tables, learned in ten folds of
    clusters among the samples that agree on the concept. Ours: the embedding scores of
    :cite:t:`parisini2025leakage` have no true concept to compare with.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import predictive_embedding_leakage
        >>> truth = np.tile([[0], [1]], (40, 1)).astype(bool)
        >>> labels = np.repeat([0, 1], 40)
        >>> vectors = np.stack([truth[:, 0], labels + np.arange(80) / 1e4], axis=1)[:, None, :]
        >>> predictive_embedding_leakage(vectors, truth, labels).round(2)
        array([1.])
    """

    @staticmethod
    def measure(
        evidence: EmbeddingEvidence, weights: Rows, *, over: Concepts = "concepts"
    ) -> ConceptRows:
        del over
        return _learn_from_vectors(evidence).shares(weights)

    @staticmethod
    def measure_with_moments(
        evidence: EmbeddingEvidence, weights: Rows, *, over: Concepts = "concepts"
    ) -> tuple[ConceptRows, dict[str, np.ndarray]]:
        del over
        gains = _learn_from_vectors(evidence)
        moments = gains.moments()
        per_dimension = np.asarray(moments.stratum_clusters / evidence.vectors.shape[2])
        return gains.shares(weights), moments.arrays() | {"per_dimension": per_dimension}


def _learn_from_vectors(evidence: EmbeddingEvidence) -> PredictiveGains:
    explained, samples = evidence.explained, evidence.samples
    clusters = np.asarray(samples.index if samples.clusters is None else samples.clusters)
    labels, strata = np.asarray(explained.labels), concept_strata(explained)
    vectors = np.asarray(evidence.vectors)
    return PredictiveGains(vectors, labels, clusters, strata, _vector_terms)


def _vector_terms(values: np.ndarray, *others: Any) -> PredictiveTerms:
    """Terms of vectors; a single number is a vector of one dimension."""
    return predictive_vector_terms(values if values.ndim > 2 else values[..., None], *others)


@leakage_metric(
    "predictive_interconcept_leakage",
    title="Predictive interconcept leakage",
    tolerance=0.05,
    uses=("values", "truth"),
    decides=False,
    opt_in=True,
    card=Card(
        question="Beyond what two true concepts say, do their values help to predict each other in "
        "samples that were never seen?",
        interpretation="The share of one value's variation that the other explains among samples "
        "that agree on both concepts: 0 or a little less for none, 1 where one gives the other.",
        limitations="A lower bound. What two values share is seen late if it does not rise or fall "
        "together: of values that follow each other's square, a fifth is seen with 500 samples, "
        "where neighbor estimates see three quarters. Whatever both values share and the concepts "
        "do not say counts: a blurred image that makes all values timid looks like leakage. Rows "
        "that repeat each other must be declared as clusters.",
        cost="all pairs of concepts, about as much as interconcept_leakage_given_concepts",
    ),
)
class PredictiveInterconceptLeakage(Blockwise):
    r"""What two concepts' values gain on each other beyond the true concepts.

    .. math:: G_{ij} = 1 - \exp\left(-2\, I_{ij}\right), \quad I_{ij} = \frac1N \sum_n \log
        \frac{p(\hat c_{in}, \hat c_{jn} \mid c_{in}, c_{jn})}
        {p(\hat c_{in} \mid c_{in}, c_{jn})\, p(\hat c_{jn} \mid c_{in}, c_{jn})}

    Densities of ranks are learned without the cluster that sample n belongs to, among the samples
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
        gained, wider = np.full((len(weights), len(pairs)), np.nan), wider_by(n_clusters)
        blocks = predictive_pair_terms(values, pairs, clusters, concept_strata(evidence))
        for some, (out, _) in blocks:
            gained[:, some] = weighted_means(out, weights, wider=wider, counts=counts)
        return block.of_pairs(np.maximum(1 - np.exp(-2 * gained), -1.0), over)
