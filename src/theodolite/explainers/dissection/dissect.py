"""From activations and label maps to formulas for units, and to evidence for their scores."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Shaped

from theodolite.contracts.axes import Samples
from theodolite.contracts.axes import Units as UnitNames
from theodolite.contracts.evidence import UnitEvidence
from theodolite.contracts.made import Progress, silent
from theodolite.errors import EvidenceError
from theodolite.explainers.dissection.atoms import Atoms, Layers, pack
from theodolite.explainers.dissection.counts import annotated, count
from theodolite.explainers.dissection.formula import Formula
from theodolite.explainers.dissection.quantiles import Maps
from theodolite.explainers.dissection.search import Beam, Searched, search
from theodolite.explainers.dissection.units import PAPER, Units, mark, thresholds

Explain = Callable[[Units], list[Formula | None]]
BATCH = 256


@dataclass(frozen=True, eq=False)
class Dissection:
    """What was found out about the units of a layer."""

    atoms: Atoms
    limits: Float[np.ndarray, " units"]
    units: Units
    found: Searched
    evidence: UnitEvidence
    """For ``theodolite.audit``."""

    def formulas(self) -> list[str]:
        """The best formula of each unit, in words; empty for a unit that meets no concept."""
        best = [self.found.best(u) for u in range(len(self.units))]
        return ["" if one is None else one.formula.text(self.atoms.concepts) for one in best]


def dissect(
    activations: Shaped[np.ndarray, "pictures units height width"],
    label_maps: Sequence[Layers],
    concepts: Sequence[str],
    *,
    scenes: Sequence[Sequence[int]] | None = None,
    quantile: float = PAPER,
    beam: Beam | None = None,
    min_pictures: int = 1,
    seed: int = 0,
) -> Dissection:
    """Find the formula of concepts that each unit detects, from arrays alone.

    Args:
        activations: A map per picture and unit, at any resolution; may be memory-mapped.
        label_maps: For each picture one or several maps of one grid: 0 for nothing, c + 1 for
            concept c. Several, where concepts overlap.
        concepts: Their names.
        scenes: For each picture the concepts that cover it whole.
        quantile: A unit is active above this quantile of its own values.
        beam: How to search.
        min_pictures: Concepts in fewer pictures are left out.
        seed: Of the null, which deals masks out over other pictures.
    """
    if activations.ndim != 4 or len(activations) != len(label_maps):
        raise EvidenceError(
            "activations", f"shape {activations.shape}",
            f"(pictures, units, height, width) for {len(label_maps)} pictures",
        )  # fmt: skip
    grid = (int(label_maps[0].shape[-2]), int(label_maps[0].shape[-1]))
    atoms = pack(label_maps, scenes or [()] * len(label_maps), concepts, grid=grid)
    atoms = atoms.without_rare(min_pictures)

    def read(first: int, last: int) -> Maps:
        return np.asarray(activations[first:last], np.float32)

    n = len(activations)
    batches = (read(at, at + BATCH) for at in range(0, n, BATCH))
    n_values = n * activations.shape[2] * activations.shape[3]
    limits = thresholds(batches, n_values, quantile=quantile)
    units = mark(read, atoms, limits)
    found = search(atoms, units, beam)
    evidence = unit_evidence(
        read, atoms, limits, units, lambda u: best_formulas(search(atoms, u, beam)), seed=seed
    )
    return Dissection(atoms, limits, units, found, evidence)


def best_formulas(found: Searched, length: int | None = None) -> list[Formula | None]:
    """The best formula of each unit, up to a length."""
    best = [found.best(u, length) for u in range(len(found.searched))]
    return [None if one is None else one.formula for one in best]


def unit_evidence(
    read: Callable[[int, int], Maps],
    atoms: Atoms,
    limits: Float[np.ndarray, " units"],
    units: Units,
    explain: Explain,
    *,
    seed: int,
    chunk: int = 128,
    progress: Progress = silent,
) -> UnitEvidence:
    """Counts for every unit with its formula.

    And the same with its masks dealt out over other pictures, and the formula that ``explain``
    finds for those: what a search finds where there is nothing to find.
    """
    formulas = explain(units)
    own = count(atoms, units, formulas)
    ring = np.random.default_rng(seed).permutation(len(atoms))
    other = np.empty_like(ring)
    other[ring] = np.roll(ring, 1)  # never its own
    dealt = mark(read, atoms, limits, pictures=other, chunk=chunk, progress=progress)
    dealt = dealt.by_picture(atoms)
    chance = count(atoms, dealt, explain(dealt))
    return UnitEvidence(
        unit_pixels=own.unit,
        formula_pixels=own.formula,
        shared_pixels=own.shared,
        chance_unit_pixels=chance.unit,
        chance_formula_pixels=chance.formula,
        chance_shared_pixels=chance.shared,
        annotated=annotated(atoms, formulas),
        units=UnitNames(tuple(f"unit {u}" for u in range(len(limits)))),
        samples=Samples.numbered(len(atoms)),
    )
