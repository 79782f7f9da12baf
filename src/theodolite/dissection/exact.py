"""The formula with the highest overlap of all: found by bounds, proved by leaving nothing out."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Integer

from theodolite.dissection.atoms import Atoms
from theodolite.dissection.formula import OPERATORS, Formula
from theodolite.dissection.search import (
    UNITS_WORTH_THREADS,
    Beam,
    kernel_tables,
    search,
    unit_rows,
)
from theodolite.dissection.units import UnitMasks
from theodolite.errors import EvidenceError
from theodolite.threads import for_each


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best formulas, and what the beam had found."""

    formulas: tuple[Formula | None, ...]
    iou: Float[np.ndarray, " units"]
    beam_iou: Float[np.ndarray, " units"]
    counted: Integer[np.ndarray, " units"]
    """Triples of concepts whose pixels had to be counted."""

    @property
    def missed(self) -> int:
        """Units for which the beam does not find the best formula."""
        return int((self.iou > self.beam_iou + 1e-12).sum())


def optimum(atoms: Atoms, units: UnitMasks, lengths: int = 3, beam: Beam | None = None) -> Optimum:
    """The best of all formulas of up to ``lengths`` concepts, for each unit.

    The formulas are those that a beam search could ever reach: chains of OR, AND and AND NOT. The
    search starts from what ``beam`` finds; the better that is, the less is left to prove.
    """
    from theodolite.dissection import _exact_kernels as kernels  # noqa: PLC0415

    if not 1 <= lengths <= 3:
        raise EvidenceError("length", f"{lengths}", "1 to 3", "Longer ones: use the beam search.")
    start = search(atoms, units, replace(beam or Beam(), lengths=lengths, stop=False))
    first = [start.best(u) for u in range(len(units))]
    known = np.array([0.0 if unit_formula is None else unit_formula.iou for unit_formula in first])
    shared, _ = units.with_concepts(atoms)
    tables, sizes = kernel_tables(atoms), units.sizes()
    best, counted = np.zeros((len(units), 8), np.int64), np.zeros(len(units), np.int64)

    def improve(unit: int) -> None:
        counted[unit] = kernels.best_of_three(
            tables, unit_rows(units, unit), shared[unit], sizes[unit], known[unit], lengths,
            best[unit],
        )  # fmt: skip

    for_each(range(len(units)), improve, small=len(units) < UNITS_WORTH_THREADS)
    formulas: list[Formula | None] = []
    iou = known.copy()
    for u, row in enumerate(best):
        if row[0] == 0:
            formulas.append(None if first[u] is None else first[u].formula)  # type: ignore[union-attr]
            continue
        steps = [(OPERATORS[row[4]], int(row[5])), (OPERATORS[row[6]], int(row[7]))]
        formulas.append(Formula(int(row[3]), tuple(steps[: row[0] - 1])))
        iou[u] = row[2] / (sizes[u] + row[1] - row[2] + 1e-10)
    return Optimum(tuple(formulas), iou, known, counted)
