"""How much of a model's own outputs concept values carry, where its classes are not the data's.

The outputs with the largest mean training probability are predicted from the concept values by
ridge regression. Predicted and true outputs are compared on test images as distributions.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax
from sklearn.linear_model import RidgeCV

OUTPUTS, DRAWS = 50, 20
PENALTIES = np.logspace(-2, 5, 15)


@dataclass(frozen=True, eq=False)
class OwnOutputSurrogate:
    """Total variation distances on test images, 0 to 1; smaller is better."""

    value: float
    """From the concept values."""
    mean_predictor: float
    """From nothing: the mean of the training outputs."""
    random_directions: Float[np.ndarray, " draws"]
    """From as many random unit directions of the features: the baseline."""
    principal_components: float
    """From as many principal components of the features."""
    outputs: Int[np.ndarray, " outputs"]
    """The outputs that were predicted."""


def compute_own_output_surrogate(
    logits: Float[np.ndarray, "images outputs"],
    values: Float[np.ndarray, "images concepts"],
    features: Float[np.ndarray, "images channels"],
    split: tuple[Int[np.ndarray, " train"], Int[np.ndarray, " test"]],
    *,
    seed: int = 0,
) -> OwnOutputSurrogate:
    """Return the distances for concept values, and for what they are compared with.

    Args:
        logits: The model's outputs.
        values: Concept values of the same images.
        features: Pooled features of the same images.
        split: Rows to fit on, and rows to compare on.
        seed: Of the random directions.
    """
    train, test = split
    largest = np.argsort(-softmax(logits[train], axis=1).mean(axis=0), kind="stable")
    outputs = np.sort(largest[:OUTPUTS])
    targets = logits[:, outputs].astype(float)
    truth = softmax(targets[test], axis=1)

    def distance(inputs: np.ndarray | None) -> float:
        predicted = np.broadcast_to(targets[train].mean(axis=0), truth.shape)
        if inputs is not None:
            predicted = _fit(inputs[train], targets[train])(inputs[test])
        return float(np.abs(softmax(predicted, axis=1) - truth).sum(axis=1).mean() / 2)

    random, n = np.random.default_rng(seed), values.shape[1]
    centered = features - features[train].mean(axis=0)
    draws = random.normal(size=(DRAWS, features.shape[1], n))
    components = np.linalg.svd(centered[train], full_matrices=False)[2][:n].T
    return OwnOutputSurrogate(
        distance(values), distance(None),
        np.array([distance(centered @ (d / np.linalg.norm(d, axis=0))) for d in draws]),
        distance(centered @ components), outputs,
    )  # fmt: skip


def _fit(inputs: np.ndarray, targets: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Fit ridge regression on standardized inputs; leave-one-out error chooses the penalty."""
    center, spread = inputs.mean(axis=0), inputs.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    model = RidgeCV(alphas=PENALTIES).fit((inputs - center) / spread, targets)
    return lambda others: np.asarray(model.predict((others - center) / spread))
