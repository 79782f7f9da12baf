"""Dissect units from activations and label maps in memory. Public as ``theodolite.dissect``."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Integer

from theodolite._storage.optional import require
from theodolite.dissection.atoms import Atoms
from theodolite.dissection.counts import annotated_images, count
from theodolite.dissection.exact import Optimum, optimum
from theodolite.dissection.formula import Formula
from theodolite.dissection.masks import Resolution, packed_masks
from theodolite.dissection.quantiles import Maps
from theodolite.dissection.search import Beam, FormulaSearch, UnitFormula
from theodolite.dissection.search import search as beam_search
from theodolite.dissection.units import PAPER, UnitMasks, mark, thresholds
from theodolite.errors import EvidenceError, printable
from theodolite.evidence.axes import Samples, Units
from theodolite.evidence.kinds.unit import UnitEvidence
from theodolite.evidence.pipeline_output import Progress, silent
from theodolite.results import viewer

Explain = Callable[[UnitMasks], list[Formula | None]]
BATCH = 256
Search = Literal["beam", "exact"]


@dataclass(frozen=True, eq=False, repr=False)
class Dissection:
    """Result of a dissection: the formula of each unit, and evidence for its scores."""

    atoms: Atoms
    limits: Float[np.ndarray, " units"]
    units: UnitMasks
    fits: tuple[UnitFormula | None, ...]
    """Best formula of each unit; None for a unit that overlaps no concept."""
    evidence: UnitEvidence
    """Evidence for ``theodolite.audit``."""
    proof: Optimum | None = None
    """Proof that no formula of this length overlaps more, with ``search="exact"``."""
    resampled: str = ""
    """Note on masks that were resampled; empty otherwise."""

    def formulas(self) -> list[str]:
        """Return the best formula of each unit in words; empty if there is none."""
        return ["" if fit is None else fit.formula.text(self.atoms.concepts) for fit in self.fits]

    def to_records(self) -> list[dict[str, Any]]:
        """Return a dict per unit: its best formula and the scores."""
        searched = "beam" if self.proof is None else "exact"
        return [
            {
                "unit": name,
                "formula": formula,
                "length": 0 if fit is None else 1 + len(fit.formula.steps),
                "iou": math.nan if fit is None else fit.iou,
                "detection_accuracy": math.nan if fit is None else fit.detection_accuracy,
                "n_images": 0 if fit is None else fit.images,
                "threshold": float(limit),
                "searched": searched,
                "proved": self.proof is not None,
            }
            for name, formula, fit, limit in zip(
                self.evidence.units.names, self.formulas(), self.fits, self.limits, strict=True
            )
        ]

    def table(self, *, resamples: int = 200, seed: int = 0) -> list[dict[str, Any]]:
        """Return the records with 95 % intervals over images, and the null's overlap.

        Args:
            resamples: How often images are drawn again.
            seed: Of the draws.
        """
        intervals = iou_intervals(self.evidence, resamples, seed)
        return [
            row | {"low": float(low), "high": float(high), "null": float(null)}
            for row, low, high, null in zip(self.to_records(), *intervals, strict=True)
        ]

    def to_frame(self) -> Any:
        """Return the records as a pandas frame."""
        return require("pandas", "to_frame", "notebook").DataFrame(self.to_records())

    def __repr__(self) -> str:
        rows = [row for row in self.to_records() if row["formula"]]
        size = f"{len(self.atoms.concepts)} concepts, {len(self.atoms):,} images"
        head = f"Dissection({len(rows)} of {len(self.units)} units have a formula, {size})"
        best = sorted(rows, key=lambda row: -row["iou"])[:10]
        return "\n".join(
            [head, *(f"  {r['unit']}  {r['iou']:.3f}  {printable(r['formula'], 60)}" for r in best)]
        )

    def _repr_html_(self) -> str:
        return str(viewer("notebook_tables").dissection_html(self))


def dissect(
    activations: Any,
    label_maps: Sequence[Any] | np.ndarray,
    concepts: Sequence[str],
    *,
    scenes: Sequence[Any] | None = None,
    void: int | Sequence[int] | None = None,
    resolution: Resolution = "auto",
    quantile: float = PAPER,
    search: Search = "beam",
    beam: Beam | None = None,
    min_images: int = 1,
    seed: int = 0,
) -> Dissection:
    """Find the formula of concepts that each unit detects, from arrays alone.

    Args:
        activations: A map per image and unit, at any resolution; may be memory-mapped.
        label_maps: For each image one or several maps of one grid: 0 for nothing, c + 1 for
            concept c. Several, where concepts overlap. Or masks of true and false, one per
            concept: images x concepts x rows x columns. Sizes may differ between images.
        concepts: Their names.
        scenes: For each image the concepts that cover it whole.
        void: Numbers in label maps, such as 255, of pixels that count neither for nor against.
            Thresholds are still taken over all pixels: a unit does not know what is void.
        resolution: The grid to count on. ``auto``: that of the masks, or the largest of the same
            shape with at most 65,536 places; ``full``: that of the masks; or rows and columns.
        quantile: A unit is active above this quantile of its own values.
        search: ``beam``, or ``exact``: the best of all formulas of up to three concepts, proved.
        beam: How to search.
        min_images: Concepts in fewer images are left out.
        seed: Of the null, which deals masks out over other images.
    """
    if search not in ("beam", "exact"):
        raise EvidenceError("search", f"{search!r}", "'beam' or 'exact'")
    packed = packed_masks(label_maps, concepts, scenes, void, resolution)
    atoms = packed.atoms.without_rare(min_images)
    activations = _activations(activations, len(atoms))

    def read(first: int, last: int) -> Maps:
        return np.asarray(activations[first:last], np.float32)

    n = len(activations)
    batches = (read(at, at + BATCH) for at in range(0, n, BATCH))
    n_values = n * activations.shape[2] * activations.shape[3]
    limits = thresholds(batches, n_values, quantile=quantile)
    units = mark(read, atoms, limits)
    find = partial(_formulas, atoms, search=search, beam=beam)
    formulas, proof = find(units)
    evidence = unit_evidence(
        read, atoms, limits, (units, formulas), lambda dealt: find(dealt)[0], seed=seed
    )
    fits = unit_formulas(atoms, units, formulas)
    return Dissection(atoms, limits, units, fits, evidence, proof, packed.resampled)


def _formulas(
    atoms: Atoms, units: UnitMasks, *, search: Search, beam: Beam | None
) -> tuple[list[Formula | None], Optimum | None]:
    if search == "beam":
        return best_formulas(beam_search(atoms, units, beam)), None
    proof = optimum(atoms, units, (beam or Beam()).lengths, beam)
    return list(proof.formulas), proof


def unit_formulas(
    atoms: Atoms, units: UnitMasks, formulas: Sequence[Formula | None]
) -> tuple[UnitFormula | None, ...]:
    """Return each formula with its counts."""
    counts = count(atoms, units, formulas)
    return tuple(
        None if formula is None else UnitFormula(
            formula, int(own.sum()), int(mask.sum()), int(both.sum()),
            int((mask > 0).sum()), int((both > 0).sum()),
        )
        for formula, own, mask, both in zip(
            formulas, counts.unit.T, counts.formula.T, counts.shared.T, strict=True
        )
    )  # fmt: skip


def iou_intervals(
    evidence: UnitEvidence, resamples: int, seed: int
) -> tuple[Float[np.ndarray, " units"], Float[np.ndarray, " units"], Float[np.ndarray, " units"]]:
    """Return percentile intervals of each unit's overlap over images, and of its null.

    The null is the overlap of the formula that the same search finds for masks dealt out over
    other images.
    """
    n = len(evidence.unit_pixels)
    draws = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), resamples)
    unit, formula, shared = (
        draws @ np.asarray(pixels, np.float64)
        for pixels in (evidence.unit_pixels, evidence.formula_pixels, evidence.shared_pixels)
    )
    with np.errstate(invalid="ignore"):
        overlap = shared / (unit + formula - shared)
        low, high = np.nanpercentile(overlap, (2.5, 97.5), axis=0)
        chance = [
            np.asarray(pixels, np.float64).sum(axis=0)
            for pixels in (
                evidence.chance_unit_pixels,
                evidence.chance_formula_pixels,
                evidence.chance_shared_pixels,
            )
        ]
        null = chance[2] / (chance[0] + chance[1] - chance[2])
    return low, high, null


def _activations(values: Any, n: int) -> np.ndarray:
    activations = (
        values.detach().cpu().numpy() if hasattr(values, "detach") else np.asanyarray(values)
    )
    fits = activations.ndim == 4 and len(activations) == n and activations.size > 0
    if not fits or activations.dtype.kind not in "fiub":
        raise EvidenceError(
            "activations", f"{activations.dtype} of shape {activations.shape}",
            f"numbers, (images, units, height, width), for {n} images as in `label_maps`",
        )  # fmt: skip
    return np.asarray(activations)


def best_formulas(formula_search: FormulaSearch, length: int | None = None) -> list[Formula | None]:
    """Return the best formula of each unit, up to a length."""
    best = [formula_search.best(u, length) for u in range(len(formula_search.searched))]
    return [None if unit_formula is None else unit_formula.formula for unit_formula in best]


def derangement(n: int, seed: int | tuple[int, int]) -> Integer[np.ndarray, " n"]:
    """Return a random permutation of images without fixed points."""
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
    """Return counts for every unit with its formula.

    And the same with its masks dealt out over other images, and the formula that ``explain``
    finds for those: what a search finds where there is little to find. Little, not nothing: what is
    always in the same place, as a road at the bottom, is there in the other image too.
    """
    if len(atoms) < 2:
        raise EvidenceError("images", "one", "at least two, to permute masks among them")
    units, formulas = explained
    own = count(atoms, units, formulas)
    other = derangement(len(atoms), seed)
    dealt = mark(read, atoms, limits, images=other, chunk=chunk, progress=progress)
    dealt = dealt.by_image(atoms)
    by_chance = explain(dealt)
    chance = count(atoms, dealt, by_chance)
    return UnitEvidence(
        unit_pixels=own.unit,
        formula_pixels=own.formula,
        shared_pixels=own.shared,
        chance_unit_pixels=chance.unit,
        chance_formula_pixels=chance.formula,
        chance_shared_pixels=chance.shared,
        annotated=annotated_images(atoms, formulas),
        chance_annotated=annotated_images(atoms, by_chance),
        units=Units(tuple(f"unit {u}" for u in range(len(limits)))),
        samples=Samples.numbered(len(atoms)),
    )
