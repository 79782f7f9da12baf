"""Do a concept's vectors help to predict the label of samples that were never seen?"""

from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from theodolite._stats.predictive import PredictiveTerms
from theodolite._stats.predictive_interval import ceiling_of, predictive_moments
from theodolite._stats.predictive_vectors import predictive_vector_terms
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.metrics.base import Card, Pooled, metric
from theodolite.metrics.leak_free._nulls import CLEAN_VECTORS
from theodolite.metrics.leak_free._predictive import concept_strata, predictive_shares


@metric(
    "predictive_embedding_leakage",
    title="Predictive task leakage of concept vectors",
    version=1,
    question="leak_free",
    better="lower",
    bounds=(-1.0, 1.0),
    uses=("vectors", "explained.truth", "explained.labels"),
    may_use=("explained.known",),
    detail=True,
    nulls=(CLEAN_VECTORS,),
    tolerance=0.05,
    share=True,
    cite="parisini2025leakage",
    card=Card(
        asks="By how much do a concept's vectors help to predict the answer for samples that were "
        "never seen, beyond the true concept?",
        read="0.1 means that, on average, a concept's vectors take away a tenth of the surprise "
        "that the true concept leaves about the label. 0 or a little less: nothing.",
        misleads="A lower bound: what no linear discriminant finds is not seen, and with few "
        "clusters for each dimension much of a leak is missed; with fewer than three it cannot be "
        "told. Rows that repeat each other must be declared as clusters. Whatever vectors grade "
        "beyond yes and no counts, if it has to do with the label.",
        cost="20 small eigenvalue problems per concept",
        says="The vectors of {noun} give away {value} of what the true {noun} leave open about "
        "the label ({low}–{high}{best}). {null}{enough}.",
    ),
)
class PredictiveEmbeddingLeakage(Pooled):
    r"""What a concept's vectors add to predicting the label, beyond the true concept.

    .. math:: T_j = \frac{\sum_i \log p(y_i \mid w_{ij}, c_{ij}) - \log p(y_i \mid c_{ij})}
        {- \sum_i \log p(y_i \mid c_{ij})}

    As for single values, with linear discriminants in place of tables, learnt in ten folds of
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
        evidence: EmbeddingEvidence,
        weights: Float[np.ndarray, "rows samples"],
        *,
        over: Literal["concepts"] = "concepts",
    ) -> Float[np.ndarray, "rows concepts"]:
        del over
        return _shares(_terms(evidence), evidence, weights)

    @staticmethod
    def measure_with_moments(
        evidence: EmbeddingEvidence,
        weights: Float[np.ndarray, "rows samples"],
        *,
        over: Literal["concepts"] = "concepts",
    ) -> tuple[Float[np.ndarray, "rows concepts"], dict[str, np.ndarray]]:
        """What ``measure`` gives, and what the interval and the doubts are made from."""
        del over
        terms = _terms(evidence)
        return _shares(terms, evidence, weights), _moments(terms, evidence)

    @staticmethod
    def moments(
        evidence: EmbeddingEvidence, *, over: Literal["concepts"] = "concepts"
    ) -> dict[str, np.ndarray]:
        """Fields of ``PredictiveMoments`` by name."""
        del over
        return _moments(_terms(evidence), evidence)


def _terms(evidence: EmbeddingEvidence) -> PredictiveTerms:
    explained = evidence.explained
    labels, strata = np.asarray(explained.labels), concept_strata(explained)
    return predictive_vector_terms(np.asarray(evidence.vectors), labels, _keys(evidence), strata)


def _keys(evidence: EmbeddingEvidence) -> Int[np.ndarray, " samples"]:
    samples = evidence.samples
    return np.asarray(samples.index if samples.clusters is None else samples.clusters)


def _shares(
    terms: PredictiveTerms, evidence: EmbeddingEvidence, weights: Float[np.ndarray, "rows samples"]
) -> Float[np.ndarray, "rows concepts"]:
    labels = np.asarray(evidence.explained.labels)
    return predictive_shares(terms, weights, labels, _keys(evidence))


def _moments(terms: PredictiveTerms, evidence: EmbeddingEvidence) -> dict[str, np.ndarray]:
    keys, strata = _keys(evidence), concept_strata(evidence.explained)
    labels = np.asarray(evidence.explained.labels)
    best = ceiling_of(
        labels, keys, strata, lambda v, *own: predictive_vector_terms(v[..., None], *own)
    )
    moments = predictive_moments(terms, labels, keys, strata, ceiling=best)
    per_dimension = moments.stratum_clusters / evidence.vectors.shape[2]
    return moments.arrays() | {"per_dimension": np.asarray(per_dimension)}
