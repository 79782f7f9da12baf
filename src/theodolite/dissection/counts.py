"""Count the pixels of units and their formulas, image by image, for the scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Bool, Integer

from theodolite.dissection.atoms import Atoms
from theodolite.dissection.formula import Formula
from theodolite.dissection.units import UnitMasks


@dataclass(frozen=True, eq=False)
class Counts:
    """Pixels of the unit, of the formula and of both, for each image and unit."""

    unit: Integer[np.ndarray, "images units"]
    formula: Integer[np.ndarray, "images units"]
    shared: Integer[np.ndarray, "images units"]


class Members:
    """Atoms in which formulas and their concepts hold."""

    def __init__(self, atoms: Atoms) -> None:
        self.atoms = atoms
        self._of = lru_cache(maxsize=256)(self._carriers)

    def _carriers(self, concept: int) -> Bool[np.ndarray, " atoms"]:
        start, atom = self.atoms.by_concept
        carriers = np.zeros(len(self.atoms.weight), bool)
        carriers[atom[start[concept] : start[concept + 1]]] = True
        return carriers

    def __call__(self, formula: Formula) -> Bool[np.ndarray, " atoms"]:
        return formula.holds(self._of)

    def literal(self, concept: int, *, meant: bool) -> Bool[np.ndarray, " atoms"]:
        """Return where one concept is, or is not."""
        return self._of(concept) if meant else ~self._of(concept)


def count(atoms: Atoms, units: UnitMasks, formulas: Sequence[Formula | None]) -> Counts:
    """Count each unit with its own formula; a unit without one has an empty formula."""
    holds = Members(atoms)
    shape = (len(atoms), len(units))
    counts = Counts(*(np.zeros(shape, np.int32) for _ in range(3)))
    for u, formula in enumerate(formulas):
        where = np.zeros(len(atoms.weight), bool) if formula is None else holds(formula)
        counts.unit[:, u], counts.formula[:, u], counts.shared[:, u] = per_image(
            atoms, units, u, where
        )
    return counts


def per_image(
    atoms: Atoms, units: UnitMasks, unit: int, where: Bool[np.ndarray, " atoms"]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pixels of a unit, of a mask and of both, image by image."""
    rows = slice(units.start[unit], units.start[unit + 1])
    atom, active = units.atom[rows], units.count[rows]
    image, n = atoms.image[atom], len(atoms)
    inside = where[atom]
    return (
        np.bincount(image, active, n).astype(np.int32),
        np.add.reduceat(np.where(where, atoms.weight, 0), atoms.start[:-1]).astype(np.int32),
        np.bincount(image[inside], active[inside], n).astype(np.int32),
    )


@dataclass(frozen=True)
class LiteralScores:
    """One concept of a formula on its own; where it is negated, where it is not."""

    concept: int
    meant: bool
    iou: float
    detection_accuracy: float
    pixel_recall: float


def literal_scores(
    atoms: Atoms, units: UnitMasks, unit: int, formula: Formula
) -> list[LiteralScores]:
    """Score each literal of a unit's formula as a formula of its own."""
    holds = Members(atoms)
    scores = []
    for concept, meant in formula.literals():
        own, mask, both = per_image(atoms, units, unit, holds.literal(concept, meant=meant))
        shared, area = int(both.sum()), int(mask.sum())
        n_images = int((mask > 0).sum())
        scores.append(
            LiteralScores(
                concept,
                meant,
                shared / max(int(own.sum()) + area - shared, 1),
                int((both > 0).sum()) / n_images if n_images else float("nan"),
                shared / area if area else float("nan"),
            )
        )
    return scores


def annotated_images(
    atoms: Atoms, formulas: Sequence[Formula | None]
) -> Bool[np.ndarray, "p units"]:
    """Return whether each image has any concept of a formula's categories."""
    names = sorted(set(atoms.categories))
    has = np.zeros((len(atoms), len(names)), bool)
    owner = np.repeat(atoms.image, np.diff(atoms.label_start))
    has[owner, np.array([names.index(c) for c in atoms.categories])[atoms.label]] = True
    by_formula = np.zeros((len(atoms), len(formulas)), bool)
    for u, formula in enumerate(formulas):
        if formula is not None:
            kinds = sorted({names.index(atoms.categories[c]) for c in formula.concepts})
            by_formula[:, u] = has[:, kinds].any(axis=1)
    return by_formula
