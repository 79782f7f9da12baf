"""Convert attributions of shap to the features of a table to evidence.

Takes a ``shap.Explanation``: what an explainer gives when it is called. Any object with ``values``
and ``data`` will do, so shap itself is not needed. Lost: the explainer and its settings, the
background (give it, if rows are to be removed), interaction values, the outputs that were not
chosen, `clustering`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite.bridges._tensors import numbers
from theodolite.errors import EvidenceError, printable
from theodolite.evidence.axes import Features
from theodolite.evidence.kinds.attribution import AttributionEvidence

LARGEST_GAP = 0.05
"""Of the spread of the output, what base and attributions may miss before it is refused."""


def attribution_evidence(
    explanation: Any,
    *,
    output: int | str | None = None,
    model: Callable[[np.ndarray], Any] | None = None,
    background: Any = None,
    **fields: Any,
) -> AttributionEvidence:
    """Attributions of one output to the features of a table.

    With a model, base and attributions must add up to what it answers, or they are refused: they
    are of another model, or of log-odds where it answers with probabilities. With a model and a
    background its answers without features are asked for too, as *faithful* needs.

    Args:
        explanation: A ``shap.Explanation`` of rows of a table.
        output: Which output, by number or by name; needed where there are several.
        model: The explained function, from rows to that output, or to all outputs.
        background: Rows from which the values of removed features are drawn.
        fields: Other fields of the evidence: `samples`, `labels`, `groups`, `scale`.

    Example:
        >>> from types import SimpleNamespace
        >>> rows = np.array([[1.0, 5.0], [3.0, 2.0]])
        >>> explanation = SimpleNamespace(
        ...     values=rows * [1, 0], base_values=0.5, data=rows, feature_names=["a", "b"])
        >>> attribution_evidence(explanation, model=lambda rows: 0.5 + rows[:, 0])
        <AttributionEvidence: 2 samples, 2 features; values, inputs, output, base>
    """
    values, place = _values_of_output(explanation, output)
    rows = _rows(getattr(explanation, "data", None), values.shape)
    base = _base(getattr(explanation, "base_values", None), len(values), place)
    answers = None
    if model is not None:
        respond = _respond(model, output, place)
        if rows is None:
            raise EvidenceError("explanation", "no `data`", "the explained rows, with a model")
        answers = respond(rows)
        _check_sum(values, base, answers)
    others = None if background is None else _table(background, "background")
    return AttributionEvidence(
        values=values,
        inputs=rows,
        output=answers,
        base=base,
        background=others,
        respond=None if model is None or others is None else respond,
        **{"features": Features(_names(explanation, values.shape[1])), **fields},
    )


def _values_of_output(
    explanation: Any, output: int | str | None
) -> tuple[Float[np.ndarray, "samples features"], int | None]:
    """Attributions of one output, and its number where there are several."""
    raw = getattr(explanation, "values", None)
    if raw is None:
        kind = type(explanation).__name__
        raise EvidenceError("explanation", kind, "a shap.Explanation: explainer(rows)")
    _refuse_others_than_tables(raw, getattr(explanation, "data", None))
    values = np.asarray(numbers(raw, "values"), np.float64)
    if values.ndim == 2:
        return values, None
    if values.ndim != 3:
        raise EvidenceError("values", f"shape {values.shape}", "(samples, features) of one output")
    names = [str(name) for name in _listed(getattr(explanation, "output_names", None))]
    place = _place(output, names, values.shape[2])
    return values[:, :, place], place


def _place(output: int | str | None, names: Sequence[str], n: int) -> int:
    """The number of an output."""
    known = f"a number from 0 to {n - 1}" + (f" or one of {names[:5]}" if names else "")
    if isinstance(output, str) and output in names:
        return names.index(output)
    if isinstance(output, int) and 0 <= output < n:
        return output
    got = f"none, and attributions of {n} outputs" if output is None else printable(repr(output))
    raise EvidenceError("output", got, known)


def _refuse_others_than_tables(values: Any, data: Any) -> None:
    """Text and images are not rows of a table."""
    if getattr(getattr(values, "dtype", None), "kind", "") == "O" or _are_texts(data):
        raise EvidenceError(
            "explanation", "attributions to masked text", "rows of a table",
            "What there is for text: docs/tokens.md.",
        )  # fmt: skip
    if np.ndim(values) > 3 or np.ndim(data) > 2:
        raise EvidenceError(
            "explanation", f"attributions to images, shape {np.shape(values)}", "rows of a table",
            "For maps of images: theodolite.SaliencyEvidence, docs/saliency.md.",
        )  # fmt: skip


def _are_texts(data: Any) -> bool:
    """shap keeps texts as a list of words for each."""
    in_a_row = isinstance(data, list | tuple) or (isinstance(data, np.ndarray) and data.ndim == 1)
    return in_a_row and len(data) > 0 and np.asarray(data[0]).dtype.kind in "UO"


def _rows(data: Any, shape: tuple[int, ...]) -> Float[np.ndarray, "samples features"] | None:
    if data is None:
        return None
    rows = _table(data, "data")
    if rows.shape != shape:
        raise EvidenceError("data", f"shape {rows.shape}", f"{shape}, as the values")
    return rows


def _table(rows: Any, name: str) -> Float[np.ndarray, "rows features"]:
    """Rows of numbers, from an array or a frame."""
    try:
        return np.array(rows, np.float64, ndmin=2)
    except (TypeError, ValueError) as error:
        raise EvidenceError(
            name, "columns that are no numbers", "numbers; categories as codes 0, 1, 2, …",
            "Let the model take codes, and name them with Features(categories=...).",
        ) from error  # fmt: skip


def _base(base: Any, n: int, place: int | None) -> Float[np.ndarray, " samples"] | None:
    """What each row's attributions start from: one for all, of each row, or of each output."""
    if base is None:
        return None
    values = np.asarray(numbers(base, "base_values"), np.float64)
    if values.ndim == 2 and (place is not None or values.shape[1] == 1):
        values = values[:, place or 0]
    elif values.ndim == 1 and place is not None and len(values) != n:
        values = values[place]
    if values.ndim > 1 or values.size not in (1, n):
        raise EvidenceError("base_values", f"shape {values.shape}", f"one number, or {n}")
    return np.array(np.broadcast_to(values.ravel(), (n,)))


