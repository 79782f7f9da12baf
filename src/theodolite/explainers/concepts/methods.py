"""Create an explainer of a concept bottleneck by the name of its method.

Used by the pipeline that makes study material. Importing this loads neither lime nor shap.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from theodolite.errors import EvidenceError
from theodolite.evidence.concept_head import ConceptHead
from theodolite.explainers.concepts.counterfactual import find_smallest_changes
from theodolite.explainers.concepts.heads import GaussianHead
from theodolite.explainers.concepts.perturbed import lime_values, rise_values, shap_values
from theodolite.explainers.concepts.table import TECHNIQUES

__all__ = ["TECHNIQUES", "concept_explainer"]

Values = Float[np.ndarray, "samples concepts"]
Labels = Int[np.ndarray, " samples"]
Explain = Callable[[Values, Labels], Values]

PERTURBED = MappingProxyType(
    {"lime_cbm": lime_values, "shap_cbm": shap_values, "rise_cbm": rise_values}
)


def concept_explainer(
    name: str,
    head: ConceptHead,
    *,
    background: Float[np.ndarray, "samples concepts"],
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
) -> Explain:
    """Return a function from concept values and classes to an attribution per concept.

    Args:
        name: One of `TECHNIQUES`, which describes its values.
        head: Model from concepts to classes, such as a trained post-hoc bottleneck.
        background: Concept values of typical samples; they replace values that a method masks.
        seed: Seed of all random draws. Explanations of samples do not depend on each other.
        options: For lime and shap, arguments of their own call; for RISE ``n_masks`` and ``keep``.
    """
    method_options = dict(options or {})
    reference = _check_finite(background, "background")
    if not len(reference):
        raise EvidenceError("background", "no samples", "at least one")
    explain = _make_explainer(name, head, reference, seed, method_options)

    def explain_checked(values: Values, labels: Labels) -> Values:
        rows = _check_finite(values, "values")
        if rows.shape[1] != reference.shape[1] or len(labels) != len(rows):
            raise EvidenceError(
                "values", f"{rows.shape[1]} concepts, {len(rows)} samples and {len(labels)} labels",
                f"{reference.shape[1]} concepts, as in the background, and a label for each sample",
            )  # fmt: skip
        if not len(rows):
            return np.zeros(rows.shape)
        n_classes = head.probabilities(rows[:1]).shape[1]
        if labels.min() < 0 or labels.max() >= n_classes:
            raise EvidenceError(
                "labels", f"{labels.min()} to {labels.max()}", f"classes 0 to {n_classes - 1}"
            )
        return explain(rows, labels)

    return explain_checked


def _make_explainer(
    name: str, head: ConceptHead, background: Values, seed: int, options: dict[str, Any]
) -> Explain:
    if name in PERTURBED:
        method = PERTURBED[name]
        return lambda values, labels: method(
            head, values, labels, background=background, seed=seed, options=options
        )
    if name not in TECHNIQUES:
        raise EvidenceError("concept explainer", repr(name), f"one of {', '.join(TECHNIQUES)}")
    if options:
        raise EvidenceError("options", f"{options}", f"none: {name} has nothing to choose")
    if name == "clip_qda":
        if not isinstance(head, GaussianHead):
            raise EvidenceError(
                "head", type(head).__name__, "a Gaussian for each class", "Fit it with fit_qda."
            )
        return lambda values, labels: find_smallest_changes(head, values, labels)
    weights = head.weights
    if weights is None:
        raise EvidenceError(
            "head", f"{type(head).__name__}, which is not linear", "a linear head",
            "Fit it with fit_linear, or take lime_cbm, shap_cbm or rise_cbm.",
        )  # fmt: skip
    linear = np.array(weights, np.float64)
    if name == "x_nesyl":
        return lambda values, labels: _check_non_negative(values) * linear[:, labels].T
    return lambda values, labels: values * linear[:, labels].T


def _check_finite(values: Values, what: str) -> Values:
    numbers = np.array(values, np.float64)  # a copy: what was given is left as it is
    if not np.isfinite(numbers).all():
        raise EvidenceError(what, "NaN or infinity", "finite numbers")
    return numbers


def _check_non_negative(values: Values) -> Values:
    if values.min() < 0:
        raise EvidenceError(
            "values", f"values down to {values.min():.3g}", "counts or presences, none below 0",
            "For scores of any sign take linear_head.",
        )  # fmt: skip
    return values
