"""CTL and ICL with more neighbors than the scores themselves take: scikit-learn's estimates."""

from itertools import combinations

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import digamma

from theodolite._stats.information import plug_in_entropy, plug_in_terms
from theodolite.evidence.kinds.concept import ConceptEvidence


def task_leakage(evidence: ConceptEvidence, k: int) -> float:
    """CTL, the mean over concepts."""
    from sklearn.feature_selection import mutual_info_classif  # noqa: PLC0415  a second

    values, labels = np.asarray(evidence.values, float), np.asarray(evidence.labels)
    learned = mutual_info_classif(
        values, labels, discrete_features=False, n_neighbors=k, random_state=0
    )
    true = [plug_in_terms(column, labels).mean() for column in np.asarray(evidence.truth).T]
    return float(np.clip((learned - true) / plug_in_entropy(labels), 0.0, 1.0).mean())


def interconcept_leakage(evidence: ConceptEvidence, k: int) -> float:
    """ICL, the mean over pairs, with the published normalizer: psi(N) - psi(k + 1)."""
    values, truth = np.asarray(evidence.values, float), np.asarray(evidence.truth)
    entropy = float(digamma(len(values)) - digamma(k + 1))
    shares = []
    for i, j in combinations(range(values.shape[1]), 2):
        learned = ksg_information(values[:, i], values[:, j], k)
        both = np.sqrt(plug_in_entropy(truth[:, i]) * plug_in_entropy(truth[:, j]))
        true = plug_in_terms(truth[:, i], truth[:, j]).mean() / both
        shares.append(np.clip(np.clip(learned / entropy, 0.0, 1.0) - true, 0.0, 1.0))
    return float(np.mean(shares))


def ksg_information(x: np.ndarray, y: np.ndarray, k: int) -> float:
    """The KSG estimate for any number of neighbors: columns are not scaled.

    >>> round(ksg_information(np.array([0.0, 1, 3, 7]), np.array([0.0, 2, 3, 9]), 1), 6)
    0.583333
    """
    both = np.column_stack([x, y])
    farthest = cKDTree(both).query(both, k=k + 1, p=np.inf)[0][:, -1]
    within = farthest * (1 - 1e-10)  # nearer than the last neighbor, whatever rounding does
    counts = (_counted(column, within) for column in (x, y))
    terms = digamma(len(x)) + digamma(k) - sum(digamma(count).mean() for count in counts)
    return float(max(terms, 0.0))


def _counted(column: np.ndarray, within: np.ndarray) -> np.ndarray:
    """Return how many values lie so near to each, itself among them."""
    ordered = np.sort(column)
    upto = np.searchsorted(ordered, column + within, "right")
    return np.asarray(upto - np.searchsorted(ordered, column - within, "left"))