def _respond(
    model: Callable[[np.ndarray], Any], output: int | str | None, place: int | None
) -> Callable[[np.ndarray], Float[np.ndarray, " rows"]]:
    """The explained output of the model."""

    def respond(rows: np.ndarray) -> Float[np.ndarray, " rows"]:
        answers = np.asarray(numbers(model(rows), "what the model answers"), np.float64)
        if answers.ndim == 2 and answers.shape[1] == 1:
            answers = answers[:, 0]
        if answers.ndim == 2:
            at = place if place is not None else _place(output, (), answers.shape[1])
            answers = answers[:, at]
        if answers.shape != (len(rows),):
            raise EvidenceError(
                "model", f"answers of shape {answers.shape}", f"a number for each of {len(rows)}"
            )
        return answers

    return respond


def _check_sum(
    values: Float[np.ndarray, "samples features"],
    base: Float[np.ndarray, " samples"] | None,
    answers: Float[np.ndarray, " samples"],
) -> None:
    """Refuse attributions that do not add up to what the model answers."""
    if base is None:
        return
    gap = float(np.abs(base + values.sum(axis=1) - answers).mean())
    spread = float(answers.std())
    if gap <= LARGEST_GAP * spread or gap < 1e-9:
        return
    share = f", {100 * gap / spread:.0f} % of its spread" if spread > 0 else ""
    raise EvidenceError(
        "explanation", f"base and attributions that miss the model's output by {gap:.3g} on average"
        f"{share}", "attributions that add up to it",
        "Are they of log-odds, and the output a probability? Then explain the probability "
        '(shap.TreeExplainer(..., model_output="probability")), or let the model give log-odds.',
    )  # fmt: skip


def _names(explanation: Any, n: int) -> tuple[str, ...]:
    names = tuple(str(name) for name in _listed(getattr(explanation, "feature_names", None)))
    return names if len(names) == n else ()


def _listed(names: Any) -> list[Any]:
    return [] if names is None or isinstance(names, str) else list(names)
