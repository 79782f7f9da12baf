"""How the scores of units go with accuracy, for several ways to choose formulas (Tables 2 to 4)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from theodolite.dissection.atoms import Atoms
from theodolite.dissection.counts import count
from theodolite.dissection.formula import Formula
from theodolite.dissection.units import UnitMasks


def correlations(
    atoms: Atoms,
    units: UnitMasks,
    variants: Mapping[str, Sequence[Formula | None]],
    fires: Bool[np.ndarray, "pictures units"],
    right: Bool[np.ndarray, " pictures"],
) -> Mapping[str, Sequence[Any]]:
    """Pearson's correlation over units, on the pictures of either and on those of both."""
    table: dict[str, list[Any]] = {"formulas": [], "score": [], "correlation": []}
    for name, formulas in variants.items():
        counts = count(atoms, units, formulas)
        there, shared = counts.formula > 0, counts.shared > 0
        with np.errstate(invalid="ignore", divide="ignore"):  # 0 / 0 is undefined, and left out
            either, both = (
                (chosen & right[:, None]).sum(axis=0) / chosen.sum(axis=0)
                for chosen in (fires | there, shared)
            )
            detected = shared.sum(axis=0) / there.sum(axis=0)
            union = counts.unit.sum(axis=0) + counts.formula.sum(axis=0) - counts.shared.sum(axis=0)
            overlap = counts.shared.sum(axis=0) / union
        for where, accuracy in (("either", either), ("both", both)):
            for label, score in (("overlap", overlap), ("detection accuracy", detected)):
                table["formulas"].append(name)
                table["score"].append(f"{label}, pictures of {where}")
                table["correlation"].append(_pearson(score, accuracy))
    return table


def _pearson(x: Float[np.ndarray, " units"], y: Float[np.ndarray, " units"]) -> float | None:
    defined = ~(np.isnan(x) | np.isnan(y))
    x, y = x[defined], y[defined]
    if len(x) < 3 or np.ptp(x) < 1e-12 or np.ptp(y) < 1e-12:
        return None
    return float(np.corrcoef(x, y)[0, 1])
