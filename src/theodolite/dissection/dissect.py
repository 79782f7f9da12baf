"""From activations and label maps to formulas for units, and to evidence for their scores."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Integer

from theodolite.dissection.atoms import Atoms, pack
from theodolite.dissection.counts import annotated_pictures, count
from theodolite.dissection.formula import Formula
from theodolite.dissection.quantiles import Maps
from theodolite.dissection.search import Beam, FormulaSearch, search
from theodolite.dissection.units import PAPER, UnitMasks, mark, thresholds
from theodolite.errors import EvidenceError, printable
from theodolite.evidence.axes import Samples, Units
from theodolite.evidence.kinds.unit import UnitEvidence
from theodolite.evidence.produced import Progress, silent
from theodolite.io.optional import require
from theodolite.results import viewer

Explain = Callable[[UnitMasks], list[Formula | None]]
BATCH = 256


@dataclass(frozen=True, eq=False, repr=False)
class Dissection:
    """What was found out about the units of a layer."""

    atoms: Atoms
    limits: Float[np.ndarray, " units"]
    units: UnitMasks
    formula_search: FormulaSearch
    evidence: UnitEvidence
    """For ``theodolite.audit``."""

    def formulas(self) -> list[str]:
        """The best formula of each unit, in words; empty for a unit that meets no concept."""
        best = [self.formula_search.best(u) for u in range(len(self.units))]
        return [
            "" if unit_formula is None else unit_formula.formula.text(self.atoms.concepts)
            for unit_formula in best
        ]

    def to_records(self) -> list[dict[str, Any]]:
        """A row for each unit: its best formula, and how well that fits; undefined without one."""
        best = [self.formula_search.best(u) for u in range(len(self.units))]
        return [
            {
                "unit": name,
                "formula": formula,
                "length": 0 if fit is None else 1 + len(fit.formula.steps),
                "iou": math.nan if fit is None else fit.iou,
                "detection_accuracy": math.nan if fit is None else fit.detection_accuracy,
                "threshold": float(limit),
            }
            for name, formula, fit, limit in zip(
                self.evidence.units.names, self.formulas(), best, self.limits, strict=True
            )
        ]

    def to_frame(self) -> Any:
        """The same rows as a pandas frame."""
        return require("pandas", "to_frame", "notebook").DataFrame(self.to_records())

    def __repr__(self) -> str:
        explained = [(u, text) for u, text in enumerate(self.formulas()) if text]
        first = "; ".join(f"unit {u}: {printable(text, 60)}" for u, text in explained[:3])
        counts = f"{len(explained)} of {len(self.units)} units have a formula"
        size = f"{len(self.atoms.concepts)} concepts, {len(self.atoms):,} pictures"
        return f"Dissection({printable(f'{counts}, {size}; {first}', 280)})"

    def _repr_html_(self) -> str:
        return str(viewer("notebook_tables").dissection_html(self))


def dissect(
    activations: Any,
    label_maps: Sequence[Any] | np.ndarray,
    concepts: Sequence[str],
    *,
    scenes: Sequence[Any] | None = None,
    quantile: float = PAPER,
    beam: Beam | None = None,
    min_pictures: int = 1,
    seed: int = 0,
) -> Dissection:
    """Find the formula of concepts that each unit detects, from arrays alone.

    Args:
        activations: A map per picture and unit, at any resolution; may be memory-mapped.
        label_maps: For each picture one or several maps of one grid: 0 for nothing, c + 1 for
            concept c. Several, where concepts overlap. Or masks of true and false, one per
            concept: pictures x concepts x rows x columns.
        concepts: Their names.
        scenes: For each picture the concepts that cover it whole.
        quantile: A unit is active above this quantile of its own values.
        beam: How to search.
        min_pictures: Concepts in fewer pictures are left out.
        seed: Of the null, which deals masks out over other pictures.
    """
    layers = [_layers(label_map, len(concepts)) for label_map in label_maps]
    _check_numbers(layers, len(concepts))
    activations = _activations(activations, len(layers))
    grid = (int(layers[0].shape[1]), int(layers[0].shape[2]))
    covering = [()] * len(layers) if scenes is None else [tuple(row) for row in scenes]
    if len(covering) != len(layers):
        raise EvidenceError("scenes", f"{len(covering)} rows", f"{len(layers)}, one per picture")
    numbered = (_numbered(planes) for planes in layers)  # one by one: twice the size of masks
    atoms = pack(numbered, covering, concepts, grid=grid).without_rare(min_pictures)

    def read(first: int, last: int) -> Maps:
        return np.asarray(activations[first:last], np.float32)

    n = len(activations)
    batches = (read(at, at + BATCH) for at in range(0, n, BATCH))
    n_values = n * activations.shape[2] * activations.shape[3]
    limits = thresholds(batches, n_values, quantile=quantile)
    units = mark(read, atoms, limits)
    formula_search = search(atoms, units, beam)
    evidence = unit_evidence(
        read, atoms, limits, (units, best_formulas(formula_search)),
        lambda dealt: best_formulas(search(atoms, dealt, beam)), seed=seed,
    )  # fmt: skip
    return Dissection(atoms, limits, units, formula_search, evidence)


def _layers(label_map: Any, n_concepts: int) -> np.ndarray:
    """A single map is a single layer; masks of true and false are one layer per concept."""
    layers = np.asarray(label_map)
    layers = layers[None] if layers.ndim == 2 else layers
    if layers.ndim != 3 or not layers.size:
        raise EvidenceError(
            "label map", f"shape {layers.shape}", "(rows, columns) or (layers, rows, columns)"
        )
    if layers.dtype.kind == "b" and len(layers) != n_concepts:
        raise EvidenceError(
            "label map", f"{len(layers)} masks of true and false",
            f"{n_concepts}, one per concept, (concepts, rows, columns)",
            "Or give numbers: 0 for nothing, c + 1 for concept c.",
        )  # fmt: skip
    return layers


def _numbered(layers: np.ndarray) -> np.ndarray:
    """Masks of true and false as label maps: the plane says which concept it is."""
    if layers.dtype.kind != "b":
        return layers
    return layers * np.arange(1, len(layers) + 1, dtype=np.uint16)[:, None, None]


def _check_numbers(layers: Sequence[np.ndarray], n_concepts: int) -> None:
    """Masks written with 0 and 1, one per concept, would all be taken for the first concept."""
    whole = [planes for planes in layers if planes.dtype.kind in "iu"]
    as_many = len(whole) == len(layers) and all(len(planes) == n_concepts for planes in whole)
    if n_concepts < 2 or not as_many or max((p.max() for p in whole), default=0) != 1:
        return
    if any(planes[1:].any() for planes in whole):
        raise EvidenceError(
            "label maps", f"only 0 and 1, in {n_concepts} layers each",
            "numbers of concepts, 0 for nothing and c + 1 for concept c",
            "If each layer is the mask of a concept, pass true and false: masks.astype(bool).",
        )  # fmt: skip


def _activations(values: Any, n: int) -> np.ndarray:
    activations = (
        values.detach().cpu().numpy() if hasattr(values, "detach") else np.asanyarray(values)
    )
    fits = activations.ndim == 4 and len(activations) == n and activations.size > 0
    if not fits or activations.dtype.kind not in "fiub":
        raise EvidenceError(
            "activations", f"{activations.dtype} of shape {activations.shape}",
            f"numbers, (pictures, units, height, width), for {n} pictures as in `label_maps`",
        )  # fmt: skip
    return np.asarray(activations)


def best_formulas(formula_search: FormulaSearch, length: int | None = None) -> list[Formula | None]:
    """The best formula of each unit, up to a length."""
    best = [formula_search.best(u, length) for u in range(len(formula_search.searched))]
    return [None if unit_formula is None else unit_formula.formula for unit_formula in best]


def derangement(n: int, seed: int | tuple[int, int]) -> Integer[np.ndarray, " n"]:
    """For each picture another one, never its own, and each once."""
    ring = np.random.default_rng(seed).permutation(n)
    other = np.empty_like(ring)
    other[ring] = np.roll(ring, 1)
    return other


def unit_evidence(
    read: Callable[[int, int], Maps],
    atoms: Atoms,
    limits: Float[np.ndarray, " units"],
    explained: tuple[UnitMasks, Sequence[Formula | None]],
    explain: Explain,
    *,
    seed: int,
    chunk: int = 128,
    progress: Progress = silent,
) -> UnitEvidence:
    """Counts for every unit with its formula.

    And the same with its masks dealt out over other pictures, and the formula that ``explain``
    finds for those: what a search finds where there is little to find. Little, not nothing: what is
    always in the same place, as a road at the bottom, is there in the other picture too.
    """
    if len(atoms) < 2:
        raise EvidenceError("pictures", "one", "at least two, to deal masks out over others")
    units, formulas = explained
    own = count(atoms, units, formulas)
    other = derangement(len(atoms), seed)
    dealt = mark(read, atoms, limits, pictures=other, chunk=chunk, progress=progress)
    dealt = dealt.by_picture(atoms)
    by_chance = explain(dealt)
    chance = count(atoms, dealt, by_chance)
    return UnitEvidence(
        unit_pixels=own.unit,
        formula_pixels=own.formula,
        shared_pixels=own.shared,
        chance_unit_pixels=chance.unit,
        chance_formula_pixels=chance.formula,
        chance_shared_pixels=chance.shared,
        annotated=annotated_pictures(atoms, formulas),
        chance_annotated=annotated_pictures(atoms, by_chance),
        units=Units(tuple(f"unit {u}" for u in range(len(limits)))),
        samples=Samples.numbered(len(atoms)),
    )
