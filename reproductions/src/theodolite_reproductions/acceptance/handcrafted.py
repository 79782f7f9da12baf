"""Features of explanations that need no embedding: how stable, how simple, how telling they are."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped

from theodolite.errors import EvidenceError

COMPONENTS = (10, 20, 30)
SETS = 3
"""Of images that were changed a little in one way or another."""
FEATURES = (
    *(f"variance under augmentations {number}" for number in (1, 2, 3)),
    *(f"variance in {n} components" for n in COMPONENTS),
    "accuracy of a logistic regression",
    "accuracy of quadratic discriminants",
    "accuracy of a support vector machine",
)
Values = Float[np.ndarray, "samples *shape"]


def handcrafted(
    values: Values,
    labels: Int[np.ndarray, " samples"],
    augmented: Sequence[Float[np.ndarray, "augmentations samples *shape"]],
    *,
    seed: int = 0,
) -> Float[np.ndarray, "samples 9"]:
    r"""Nine numbers for each explanation that one technique gave for one data set.

    Three say how much it changes with the image: for each set :math:`A` of changed images, the
    variance of its values over the set, divided by their mean square so that the scale of a
    technique does not count, and averaged over places. The other six are of the technique on the
    data set, the same for all its explanations: the share of variance in the first 10, 20 and 30
    principal components, and how well three classifiers tell the class from the explanation, on
    explanations that they were not fitted to.

    Args:
        values: Maps or concept values, one technique, one data set.
        labels: The class of each image.
        augmented: Three sets of explanations of changed images.
        seed: How the explanations are parted for the classifiers.
    """
    if len(augmented) != SETS or any(array.shape[1:] != values.shape for array in augmented):
        raise EvidenceError(
            "augmented", f"{[array.shape for array in augmented]}",
            f"{SETS} arrays of shape (augmentations, {', '.join(map(str, values.shape))})",
        )  # fmt: skip
    if len(labels) != len(values) or len(values) < 2:
        raise EvidenceError("labels", f"{len(labels)}", f"{len(values)}, two or more")
    flat = np.asarray(values, np.float64).reshape(len(values), -1)
    shared = [*complexity(flat), *discrimination(flat, labels, seed=seed)]
    own = np.stack([variance(array) for array in augmented], axis=1)
    return np.hstack([own, np.tile(shared, (len(values), 1))])


def variance(
    augmented: Float[np.ndarray, "augmentations samples *shape"],
) -> Float[np.ndarray, " samples"]:
    """Return how much each explanation changes with its image, from 0 (not at all) to 1.

    NaN for an explanation that is zero everywhere.
    """
    flat = np.asarray(augmented, np.float64).reshape(*augmented.shape[:2], -1)
    size = (flat**2).mean(axis=(0, 2))
    spread = flat.var(axis=0).mean(axis=1)
    return np.asarray(np.divide(spread, size, out=np.full(len(size), np.nan), where=size > 0))


def complexity(flat: Float[np.ndarray, "samples places"]) -> list[float]:
    """The share of variance in the first components; NaN if explanations are all the same."""
    lengths = np.linalg.svd(flat - flat.mean(axis=0), compute_uv=False) ** 2
    whole = float(lengths.sum())
    return [float(lengths[:n].sum() / whole) if whole > 0 else np.nan for n in COMPONENTS]


def discrimination(
    flat: Float[np.ndarray, "samples places"], labels: Int[np.ndarray, " samples"], *, seed: int = 0
) -> list[float]:
    """Return how often each classifier names the class of an explanation that it has not seen.

    The paper tests classifiers on what they were fitted to, which more places than samples make
    perfect. Here it is cross-validation; explanations are first taken to at most 30 components,
    and for quadratic discriminants to fewer than the rarest class has explanations.
    NaN with one class, or where a class has fewer than three explanations.
    """
    from sklearn.decomposition import PCA  # noqa: PLC0415
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis  # noqa: PLC0415
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.svm import SVC  # noqa: PLC0415

    fewest = int(np.unique(labels, return_counts=True)[1].min())
    if fewest < 3 or len(np.unique(labels)) < 2:
        return [np.nan] * 3
    n = min(5, fewest)
    most = min(COMPONENTS[-1], flat.shape[1], len(flat) - -(-len(flat) // n) - 1)
    of_a_class = fewest - -(-fewest // n)  # explanations of the rarest class that are learned from
    classifiers: tuple[tuple[Any, int], ...] = (
        (LogisticRegression(max_iter=1000), most),
        (QuadraticDiscriminantAnalysis(reg_param=0.1), min(most, of_a_class - 1)),
        (SVC(), most),
    )
    return [
        _accuracy(
            make_pipeline(PCA(n_components, svd_solver="full"), classifier),
            flat,
            labels,
            (n, seed),
        )
        for classifier, n_components in classifiers
    ]


def _accuracy(
    classifier: Any, flat: np.ndarray, labels: Shaped[np.ndarray, " samples"], how: tuple[int, int]
) -> float:
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415
    from sklearn.model_selection import StratifiedKFold, cross_val_predict  # noqa: PLC0415

    parts = StratifiedKFold(how[0], shuffle=True, random_state=how[1])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=ConvergenceWarning)
        warnings.filterwarnings("ignore", "Variables are collinear")
        warnings.filterwarnings("ignore", "The covariance matrix of class")
        predictions = cross_val_predict(classifier, flat, labels, cv=parts)
    return float(np.mean(predictions == labels))
