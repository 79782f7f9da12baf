"""What the predictive scores share: strata of the concepts, and shares under weights."""

import numpy as np
from jaxtyping import Float, Int

from theodolite._stats.predictive import PredictiveTerms
from theodolite._stats.predictive_interval import row_weights, wider_by
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics.leak_free._terms import share, weighted_means


def concept_strata(evidence: ConceptEvidence) -> Int[np.ndarray, "concepts samples"]:
    """Whether each sample has each concept, as a number; -1 where that is not known."""
    strata = np.asarray(evidence.truth).astype(np.int64).T
    return strata if evidence.known is None else np.where(np.asarray(evidence.known).T, strata, -1)


def predictive_shares(
    terms: PredictiveTerms,
    weights: Float[np.ndarray, "rows samples"],
    labels: Int[np.ndarray, " samples"],
    clusters: Int[np.ndarray, " samples"] | None,
) -> Float[np.ndarray, "rows concepts"]:
    """What was gained over what there was to gain, rows counted as the interval counts them."""
    counts = row_weights(labels, clusters)
    n_clusters = len(labels) if clusters is None else len(np.unique(clusters))
    gained = weighted_means(terms.out, weights, wider=wider_by(n_clusters), counts=counts)
    return share(gained, weighted_means(terms.surprise, weights, counts=counts), least=-1.0)
