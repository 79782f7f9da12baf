"""Heads fitted on concept values: logistic regression and quadratic discriminant analysis."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax

from theodolite.errors import EvidenceError


@dataclass(frozen=True, eq=False)
class LinearHead:
    """Classes as a linear function of concepts (logistic regression)."""

    weights: Float[np.ndarray, "concepts classes"]
    bias: Float[np.ndarray, " classes"]

    def probabilities(
        self, values: Float[np.ndarray, "samples concepts"]
    ) -> Float[np.ndarray, "samples classes"]:
        """Return the probability of each class."""
        return np.asarray(softmax(values @ self.weights + self.bias, axis=1))


@dataclass(frozen=True, eq=False)
class GaussianHead:
    """Quadratic discriminant analysis: a Gaussian of the concepts for each class."""

    means: Float[np.ndarray, "classes concepts"]
    precisions: Float[np.ndarray, "classes concepts concepts"]
    """Inverse covariance matrix of each class."""
    offsets: Float[np.ndarray, " classes"]
    """Log prior plus half the log determinant of the precision."""

    @property
    def weights(self) -> None:
        """None, because the head is not linear."""
        return None

    def scores(
        self, values: Float[np.ndarray, "samples concepts"]
    ) -> Float[np.ndarray, "samples classes"]:
        """Return log prior times density, up to a common constant; the largest is predicted."""
        far = np.empty((len(values), len(self.means)))
        # class by class: all at once would hold samples x classes x concepts
        for k, (mean, precision) in enumerate(zip(self.means, self.precisions, strict=True)):
            away = values - mean
            far[:, k] = ((away @ precision) * away).sum(axis=1)
        return np.asarray(self.offsets - far / 2)

    def probabilities(
        self, values: Float[np.ndarray, "samples concepts"]
    ) -> Float[np.ndarray, "samples classes"]:
        """Return the probability of each class."""
        return np.asarray(softmax(self.scores(values), axis=1))


def build_gaussian_head(
    means: Float[np.ndarray, "classes concepts"],
    covariances: Float[np.ndarray, "classes concepts concepts"],
    priors: Float[np.ndarray, " classes"],
) -> GaussianHead:
    """Return the head of given Gaussians."""
    spread = np.linalg.eigvalsh(covariances)  # ascending, (classes, concepts)
    flat = spread[:, 0] <= spread[:, -1] * spread.shape[1] * np.finfo(np.float64).eps
    if flat.any():
        raise EvidenceError(
            "values", f"{int(flat.sum())} classes whose concepts do not vary freely",
            "covariances with an inverse",
            "Pass shrinkage above 0, give more samples, or leave out concepts.",
        )  # fmt: skip
    precisions = np.linalg.inv(covariances)
    both_ways = (precisions + precisions.transpose(0, 2, 1)) / 2
    return GaussianHead(means, both_ways, np.log(priors) - np.log(spread).sum(axis=1) / 2)


def fit_qda(
    values: Float[np.ndarray, "samples concepts"],
    labels: Int[np.ndarray, " samples"],
    *,
    shrinkage: float = 0.0,
) -> GaussianHead:
    """Fit a Gaussian per class; without shrinkage equal to scikit-learn's QDA.

    Args:
        values: The concepts of training samples.
        labels: Their classes: 0, 1, ... with at least two samples each.
        shrinkage: How far each covariance is drawn to a round one of the same total variance,
            from 0 to 1. A class with no more samples than concepts has no inverse without it.
    """
    from sklearn.covariance import empirical_covariance, shrunk_covariance  # noqa: PLC0415

    counts = _counts(labels)
    numbers = np.asarray(values, np.float64)
    parts = [numbers[labels == k] for k in range(len(counts))]
    spreads = [shrunk_covariance(empirical_covariance(part), shrinkage) for part in parts]
    means = np.stack([part.mean(axis=0) for part in parts])
    return build_gaussian_head(means, np.stack(spreads), counts / counts.sum())


def fit_linear(
    values: Float[np.ndarray, "samples concepts"],
    labels: Int[np.ndarray, " samples"],
    *,
    regulariser: float = 1.0,
) -> LinearHead:
    """Fit a logistic regression with scikit-learn; ``regulariser`` is its C.

    The values are standardized for the optimizer, and the scale is folded back into the weights.
    """
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

    _counts(labels)
    numbers = np.asarray(values, np.float64)
    center, spread = numbers.mean(axis=0), numbers.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    model = LogisticRegression(C=regulariser, max_iter=5000)
    model.fit((numbers - center) / spread, labels)
    columns, offsets = model.coef_, model.intercept_
    if len(columns) == 1:  # scikit-learn keeps one logit for two classes
        columns, offsets = np.vstack([0 * columns, columns]), np.append(0.0, offsets)
    weights = (columns / spread).T
    return LinearHead(np.ascontiguousarray(weights), offsets - center @ weights)


def _counts(labels: Int[np.ndarray, " samples"]) -> Int[np.ndarray, " classes"]:
    counts = np.bincount(labels) if labels.size and labels.min() >= 0 else np.zeros(0, np.int64)
    if len(counts) < 2 or counts.min() < 2:
        raise EvidenceError(
            "labels", f"{counts.tolist()} samples in the classes",
            "at least two classes, numbered from 0, with two samples or more in each",
        )  # fmt: skip
    return counts
