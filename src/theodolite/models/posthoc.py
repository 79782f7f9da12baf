"""Post-hoc concept bottleneck: project features on concepts, then one linear layer.

Used by the pipelines `posthoc`, `faithfulness` and `study`.
"""

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, SGDClassifier

from theodolite.models.concept_bank import ConceptBank, Projection

Head = Literal["logistic", "elastic_net"]


@dataclass(frozen=True, eq=False)
class PosthocBottleneck:
    """Concepts as a linear function of features, classes as a linear function of concepts."""

    bank: ConceptBank
    projection: Projection
    weights: Float[np.ndarray, "concepts classes"]
    bias: Float[np.ndarray, " classes"]

    def concepts(
        self, features: Float[np.ndarray, "samples channels"]
    ) -> Float[np.ndarray, "samples concepts"]:
        """Return the value of each concept."""
        return self.bank.project(features, self.projection)

    def projected(self, projection: Projection) -> "PosthocBottleneck":
        """Return an equivalent model with another projection: its offset goes into the bias, its
        scale into the weights.
        """
        before, after = self.bank.scale(self.projection), self.bank.scale(projection)
        of_products = self.weights / before[1][:, None]
        bias = self.bias + (before[0] - after[0]) @ of_products
        return PosthocBottleneck(self.bank, projection, of_products * after[1][:, None], bias)

    def predict(self, values: Float[np.ndarray, "samples concepts"]) -> Int[np.ndarray, " samples"]:
        """Return the class that the head predicts from concept values."""
        return np.asarray((values @ self.weights + self.bias).argmax(axis=1))

    def probabilities(
        self, values: Float[np.ndarray, "samples concepts"]
    ) -> Float[np.ndarray, "samples classes"]:
        """Return the softmax of the head; implements ``ConceptHead``."""
        return np.asarray(softmax(values @ self.weights + self.bias, axis=1))


def fit_posthoc(
    bank: ConceptBank,
    training: tuple[Float[np.ndarray, "samples channels"], Int[np.ndarray, " samples"]],
    n_classes: int,
    *,
    projection: Projection = "dot",
    head: Head = "logistic",
    seed: int = 0,
) -> PosthocBottleneck:
    """Fit the head on training features and their labels.

    ``logistic`` minimizes cross-entropy with a light ridge; ``elastic_net`` is the evaluated
    method's own choice (one class against the rest, stochastic gradient, l1 ratio 0.99). The
    concept values are standardized for the optimizer and the scale is folded back into the
    weights, so that the head is linear in the values themselves, and all projections share it.
    """
    features, labels = training
    # values are standardized, so a head for one projection is a head for all
    values = bank.project(features, "dot")
    head_of_products = fit_linear(values, labels, n_classes, head, seed)
    return PosthocBottleneck(bank, "dot", *head_of_products).projected(projection)


def fit_linear(
    values: Float[np.ndarray, "samples inputs"],
    labels: Int[np.ndarray, " samples"],
    n_classes: int,
    head: Head = "logistic",
    seed: int = 0,
) -> tuple[Float[np.ndarray, "inputs classes"], Float[np.ndarray, " classes"]]:
    """Fit weights and bias of one linear layer from values to classes."""
    center, spread = values.mean(axis=0), values.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    standard = ((values - center) / spread).astype(np.float32)
    if head == "logistic":
        model = LogisticRegression(C=1.0, max_iter=200, tol=1e-3)
    else:
        model = SGDClassifier(
            loss="log_loss", penalty="elasticnet", l1_ratio=0.99, alpha=1e-5, random_state=seed
        )
    with warnings.catch_warnings():
        # a head that has not fully converged is still the head that is judged
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(standard, labels)
    weights = np.zeros((values.shape[1], n_classes))
    bias = np.full(n_classes, -np.inf)  # a class without training samples is never chosen
    if len(model.classes_) == 2:  # scikit-learn keeps one column for two classes
        columns, offsets = np.concatenate([-model.coef_, model.coef_]), [-1, 1] * model.intercept_
    else:
        columns, offsets = model.coef_, model.intercept_
    weights[:, model.classes_] = (columns / spread).T
    bias[model.classes_] = offsets - (columns * (center / spread)).sum(axis=1)
    return weights, bias
