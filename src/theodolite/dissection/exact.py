"""Find the formula with the highest overlap of all, by branch and bound."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Integer

from theodolite._stats.threads import run_in_threads
from theodolite.dissection.atoms import Atoms
from theodolite.dissection.formula import OPERATORS, Formula
from theodolite.dissection.search import UNITS_WORTH_THREADS, Beam, search, unit_rows
from theodolite.dissection.units import UnitMasks
from theodolite.errors import EvidenceError


@dataclass(frozen=True, eq=False)
class Optimum:
    """Best formulas, and what the beam search had found."""

    formulas: tuple[Formula | None, ...]
    iou: Float[np.ndarray, " units"]
    beam_iou: Float[np.ndarray, " units"]
    counted: Integer[np.ndarray, " units"]
    """Number of concept triples whose pixels had to be counted."""

    @property
    def missed(self) -> int:
        """Number of units for which the beam misses the best formula."""
        return int((self.iou > self.beam_iou + 1e-12).sum())


def optimum(atoms: Atoms, units: UnitMasks, lengths: int = 3, beam: Beam | None = None) -> Optimum:
    """Return the best of all formulas of up to ``lengths`` concepts, for each unit.

    The formulas are those that a beam search could ever reach: chains of OR, AND and AND NOT. The
    search starts from what ``beam`` finds; the better that is, the less is left to prove.
    """
    if not 1 <= lengths <= 3:
        raise EvidenceError("length", f"{lengths}", "1 to 3", "Longer ones: use the beam search.")
    start = search(atoms, units, replace(beam or Beam(), lengths=lengths, stop=False))
    first = [start.best(u) for u in range(len(units))]
    known = np.array([0.0 if unit_formula is None else unit_formula.iou for unit_formula in first])
    shared, _ = units.with_concepts(atoms)
    tables, sizes = triple_tables(atoms, atoms.pairs, np.arange(len(atoms.concepts))), units.sizes()
    best, counted = np.zeros((len(units), 8), np.int64), np.zeros(len(units), np.int64)

    def prove(unit: int) -> None:
        rows = (*unit_rows(units, unit), atoms.label_start, atoms.label)
        counted[unit] = improve(
            tables, rows, shared[unit], int(sizes[unit]), float(known[unit]), lengths, best[unit]
        )

    run_in_threads(range(len(units)), prove, small=len(units) < UNITS_WORTH_THREADS)
    formulas: list[Formula | None] = []
    iou = known.copy()
    for u, row in enumerate(best):
        if row[0] == 0:
            formulas.append(None if first[u] is None else first[u].formula)  # type: ignore[union-attr]
            continue
        formulas.append(formula_of(row))
        iou[u] = row[2] / (sizes[u] + row[1] - row[2] + 1e-10)
    return Optimum(tuple(formulas), iou, known, counted)


def triple_tables(
    atoms: Atoms, pairs: Integer[np.ndarray, "k k"], names: Integer[np.ndarray, " k"]
) -> tuple[np.ndarray, ...]:
    """Return the tables that ``improve`` needs: pair counts and positions of concepts."""
    start, atom = atoms.by_concept
    return pairs, names, start, atom, atoms.weight, atoms.label_start, atoms.label


def improve(
    tables: tuple[np.ndarray, ...],
    unit: tuple[np.ndarray, ...],
    shared: Integer[np.ndarray, " k"],
    unit_size: int,
    incumbent: float,
    lengths: int,
    best: Integer[np.ndarray, " 8"],
    precision: float = 0.0,
) -> int:
    """Search for a better formula than ``incumbent`` among all of up to ``lengths`` concepts.

    Args:
        tables: From ``triple_tables``.
        unit: Atoms, pixels of each, and the labels of these: starts and numbers, as in ``pairs``.
        shared: Pixels that the unit shares with each concept.
        unit_size: Its pixels.
        incumbent: An overlap that is known already.
        lengths: 1 to 3.
        best: Gets length, pixels, shared pixels, then concept, operator, concept, operator,
            concept; untouched where nothing is better.
        precision: Three concepts count only if they are better than fewer by more than this.

    Returns:
        How many triples had to be counted.
    """
    from theodolite.dissection import _exact_kernels as kernels  # noqa: PLC0415

    state = np.array([incumbent, 0.0, unit_size])
    return int(kernels.best_of_three(tables, unit, shared, state, lengths, precision, best))


def formula_of(row: Integer[np.ndarray, " 8"]) -> Formula:
    """Return the formula that ``improve`` wrote."""
    steps = [(OPERATORS[row[4]], int(row[5])), (OPERATORS[row[6]], int(row[7]))]
    return Formula(int(row[3]), tuple(steps[: row[0] - 1]))
