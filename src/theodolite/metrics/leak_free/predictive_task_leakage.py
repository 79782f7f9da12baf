"""Does a concept's value help to predict the label of samples that were never seen?"""

from typing import Literal

import numpy as np
from jaxtyping import Float

from theodolite._stats.predictive import PredictiveTerms, predictive_terms
from theodolite._stats.predictive_interval import ceiling_of, predictive_moments
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics.base import Card, Pooled, metric
from theodolite.metrics.leak_free._nulls import CLEAN
from theodolite.metrics.leak_free._predictive import concept_strata, predictive_shares


@metric(
    "predictive_task_leakage",
    title="Predictive task leakage",
    version=1,
    question="leak_free",
    better="lower",
    bounds=(-1.0, 1.0),
    uses=("values", "truth", "labels"),
    may_use=("known",),
    detail=True,
    nulls=(CLEAN,),
    tolerance=0.05,
    share=True,
    cite="parisini2025leakage",
    card=Card(
        asks="By how much does a concept's value help to predict the answer for samples that were "
        "never seen, beyond the true concept?",
        read="0.1 means that, on average, a concept's value takes away a tenth of the surprise "
        "that the true concept leaves about the label. 0 or a little less: nothing.",
        misleads="A lower bound: what hides in the last digits, or in less than 1/128 of the "
        "ranks, is not seen, and with fewer than 100 clusters or with many labels much of a leak "
        "is missed. Rows that repeat each other must be declared as clusters. Whatever the value "
        "grades beyond yes and no counts, if it has to do with the label.",
        cost="a sort and 23 small models per concept",
        says="The values of {noun} give away {value} of what the true {noun} leave open about "
        "the label ({low}–{high}{best}). {null}{enough}.",
    ),
)
class PredictiveTaskLeakage(Pooled):
    r"""What a concept's value adds to predicting the label, beyond the true concept.

    .. math:: T_j = \frac{\sum_i \log p(y_i \mid \hat c_{ij}, c_{ij}) - \log p(y_i \mid c_{ij})}
        {- \sum_i \log p(y_i \mid c_{ij})}

    Both probabilities are learnt without the cluster that sample i belongs to, from the ranks of
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
        evidence: ConceptEvidence,
        weights: Float[np.ndarray, "rows samples"],
        *,
        over: Literal["concepts"] = "concepts",
    ) -> Float[np.ndarray, "rows concepts"]:
        del over
        return _shares(_terms(evidence), evidence, weights)

    @staticmethod
    def measure_with_moments(
        evidence: ConceptEvidence,
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
        evidence: ConceptEvidence, *, over: Literal["concepts"] = "concepts"
    ) -> dict[str, np.ndarray]:
        """Fields of ``PredictiveMoments`` by name."""
        del over
        return _moments(_terms(evidence), evidence)


def _terms(evidence: ConceptEvidence) -> PredictiveTerms:
    values, labels = np.asarray(evidence.values), np.asarray(evidence.labels)
    return predictive_terms(values, labels, evidence.samples.clusters, concept_strata(evidence))


def _shares(
    terms: PredictiveTerms, evidence: ConceptEvidence, weights: Float[np.ndarray, "rows samples"]
) -> Float[np.ndarray, "rows concepts"]:
    labels, clusters = np.asarray(evidence.labels), evidence.samples.clusters
    return predictive_shares(terms, weights, labels, clusters)


def _moments(terms: PredictiveTerms, evidence: ConceptEvidence) -> dict[str, np.ndarray]:
    own = np.asarray(evidence.labels), evidence.samples.clusters, concept_strata(evidence)
    return predictive_moments(terms, *own, ceiling=ceiling_of(*own)).arrays()
