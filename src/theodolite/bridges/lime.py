"""Convert attributions of LIME to the features of a table to evidence.

Takes what ``LimeTabularExplainer.explain_instance`` gave for each row, by ``as_map()``; lime itself
is not needed. Lost: the neighbourhood and its settings, how well the local model fits (``score``),
and the names of intervals ("worst area > 1030"): features are known by their number, because
intervals of one feature differ from row to row.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite.errors import EvidenceError, printable
from theodolite.evidence.kinds.attribution import AttributionEvidence


def attribution_evidence(
    explanations: Any,
    *,
    n_features: int,
    label: int,
    inputs: Any = None,
    model: Callable[[np.ndarray], Any] | None = None,
    background: Any = None,
    **fields: Any,
) -> AttributionEvidence:
    """Attributions of one output to the features of a table.

    Features that LIME left out (`num_features`) count 0; how many is said in a note of the audit.
    With `discretize_continuous` (the default there) a weight is what its interval adds to the local
    model, and the intercept is the base; without, weights are slopes and no base is read.

    Args:
        explanations: A list with one of each row.
        n_features: How many columns the table has.
        label: The explained class, as in ``as_map()``; 1 for a regression.
        inputs: The explained rows, which LIME does not keep as numbers.
        model: The explained function, from rows to that class's output alone.
        background: Rows from which the values of removed features are drawn.
        fields: Other fields of the evidence: `features`, `samples`, `labels`, `groups`, `scale`.

    Example:
        >>> class Explanation:
        ...     def as_map(self):
        ...         return {1: [(2, 0.3), (0, -0.1)]}
        >>> evidence = attribution_evidence([Explanation()] * 2, n_features=4, label=1)
        >>> evidence.values[0].tolist()
        [-0.1, 0.0, 0.3, 0.0]
        >>> evidence.conversions
        ('LIME left out 2.0 of 4 features of a row on average: they count 0.',)
    """
    if isinstance(explanations, str) or not isinstance(explanations, Sequence) or not explanations:
        raise EvidenceError("explanations", type(explanations).__name__, "a list, one for each row")
    maps = [_weights(explanation, label) for explanation in explanations]
    values = np.zeros((len(maps), n_features))
    for row, weights in enumerate(maps):
        for feature, weight in weights:
            if not 0 <= feature < n_features:
                raise EvidenceError("n_features", f"{n_features}", f"more than {feature}")
            values[row, feature] = weight
    evidence = AttributionEvidence(
        values=values,
        inputs=None if inputs is None else np.array(inputs, np.float64),
        output=_outputs(explanations, label),
        base=_intercepts(explanations, label, values),
        background=None if background is None else np.array(background, np.float64),
        respond=model if background is not None else None,
        **fields,
    )
    left_out = n_features - float(np.mean([len(weights) for weights in maps]))
    if left_out:
        note = (
            f"LIME left out {left_out:.1f} of {n_features} features of a row on average: "
            "they count 0."
        )
        object.__setattr__(evidence, "conversions", (*evidence.conversions, note))
    return evidence


def _weights(explanation: Any, label: int) -> list[tuple[int, float]]:
    if not hasattr(explanation, "as_map"):
        kind = type(explanation).__name__
        raise EvidenceError("explanations", kind, "lime Explanations, which have `as_map`")
    by_label = explanation.as_map()
    if label not in by_label:
        known = ", ".join(str(own) for own in list(by_label)[:8])
        raise EvidenceError("label", printable(repr(label)), f"one that was explained: {known}")
    return [(int(feature), float(weight)) for feature, weight in by_label[label]]


def _outputs(explanations: Sequence[Any], label: int) -> Float[np.ndarray, " samples"] | None:
    """What the model answered for each row, as LIME noted it."""
    if all(getattr(e, "mode", "") == "regression" for e in explanations):
        return np.array([float(e.predicted_value) for e in explanations])
    if all(hasattr(e, "predict_proba") for e in explanations):
        return np.array([float(e.predict_proba[label]) for e in explanations])
    return None


def _intercepts(
    explanations: Sequence[Any], label: int, values: Float[np.ndarray, "samples features"]
) -> Float[np.ndarray, " samples"] | None:
    """Intercepts of the local models, where weights add up to what these answer."""
    if not all(hasattr(e, "intercept") and hasattr(e, "local_pred") for e in explanations):
        return None
    base = np.array([float(e.intercept[label]) for e in explanations])
    local = np.array([float(np.ravel(e.local_pred)[0]) for e in explanations])
    adds_up = len(np.ravel(explanations[0].local_pred)) == 1 and np.allclose(
        base + values.sum(axis=1), local, atol=1e-6 * (1 + float(np.abs(local).max()))
    )
    return base if adds_up else None
