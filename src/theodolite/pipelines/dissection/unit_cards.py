"""Report cards of units: their formulas, and the images on which they are most active."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float

from theodolite._storage.images import encode_jpeg
from theodolite.datasets.masks.mask_data import MaskData
from theodolite.dissection.atoms import Atoms
from theodolite.dissection.counts import literal_scores
from theodolite.dissection.drawing import draw_mask
from theodolite.dissection.formula import Formula
from theodolite.dissection.quantiles import Maps
from theodolite.dissection.search import FormulaSearch, UnitFormula
from theodolite.dissection.units import UnitMasks
from theodolite.evidence.pipeline_output import UnitCard

IMAGES_EACH = 4


@dataclass(frozen=True, eq=False)
class DissectionResult:
    """Arrays that the cards are made from."""

    data: MaskData
    atoms: Atoms
    units: UnitMasks
    read: Callable[[int, int], Maps]
    limits: Float[np.ndarray, " units"]
    peak: Float[np.ndarray, "images units"]
    """Maximum of each unit in each image."""


def make_unit_cards(
    dissection: DissectionResult,
    formula_search: FormulaSearch,
    formulas: Sequence[Formula | None],
    selection: Sequence[tuple[int, str]],
) -> tuple[list[UnitCard], dict[str, bytes]]:
    """Return a card for each selected unit, and the images by file name."""
    cards, images = [], {}
    for u, why in selection:
        formula = formulas[u]
        if formula is None:
            continue
        drawings = _draw_unit(dissection, u, formula)
        images.update(drawings)
        literals = (
            literal_scores(dissection.atoms, dissection.units, u, formula)
            if len(formula) > 1
            else []
        )
        names = dissection.atoms.concepts
        cards.append(
            UnitCard(
                unit=f"unit {u}",
                why=why,
                formula=formula.text(names),
                alone=_formula_text(formula_search.best(u, 1), names),
                stopped=_formula_text(formula_search.stopped(u), names),
                literals=tuple(
                    (
                        f"{'' if literal.meant else 'NOT '}{names[literal.concept]}",
                        literal.iou,
                        literal.detection_accuracy,
                    )
                    for literal in literals
                ),
                files=tuple(drawings),
            )
        )
    return cards, images


def _draw_unit(dissection: DissectionResult, unit: int, formula: Formula) -> dict[str, bytes]:
    rows = np.argsort(-dissection.peak[:, unit], kind="stable")[:IMAGES_EACH]
    drawings = {}
    for number, row in enumerate(rows.tolist()):
        activation = dissection.read(row, row + 1)[0, unit]
        truth = formula.holds(partial(dissection.atoms.mask, row))
        image = draw_mask(
            dissection.data.image(row), activation, float(dissection.limits[unit]), truth=truth
        )
        drawings[f"images/unit-{unit:05d}-{number}.jpg"] = encode_jpeg(image, longest=200)
    return drawings


def _formula_text(unit_formula: UnitFormula | None, names: Sequence[str]) -> str:
    if unit_formula is None:
        return "nothing"
    return (
        f"{unit_formula.formula.text(names)}: overlap {100 * unit_formula.iou:.1f} %, "
        f"detected {100 * unit_formula.detection_accuracy:.1f} %"
    )
