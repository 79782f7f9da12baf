"""Tables of a dissection: one row per unit, and the summaries of Mu and Andreas (2020)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theodolite.dissection.atoms import Atoms
from theodolite.dissection.exact import Optimum
from theodolite.dissection.formula import Formula
from theodolite.dissection.search import FormulaSearch, UnitFormula
from theodolite.dissection.units import UnitMasks
from theodolite.evidence.kinds.unit import UnitEvidence

Table = Mapping[str, Sequence[Any]]


def build_unit_tables(
    atoms: Atoms,
    units: UnitMasks,
    formula_search: FormulaSearch,
    proved: Optimum,
    formulas: Sequence[Formula | None],
    evidence: UnitEvidence,
) -> dict[str, Table]:
    """Return all tables that go into the run folder."""
    n = len(formula_search.searched)
    by_length = [
        [formula_search.best(u, length) for u in range(n)]
        for length in range(1, formula_search.beam.lengths + 1)
    ]
    stopped = [formula_search.stopped(u) for u in range(n)]
    selected = [formula_search.selected(u) for u in range(n)]
    return {
        "single_concepts": tabulate_single_concepts(atoms, units),
        "units": _units(atoms, proved, formulas, evidence, (by_length, stopped, selected)),
        "lengths": _lengths(by_length),
        "higher": _higher(by_length),
        "chosen_lengths": _chosen_lengths(stopped, selected, formula_search.beam.lengths),
    }


def tabulate_single_concepts(atoms: Atoms, units: UnitMasks, most: int = 10) -> Table:
    """Return the best single concepts of each unit, as in Network Dissection."""
    shared, meet = units.with_concepts(atoms)
    area = np.diagonal(atoms.pairs)
    union = np.maximum(units.sizes()[:, None] + area - shared, 1)
    table: dict[str, list[Any]] = {
        name: []
        for name in ("unit", "concept", "category", "iou", "detection_accuracy", "pixel_recall")
    }
    for u, overlap in enumerate(shared / union):
        for c in np.argsort(-overlap, kind="stable")[:most].tolist():
            if not shared[u, c]:
                break
            table["unit"].append(f"unit {u}")
            table["concept"].append(atoms.concepts[c])
            table["category"].append(atoms.categories[c])
            table["iou"].append(float(overlap[c]))
            table["detection_accuracy"].append(_share(meet[u, c], atoms.images_with[c]))
            table["pixel_recall"].append(_share(shared[u, c], area[c]))
    return table


def tabulate_scored_units(
    concepts: Sequence[str],
    formulas: Sequence[Formula | None],
    evidence: UnitEvidence,
    alone: Sequence[UnitFormula | None],
) -> dict[str, list[Any]]:
    """Return each unit's formula with its scores, and its best single concept."""
    shared, unit, area = (
        part.sum(axis=0)
        for part in (evidence.shared_pixels, evidence.unit_pixels, evidence.formula_pixels)
    )
    met, present = (
        (part > 0).sum(axis=0) for part in (evidence.shared_pixels, evidence.formula_pixels)
    )
    return {
        "unit": list(evidence.units.names),
        "formula": [None if f is None else f.text(concepts) for f in formulas],
        "length": [0 if f is None else len(f) for f in formulas],
        "iou": [_share(a, b) for a, b in zip(shared, unit + area - shared, strict=True)],
        "detection_accuracy": [_share(a, b) for a, b in zip(met, present, strict=True)],
        "pixel_recall": [_share(a, b) for a, b in zip(shared, area, strict=True)],
        "unit_pixels": unit.tolist(),
        "formula_pixels": area.tolist(),
        "shared_pixels": shared.tolist(),
        "alone": [
            None if unit_formula is None else unit_formula.formula.text(concepts)
            for unit_formula in alone
        ],
        "alone_iou": [None if unit_formula is None else unit_formula.iou for unit_formula in alone],
        "alone_detection_accuracy": [
            None if unit_formula is None else unit_formula.detection_accuracy
            for unit_formula in alone
        ],
    }


