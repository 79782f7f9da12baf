"""Find which output attributions explain, and its scale: probability, log-odds or raw."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from theodolite.errors import EvidenceError
from theodolite.evidence.attributions.explanations import Attributions
from theodolite.evidence.attributions.models import (
    MAX_GAP,
    TableModel,
    are_probabilities,
    measure_gap,
    select_output,
    to_log_odds,
)


@dataclass(frozen=True, eq=False)
class ExplainedOutput:
    """The explained output of each row on the scale of the attributions."""

    values: Float[np.ndarray, "rows features"]
    base: Float[np.ndarray, " rows"] | None
    output: Float[np.ndarray, " rows"]
    scale: str
    model: TableModel
    outputs: Int[np.ndarray, " rows"] | None
    """Number of the explained output of each row; None if there is only one."""
    sign: float
    is_list: bool
    label: str = ""
    notes: tuple[str, ...] = ()

    def read(self, answers: np.ndarray, samples: Int[np.ndarray, " n"]) -> np.ndarray:
        """Return the explained output from answers about rows of these samples."""
        outputs = None if self.outputs is None else self.outputs[samples]
        return on_scale(select_output(answers, outputs), self.scale) * self.sign


def on_scale(output: Float[np.ndarray, " n"], scale: str) -> Float[np.ndarray, " n"]:
    """Return an output on a scale."""
    return to_log_odds(output) if scale == "log-odds" else output


@dataclass(frozen=True, eq=False)
class _Candidate:
    scale: str
    model: TableModel
    output: Float[np.ndarray, " rows"]
    sign: float = 1.0


def find_scale(
    passed: Attributions,
    explained: Int[np.ndarray, " rows"] | None,
    outputs: np.ndarray,
    model: TableModel,
    decision: TableModel | None,
    rows: Float[np.ndarray, "rows features"],
) -> ExplainedOutput:
    """Return the scale on which base and attributions add up to the output.

    The first of probability, log-odds and raw output that they miss by at most 1 % of its spread;
    the first of these where none fits, or without base values.
    """
    values = _values_of(passed, explained, len(rows))
    base = None if passed.is_list else _base_of(passed, explained, len(rows))
    first: _Candidate | None = None
    gaps = []
    for candidate in _candidates(explained, outputs, model, decision, rows):
        first = first or candidate
        if base is None:
            break
        gaps.append((candidate, measure_gap(base + values.sum(axis=1), candidate.output)))
        if gaps[-1][1] <= MAX_GAP:
            break
    assert first is not None  # noqa: S101  there is always one
    chosen, notes = first, []
    if gaps and gaps[-1][1] <= MAX_GAP:
        chosen = gaps[-1][0]
        notes.append(f"The attributions add up to the {chosen.scale} output.")
    elif gaps:
        missed = f"{100 * gaps[0][1]:.0f} % of its spread"
        notes.append(f"Base and attributions miss the {first.scale} output by {missed}.")
        if decision is None and model.method == "predict_proba" and outputs.shape[-1] > 2:
            base = None
            notes.append("Raw outputs of several classes are not known: this is no sign against.")
    elif not passed.is_list:
        notes.append("No base values: it is not known whether the attributions add up.")
    return ExplainedOutput(
        values, base, chosen.output, chosen.scale, chosen.model, explained, chosen.sign,
        passed.is_list, notes=tuple(notes),
    )  # fmt: skip


def _candidates(
    explained: Int[np.ndarray, " rows"] | None,
    outputs: np.ndarray,
    model: TableModel,
    decision: TableModel | None,
    rows: Float[np.ndarray, "rows features"],
) -> Iterator[_Candidate]:
    output = select_output(outputs, explained)
    if not are_probabilities(outputs):
        yield _Candidate("raw", model, output)
        return
    yield _Candidate("probability", model, output)
    yield _Candidate("log-odds", model, to_log_odds(output))
    if decision is None:
        return
    raw = decision.ask(rows)  # asked only where nothing else fits
    sign = 1.0
    if raw.ndim == 1 and explained is not None:
        sign = 1.0 if bool((explained == 1).all()) else -1.0
    yield _Candidate("raw", decision, select_output(raw, explained) * sign, sign)


def _values_of(
    passed: Attributions, explained: Int[np.ndarray, " rows"] | None, n: int
) -> Float[np.ndarray, "rows features"]:
    values = passed.values
    if passed.is_list:
        return np.tile(values, (n, 1))
    if values.ndim == 2:
        return values
    if explained is None or int(explained.max(initial=0)) >= values.shape[2]:
        raise EvidenceError(
            "attributions", f"of {values.shape[2]} outputs", "of the rows that the model answers",
            "Or pass those of one output: attributions[:, :, 1].",
        )  # fmt: skip
    return np.asarray(values[np.arange(n), :, explained])


def _base_of(
    passed: Attributions, explained: Int[np.ndarray, " rows"] | None, n: int
) -> Float[np.ndarray, " rows"] | None:
    """Return what the attributions of each row start from: one for all, by row, or by output."""
    base: Any = passed.base
    if base is None:
        return None
    if base.ndim == 2:
        place = 0 if base.shape[1] == 1 or explained is None else explained
        return np.asarray(base[np.arange(n), place])
    if base.ndim == 1 and passed.values.ndim == 3 and explained is not None:
        return np.asarray(base[explained])
    if base.size not in (1, n):
        raise EvidenceError("base_values", f"shape {base.shape}", f"one number, or {n}")
    return np.array(np.broadcast_to(base.ravel(), (n,)))
