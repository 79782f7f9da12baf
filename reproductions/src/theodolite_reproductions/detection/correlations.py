"""How the scores of units go with accuracy, for several ways to choose formulas (Tables 2 to 4)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from theodolite.dissection.atoms import Atoms
from theodolite.dissection.counts import count
from theodolite.dissection.formula import Formula
from theodolite.dissection.units import UnitMasks

Table = Mapping[str, Sequence[Any]]
SETS = {"accuracy_either": "either", "accuracy_both": "both"}
SCORES = {"iou": "overlap", "detection_accuracy": "detection accuracy"}


def formula_scores(
    atoms: Atoms,
    units: UnitMasks,
    variants: Mapping[str, Sequence[Formula | None]],
    fires: Bool[np.ndarray, "images units"],
    right: Bool[np.ndarray, " images"],
    among: Bool[np.ndarray, " images"] | None = None,
) -> Table:
    """Of every unit under every way to choose its formula: scores, and accuracy on its images.

    Images of either: the unit fires or the formula is there. Of both: they share a pixel, or each
    is somewhere (``accuracy_present``). What is undefined is None. Accuracy is that on images
    ``among``, where this is given.
    """
    some = np.ones((len(right), 1), bool) if among is None else among[:, None]
    table: dict[str, list[Any]] = {}
    for name, formulas in variants.items():
        counts = count(atoms, units, formulas)
        there, shared = counts.formula > 0, counts.shared > 0
        pixels = counts.unit.sum(axis=0) + counts.formula.sum(axis=0) - counts.shared.sum(axis=0)
        columns = {
            "unit": [f"unit {u}" for u in range(len(formulas))],
            "formulas": [name] * len(formulas),
            "length": [0 if formula is None else len(formula) for formula in formulas],
            "images": there.sum(axis=0).tolist(),
            "iou": _shares(counts.shared.sum(axis=0), pixels),
            "detection_accuracy": _shares(shared.sum(axis=0), there.sum(axis=0)),
            "accuracy_either": _accuracy(some & (fires | there), right),
            "accuracy_both": _accuracy(some & shared, right),
            "accuracy_present": _accuracy(some & fires & there, right),
        }
        for column, values in columns.items():
            table.setdefault(column, []).extend(values)
    return table


def correlations(scores: Table) -> Table:
    """Pearson's correlation over units, on the images of either and on those of both."""
    table: dict[str, list[Any]] = {"formulas": [], "score": [], "correlation": []}
    names = np.array(scores["formulas"])
    for name in dict.fromkeys(scores["formulas"]):
        for accuracy, where in SETS.items():
            for score, label in SCORES.items():
                x, y = (np.array(scores[c], float)[names == name] for c in (score, accuracy))
                table["formulas"].append(name)
                table["score"].append(f"{label}, images of {where}")
                table["correlation"].append(_pearson(x, y))
    return table


def _accuracy(
    chosen: Bool[np.ndarray, "images units"], right: Bool[np.ndarray, " images"]
) -> list[float | None]:
    return _shares((chosen & right[:, None]).sum(axis=0), chosen.sum(axis=0))


def _shares(parts: np.ndarray, wholes: np.ndarray) -> list[float | None]:
    return [float(a) / float(b) if b else None for a, b in zip(parts, wholes, strict=True)]


def _pearson(x: Float[np.ndarray, " units"], y: Float[np.ndarray, " units"]) -> float | None:
    defined = ~(np.isnan(x) | np.isnan(y))
    x, y = x[defined], y[defined]
    if len(x) < 3 or np.ptp(x) < 1e-12 or np.ptp(y) < 1e-12:
        return None
    return float(np.corrcoef(x, y)[0, 1])