def _units(
    atoms: Atoms,
    proved: Optimum,
    formulas: Sequence[Formula | None],
    evidence: UnitEvidence,
    searched: tuple[
        list[list[UnitFormula | None]], list[UnitFormula | None], list[UnitFormula | None]
    ],
) -> Table:
    by_length, stopped, selected = searched

    def text(unit_formula: UnitFormula | None) -> str | None:
        return None if unit_formula is None else unit_formula.formula.text(atoms.concepts)

    return tabulate_scored_units(atoms.concepts, formulas, evidence, by_length[0]) | {
        "three": [text(unit_formula) for unit_formula in by_length[2]],
        "three_detection_accuracy": [
            None if unit_formula is None else unit_formula.detection_accuracy
            for unit_formula in by_length[2]
        ],
        "stopped": [text(unit_formula) for unit_formula in stopped],
        "selected": [text(unit_formula) for unit_formula in selected],
        "best_of_three": [None if f is None else f.text(atoms.concepts) for f in proved.formulas],
        "best_of_three_iou": proved.iou.tolist(),
        "beam_of_three_iou": proved.beam_iou.tolist(),
        "specialized": [
            s is not None and single is not None and three is not None and len(s.formula) == 1
            and three.formula != single.formula
            and single.detection_accuracy > three.detection_accuracy
            for s, single, three in zip(
                stopped, by_length[0], by_length[2], strict=True
            )
        ],
    }  # fmt: skip


def _share(part: Any, whole: Any) -> float | None:
    return float(part) / float(whole) if whole else None


def _lengths(by_length: Sequence[Sequence[UnitFormula | None]]) -> Table:
    """Return mean and spread over units for each formula length (Figure 2)."""
    iou = [
        [unit_formula.iou for unit_formula in row if unit_formula is not None] for row in by_length
    ]
    detected = [
        [unit_formula.detection_accuracy for unit_formula in row if unit_formula is not None]
        for row in by_length
    ]
    return {
        "length": list(range(1, len(by_length) + 1)),
        "iou": [_mean(row) for row in iou],
        "iou_spread": [_spread(row) for row in iou],
        "detection_accuracy": [_mean(row) for row in detected],
        "detection_accuracy_spread": [_spread(row) for row in detected],
        "units": [len(row) for row in iou],
    }


def _mean(values: list[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _spread(values: list[float]) -> float | None:
    return float(np.std(values)) if values else None


def _higher(by_length: Sequence[Sequence[UnitFormula | None]]) -> Table:
    """Return the fraction of units that score higher with one concept, or with three (Table 1)."""
    third = by_length[2]
    pairs = [(a, b) for a, b in zip(by_length[0], third, strict=True) if a and b]
    table: dict[str, list[Any]] = {"score": [], "higher_for": [], "share": []}
    for name in ("iou", "detection_accuracy"):
        single, three = (np.array([getattr(pair[i], name) for pair in pairs]) for i in (0, 1))
        for label, more in (("one concept", single > three), ("formula of three", three > single),
                            ("equal", single == three)):  # fmt: skip
            table["score"].append({"iou": "overlap (IoU)"}.get(name, "detection accuracy"))
            table["higher_for"].append(label)
            table["share"].append(float(np.mean(more)) if len(pairs) else None)
    return table


def _chosen_lengths(
    stopped: Sequence[UnitFormula | None], selected: Sequence[UnitFormula | None], longest: int
) -> Table:
    """Return the formula lengths of the two variants (Figure 4)."""
    table: dict[str, list[Any]] = {"variant": [], "length": [], "units": []}
    for name, chosen in (("chosen by detection", selected), ("stopped by detection", stopped)):
        lengths = [len(unit_formula.formula) for unit_formula in chosen if unit_formula is not None]
        counts = np.bincount(lengths, minlength=longest + 1)
        for length in range(1, longest + 1):
            table["variant"].append(name)
            table["length"].append(length)
            table["units"].append(int(counts[length]))
    return table
