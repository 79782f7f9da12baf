"""Beam search for the formula that a unit detects, as published or without duplicate masks."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Integer

from theodolite._stats.threads import run_in_threads
from theodolite.dissection.atoms import Atoms
from theodolite.dissection.formula import OPERATORS, Formula
from theodolite.dissection.units import UnitMasks
from theodolite.errors import EvidenceError

LONGEST = 24
UNITS_WORTH_THREADS = 4


@dataclass(frozen=True)
class Beam:
    """Settings of the beam search.

    The published settings are ``Beam(size=5, candidates=50, distinct=False)``.
    """

    size: int = 5
    lengths: int = 3
    candidates: int = 0
    """Number of best single concepts that extend formulas; 0 for all."""
    distinct: bool = True
    """Whether to drop formulas with the mask of another in the beam. The published code keeps them,
    so that "A OR A" can crowd out better ones.
    """
    stop: bool = False
    """Whether to stop when a longer formula is detected less often, or equally often with a NOT
    (the published rule).
    """

    def __post_init__(self) -> None:
        if self.size < 1 or not 1 <= self.lengths <= LONGEST or self.candidates < 0:
            raise EvidenceError(
                "beam", f"{self}", f"size of at least 1 and lengths of 1 to {LONGEST}"
            )


@dataclass(frozen=True)
class UnitFormula:
    """A formula for a unit, with its counts."""

    formula: Formula
    unit_pixels: int
    formula_pixels: int
    shared_pixels: int
    images: int
    """Number of images that show the formula."""
    shared_images: int
    """Number of images in which unit and formula share a pixel."""

    @property
    def iou(self) -> float:
        """Intersection over union of the masks."""
        union = self.unit_pixels + self.formula_pixels - self.shared_pixels
        return self.shared_pixels / (union + 1e-10)

    @property
    def detection_accuracy(self) -> float:
        """Fraction of images with the formula in which the unit meets it."""
        return self.shared_images / self.images if self.images else float("nan")


@dataclass(frozen=True, eq=False)
class FormulaSearch:
    """Results of the search for every unit and length."""

    beam: Beam
    unit_pixels: Integer[np.ndarray, " units"]
    by_overlap: Integer[np.ndarray, "units lengths fields"]
    by_detection: Integer[np.ndarray, "units lengths fields"]
    searched: Integer[np.ndarray, " units"]

    def best(self, unit: int, length: int | None = None) -> UnitFormula | None:
        """Return the formula with the highest overlap up to this length, or None."""
        return self._at(self.by_overlap, unit, self.beam.lengths if length is None else length)

    def _at(self, rows: np.ndarray, unit: int, length: int) -> UnitFormula | None:
        searched = int(self.searched[unit])
        if not searched:
            return None
        return self._explained(rows[unit, min(length, searched) - 1], int(self.unit_pixels[unit]))

    def _explained(self, row: np.ndarray, unit_pixels: int) -> UnitFormula:
        length, size, hit, n_images, n_met = (int(n) for n in row[:5])
        operators, concepts = row[5:].reshape(2, -1)[:, :length]
        steps = tuple(
            (OPERATORS[int(op)], int(c)) for op, c in zip(operators[1:], concepts[1:], strict=True)
        )
        return UnitFormula(
            Formula(int(concepts[0]), steps), unit_pixels, size, hit, n_images, n_met
        )

    def stopped(self, unit: int, tolerance: float = 0.0) -> UnitFormula | None:
        """Return the formula of the published stopping rule: extend while detection improves.

        Equally often (to four digits) is enough if nothing in it is negated. With a tolerance,
        which the paper leaves to later work, a formula may be detected less often than the one
        before by as much. The published code
        never ends where its best formula stops changing; here a beam that stops changing ends it,
        and so does the longest length.
        """
        best = self.best(unit, 1)
        if best is None:
            return None
        for length in range(2, int(self.searched[unit]) + 1):
            longer = self.best(unit, length)
            assert longer is not None  # noqa: S101  it was searched
            now, before = (round(e.detection_accuracy, 4) for e in (longer, best))
            little_less = tolerance > 0 and round(before - now, 4) <= tolerance
            as_often = now == before and not longer.formula.negated
            if not (now > before or as_often or little_less):
                break
            best = longer
        return best

    def selected(self, unit: int) -> UnitFormula | None:
        """Return the formula that is selected by detection at each step."""
        best = self._at(self.by_detection, unit, 1)
        if best is None:
            return None
        for length in range(2, int(self.searched[unit]) + 1):
            longer = self._at(self.by_detection, unit, length)
            assert longer is not None  # noqa: S101
            if longer.detection_accuracy <= best.detection_accuracy:
                break
            best = longer
        return best


def kernel_tables(atoms: Atoms) -> tuple[Any, ...]:
    """Return the tables that the kernels share over all units."""
    start, atom = atoms.by_concept
    return (
        atoms.pairs, start, atom, atoms.weight, atoms.label_start, atoms.label, atoms.image,
    )  # fmt: skip


def unit_rows(units: UnitMasks, unit: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the atoms that a unit marks, and the pixels of each."""
    rows = slice(units.start[unit], units.start[unit + 1])
    return units.atom[rows], units.count[rows]


def search(atoms: Atoms, units: UnitMasks, beam: Beam | None = None) -> FormulaSearch:
    """Search for every unit, threaded over units."""
    from theodolite.dissection import _beam_kernels as kernels  # noqa: PLC0415

    beam = beam or Beam()
    tables, sizes = kernel_tables(atoms), units.sizes()
    shared, _ = units.with_concepts(atoms)
    concept_sizes = atoms.pairs.diagonal()
    by_overlap = np.zeros((len(units), beam.lengths, kernels.FIELDS + 2 * beam.lengths), np.int64)
    by_detection, searched = np.zeros_like(by_overlap), np.zeros(len(units), np.int64)

    def search_unit(unit: int) -> None:
        overlap = kernels.overlap.py_func(shared[unit], concept_sizes, sizes[unit])
        order = np.argsort(-overlap, kind="stable")
        leaves = order[: np.count_nonzero(overlap > 0)]
        candidates = leaves[: beam.candidates] if beam.candidates else np.arange(len(overlap))
        searched[unit] = kernels.search_unit(
            tables, unit_rows(units, unit), shared[unit], leaves, candidates, beam.size,
            beam.lengths, beam.distinct, beam.stop, by_overlap[unit], by_detection[unit],
        )  # fmt: skip

    run_in_threads(range(len(units)), search_unit, small=len(units) < UNITS_WORTH_THREADS)
    return FormulaSearch(beam, sizes, by_overlap, by_detection, searched)
