"""Read attributions as other libraries give them: arrays, frames, shap and LIME explanations.

Types are recognized by what they have, so that neither shap nor lime is imported.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from theodolite.errors import EvidenceError, printable
from theodolite.evidence.foreign_arrays import to_labeled_array


@dataclass(frozen=True, eq=False)
class Attributions:
    """Attributions as they were given, and what came with them."""

    values: np.ndarray
    """One list, rows of one output, or rows of several outputs."""
    base: np.ndarray | None = None
    rows: Any = None
    """The explained rows, where the explanation keeps them."""
    names: tuple[str, ...] = ()
    output_names: tuple[str, ...] = ()
    label: str = "attributions"
    explained: Int[np.ndarray, " samples"] | None = None
    """The explained output of each row, where the explanation names it."""
    notes: tuple[str, ...] = ()

    @property
    def is_list(self) -> bool:
        """Whether there is one list for all rows."""
        return self.values.ndim == 1


def read_attributions(passed: Any, n_features: int | None, output: Any) -> Attributions:
    """Read attributions of any supported type.

    Args:
        passed: An array, a frame, a ``shap.Explanation`` or a list of LIME explanations.
        n_features: Number of columns of the explained table, which LIME does not tell.
        output: The explained output, if one was named.
    """
    if hasattr(passed, "as_map"):
        raise EvidenceError("attributions", "one LIME explanation", "a list, one for each row")
    if isinstance(passed, Sequence) and len(passed) and hasattr(passed[0], "as_map"):
        return _read_lime(passed, n_features, output)
    if hasattr(passed, "values") and hasattr(passed, "base_values"):
        return _read_shap(passed)
    labeled = to_labeled_array(passed, "attributions")
    names = () if labeled.columns is None else tuple(map(str, labeled.columns))
    return Attributions(_checked(labeled.values), names=names)


def _checked(values: Any) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind not in "fiub" or not 1 <= array.ndim <= 3:
        got = f"{array.dtype} of shape {array.shape}"
        raise EvidenceError(
            "attributions", got, "numbers: (rows, features), with outputs as a third axis if any",
            "A list for all rows is (features,). For maps: theodolite.audit_saliency.",
        )  # fmt: skip
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise EvidenceError("attributions", "NaN or infinite", "finite numbers")
    return array


def _read_shap(passed: Any) -> Attributions:
    data, raw = getattr(passed, "data", None), passed.values
    if np.asarray(raw).dtype.kind == "O" or _are_texts(data):
        raise EvidenceError(
            "attributions", "attributions to masked text", "rows of a table",
            "What there is for text: docs/tokens.md.",
        )  # fmt: skip
    base = passed.base_values
    names, outputs = (_names(getattr(passed, n, None)) for n in ("feature_names", "output_names"))
    values = _checked(raw)
    return Attributions(
        values,
        base=None if base is None else np.asarray(base, np.float64),
        rows=data,
        names=names if len(names) == values.shape[min(values.ndim - 1, 1)] else (),
        output_names=outputs,
        label="SHAP values",
    )


def _are_texts(data: Any) -> bool:
    """shap keeps texts as a list of words for each."""
    in_a_row = isinstance(data, list | tuple) or (isinstance(data, np.ndarray) and data.ndim == 1)
    return in_a_row and len(data) > 0 and np.asarray(data[0]).dtype.kind in "UO"


def _names(names: Any) -> tuple[str, ...]:
    return () if names is None or isinstance(names, str) else tuple(str(name) for name in names)


def _read_lime(passed: Sequence[Any], n_features: int | None, output: Any) -> Attributions:
    if n_features is None:
        raise EvidenceError("X", "none", "the explained rows: LIME does not keep them as numbers")
    maps = [explanation.as_map() for explanation in passed]
    # LIME keeps a regression under 1, and its negative under 0
    labels = [output if output in own else _usual_label(own) for own in maps]
    if output is not None and labels[0] != output:
        known = ", ".join(str(label) for label in list(maps[0])[:8])
        raise EvidenceError("output", printable(repr(output)), f"one that was explained: {known}")
    values = np.zeros((len(passed), n_features))
    left_out = 0
    for row, (own, label) in enumerate(zip(maps, labels, strict=True)):
        left_out += n_features - len(own[label])
        for feature, weight in own[label]:
            if not 0 <= int(feature) < n_features:
                raise EvidenceError("X", f"{n_features} columns", f"more than {feature}")
            values[row, int(feature)] = weight
    notes: tuple[str, ...] = ()
    if left_out:
        mean = left_out / len(passed)
        notes = (
            f"LIME left out {mean:.1f} of {n_features} features of a row on average: they count 0.",
        )
    regression = all(getattr(e, "mode", "") == "regression" for e in passed)
    explained = None if regression else np.array(labels)
    return Attributions(values, label="LIME weights", explained=explained, notes=notes)


def _usual_label(own: Any) -> Any:
    return 1 if 1 in own else next(iter(own))


def contributions_of_slopes(
    values: Float[np.ndarray, "rows features"],
    rows: Float[np.ndarray, "rows features"],
    background: Float[np.ndarray, "background_rows features"],
) -> Float[np.ndarray, "rows features"]:
    """Return slopes of standardized features times the distance of each row from the mean.

    >>> rows, background = np.array([[3.0]]), np.array([[0.0], [2.0]])
    >>> contributions_of_slopes(np.array([[2.0]]), rows, background).tolist()
    [[4.0]]
    """
    spread = background.std(axis=0)
    away = rows - background.mean(axis=0)
    scaled = np.divide(away, spread, out=np.zeros_like(away), where=spread > 0)
    return np.asarray(values * scaled)
