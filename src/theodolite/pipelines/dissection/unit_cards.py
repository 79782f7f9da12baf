"""Units for the report: their formulas, and the pictures on which they are most active."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from theodolite.datasets.masks.mask_data import MaskData
from theodolite.dissection.atoms import Atoms
from theodolite.dissection.counts import literal_scores
from theodolite.dissection.drawing import masked
from theodolite.dissection.formula import Formula
from theodolite.dissection.quantiles import Maps
from theodolite.dissection.search import FormulaSearch, UnitFormula
from theodolite.dissection.units import UnitMasks
from theodolite.evidence.produced import UnitCard
from theodolite.io.pictures import jpeg_bytes

PICTURES_EACH = 4


@dataclass(frozen=True, eq=False)
class DissectionResult:
    """What cards are made from."""

    data: MaskData
    atoms: Atoms
    units: UnitMasks
    read: Callable[[int, int], Maps]
    limits: Float[np.ndarray, " units"]
    peak: Float[np.ndarray, "pictures units"]
    """The highest value of each unit in each picture."""


def unit_cards(
    about: DissectionResult,
    found: FormulaSearch,
    formulas: Sequence[Formula | None],
    shown: Sequence[tuple[int, str]],
) -> tuple[list[UnitCard], dict[str, bytes]]:
    """A card for each unit to be shown, with why; and the pictures, by file."""
    cards, pictures = [], {}
    for u, why in shown:
        formula = formulas[u]
        if formula is None:
            continue
        drawn = _drawn(about, u)
        pictures.update(drawn)
        literals = literal_scores(about.atoms, about.units, u, formula) if len(formula) > 1 else []
        names = about.atoms.concepts
        cards.append(
            UnitCard(
                unit=f"unit {u}",
                why=why,
                formula=formula.text(names),
                alone=_said(found.best(u, 1), names),
                stopped=_said(found.stopped(u), names),
                literals=tuple(
                    (
                        f"{'' if one.meant else 'NOT '}{names[one.concept]}",
                        one.iou,
                        one.detection_accuracy,
                    )
                    for one in literals
                ),
                files=tuple(drawn),
            )
        )
    return cards, pictures


def _drawn(about: DissectionResult, unit: int) -> dict[str, bytes]:
    rows = np.argsort(-about.peak[:, unit], kind="stable")[:PICTURES_EACH]
    found = {}
    for number, row in enumerate(rows.tolist()):
        activation = about.read(row, row + 1)[0, unit]
        picture = masked(about.data.picture(row), activation, float(about.limits[unit]))
        found[f"pictures/unit-{unit:05d}-{number}.jpg"] = jpeg_bytes(picture, longest=200)
    return found


def _said(one: UnitFormula | None, names: Sequence[str]) -> str:
    if one is None:
        return "nothing"
    return (
        f"{one.formula.text(names)}: overlap {100 * one.iou:.1f} %, "
        f"detected {100 * one.detection_accuracy:.1f} %"
    )
