"""Ask a model about rows of a table: estimators of scikit-learn and the like, or functions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from theodolite.errors import EvidenceError, printable
from theodolite.evidence.attributions.tables import TableCodec

METHODS = ("predict_proba", "decision_function", "predict")
"""What an estimator is asked by, in this order."""
MAX_GAP = 0.01
"""Of the spread of the output: base and attributions that miss it by less are on its scale."""
LEAST_ODDS = 1e-12
Outputs = Float[np.ndarray, "rows *outputs"]


@dataclass(frozen=True, eq=False)
class TableModel:
    """A model, and how it is asked about rows of numbers."""

    codec: TableCodec
    function: Callable[[Any], Any]
    method: str
    """Name of the method; empty for a function."""

    @classmethod
    def of(cls, model: Any, codec: TableCodec) -> "TableModel":
        """Find the method to ask."""
        for method in METHODS:
            function = getattr(model, method, None)
            if callable(function):
                return cls(codec, function, method)
        if not callable(model):
            raise EvidenceError(
                "model", type(model).__name__, f"an object with {', '.join(METHODS)}, or a function"
            )
        return cls(codec, model, "")

    def ask(self, rows: Float[np.ndarray, "rows features"]) -> Outputs:
        """Return what the model answers: a number for each row, or one for each output."""
        answers = self.function(self.codec.decode(rows))
        answers = answers.detach().cpu() if hasattr(answers, "detach") else answers
        values = np.asarray(answers)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.dtype.kind not in "fiub" or values.ndim not in (1, 2) or len(values) != len(rows):
            raise EvidenceError(
                "model", f"{values.dtype} answers of shape {values.shape} to {len(rows)} rows",
                "one number for each row, or one for each row and output",
            )  # fmt: skip
        if not np.isfinite(values.astype(np.float64)).all():
            raise EvidenceError("model", "NaN or infinite answers", "finite numbers")
        return values.astype(np.float64)


def choose_output(
    outputs: Outputs, output: Any, names: tuple[Any, ...]
) -> Int[np.ndarray, " rows"] | None:
    """Return the explained output of each row; None if there is only one.

    Args:
        outputs: What the model answers to the explained rows.
        output: A number or name of an output; the predicted one of each row if None.
        names: Names of the outputs, where they are known.
    """
    if outputs.ndim == 1:
        return None
    n = outputs.shape[1]
    if output is None:
        return np.full(len(outputs), 1) if n == 2 else outputs.argmax(axis=1)
    known = [str(name) for name in names]
    if isinstance(output, str) and output in known:
        return np.full(len(outputs), known.index(output))
    if isinstance(output, int | np.integer) and 0 <= output < n:
        return np.full(len(outputs), int(output))
    some = f" or one of {known[:5]}" if known else ""
    raise EvidenceError("output", printable(repr(output)), f"a number from 0 to {n - 1}{some}")


def select_output(
    outputs: Outputs, explained: Int[np.ndarray, " rows"] | None
) -> Float[np.ndarray, " rows"]:
    """Return the explained output of each row."""
    if outputs.ndim == 1 or explained is None:
        return outputs if outputs.ndim == 1 else outputs[:, -1]
    return np.asarray(outputs[np.arange(len(outputs)), explained])


def to_log_odds(probability: Float[np.ndarray, " rows"]) -> Float[np.ndarray, " rows"]:
    """Return log-odds of probabilities, which may be 0 or 1.

    >>> to_log_odds(np.array([0.5, 1.0])).round(1).tolist()
    [0.0, 27.6]
    """
    clipped = np.clip(probability, LEAST_ODDS, 1 - LEAST_ODDS)
    return np.asarray(np.log(clipped) - np.log1p(-clipped))


def are_probabilities(outputs: Outputs) -> bool:
    """Return whether outputs are probabilities: between 0 and 1, adding up to 1 if several."""
    inside = bool(outputs.min(initial=0.0) >= 0 and outputs.max(initial=0.0) <= 1)
    return inside and (outputs.ndim == 1 or bool(np.allclose(outputs.sum(axis=1), 1, atol=1e-3)))


def measure_gap(total: Float[np.ndarray, " rows"], output: Float[np.ndarray, " rows"]) -> float:
    """Return what base and attributions miss of the output, as a share of its spread."""
    spread = float(output.std())
    gap = float(np.abs(total - output).mean())
    return gap / spread if spread > 0 else (0.0 if gap < 1e-12 else float("inf"))
