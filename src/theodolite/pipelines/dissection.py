"""Dissection of a layer: what each unit marks, and the formula of concepts that fits it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float

from theodolite.contracts.axes import Samples
from theodolite.contracts.axes import Units as UnitNames
from theodolite.contracts.evidence import UnitEvidence
from theodolite.contracts.made import Made, UnitCard, Workshop
from theodolite.datasets.mask_data import MaskData
from theodolite.errors import EvidenceError
from theodolite.explainers.dissection.atoms import Atoms, pack
from theodolite.explainers.dissection.counts import annotated, count, literal_scores
from theodolite.explainers.dissection.drawing import masked
from theodolite.explainers.dissection.exact import optimum
from theodolite.explainers.dissection.formula import Formula
from theodolite.explainers.dissection.quantiles import Method
from theodolite.explainers.dissection.search import Beam, Explained, Searched, search
from theodolite.explainers.dissection.units import PAPER, Units, mark, thresholds
from theodolite.io.paths import sha256_of
from theodolite.io.pictures import jpeg_bytes
from theodolite.models.backbones import load_backbone
from theodolite.pipelines._features import FeatureMaps, feature_maps
from theodolite.pipelines._probe import rightly_classified
from theodolite.pipelines._unit_tables import unit_tables

EXACT_LENGTH = 3


@dataclass(frozen=True, kw_only=True)
class DissectionPipeline:
    """Settings of a dissection."""

    backbone: str
    weights: Path | None = None
    layer: str | None = None
    units: int | None = None
    """Only the first so many units of the layer."""
    quantile: float = PAPER
    """A unit is active above this quantile of its own values."""
    method: Method = "linear"
    exact_thresholds: bool = True
    """``false``: in constant memory, off by less than 1/128, where pictures are too many."""
    grid: int = 112
    """Rows and columns of all masks."""
    min_pictures: int = 5
    """Concepts in fewer pictures are left out."""
    beam: int = 5
    candidates: int = 0
    distinct: bool = True
    length: int = 3
    """The length of formula that units are scored with."""
    lengths: int = 10
    """The lengths that the beam is run to, for the curve and the variants."""
    search: Literal["beam", "exact"] = "beam"
    """``exact``: units are scored with the best of all formulas of up to three concepts."""
    cards: int = 6
    """Units shown with pictures: so many of the best, and as many drawn at random."""

    def make(self, data: MaskData, workshop: Workshop) -> Made:
        """Capture, pack, threshold, mark, search, count; then the same for masks at random."""
        if self.length > self.lengths or (self.search == "exact" and self.length != EXACT_LENGTH):
            raise EvidenceError("length", f"{self.length}", f"at most {self.lengths}; 3 if exact")
        data, rows = _at_hand(data)
        backbone = load_backbone(self.backbone, self.weights)
        maps = feature_maps(data, rows, backbone, self.layer, workshop)
        atoms = self._pack(data, workshop)
        limits, peak = self._thresholds(maps)
        units = mark(lambda a, b: maps.part(a, b)[:, : len(limits)], atoms, limits, chunk=maps.step,
                     progress=workshop.progress)  # fmt: skip
        found = search(atoms, units, self._beam(self.lengths))
        proved = optimum(atoms, units, EXACT_LENGTH, self.beam)
        formulas = self._formulas(found, proved.formulas)
        right = rightly_classified(maps, data.labels, workshop.seeds[0])
        evidence = self._evidence(data, atoms, (maps, limits, units), formulas, workshop)
        evidence = replace(evidence, fires=peak > limits, right=right)
        shown = self._shown(found, workshop.seeds[0])
        cards, pictures = _cards((data, atoms, units), (maps, limits, peak), found, formulas, shown)
        return Made(
            evidence=[[evidence]],
            tables=unit_tables(atoms, found, proved, formulas, evidence),
            notes=(*data.notes, *_notes(right, self)),
            facts=_facts(atoms, found, proved, right),
            inputs=data.digests() | _digest(self.weights),
            pictures=pictures,
            cards=cards,
        )

    def _pack(self, data: MaskData, workshop: Workshop) -> Atoms:
        grid = (self.grid, self.grid)
        packed = pack(
            (data.layers(row, grid) for row in range(len(data))), data.scenes, data.concepts,
            data.categories, grid=grid, progress=workshop.progress,
        )  # fmt: skip
        return packed.without_rare(self.min_pictures)

    def _thresholds(
        self, maps: FeatureMaps
    ) -> tuple[Float[np.ndarray, " units"], Float[np.ndarray, "pictures units"]]:
        peaks, n_values = [], 0
        for shard in maps:
            peaks.append(shard[:, : self.units].max(axis=(2, 3)))
            n_values += shard.shape[0] * shard.shape[2] * shard.shape[3]
        shards = (shard[:, : self.units] for shard in maps)
        limits = thresholds(
            shards, n_values, quantile=self.quantile, method=self.method,
            exact=self.exact_thresholds,
        )  # fmt: skip
        return limits, np.concatenate(peaks)

    def _beam(self, lengths: int) -> Beam:
        return Beam(self.beam, lengths, self.candidates, self.distinct)

    def _formulas(self, found: Searched, proved: Sequence[Formula | None]) -> list[Formula | None]:
        if self.search == "exact":
            return list(proved)
        best = [found.best(u, self.length) for u in range(len(found.searched))]
        return [None if one is None else one.formula for one in best]

    def _evidence(
        self,
        data: MaskData,
        atoms: Atoms,
        marked: tuple[FeatureMaps, np.ndarray, Units],
        formulas: Sequence[Formula | None],
        workshop: Workshop,
    ) -> UnitEvidence:
        """Counts, and the same with masks dealt out over other pictures and searched anew."""
        maps, limits, units = marked
        own = count(atoms, units, formulas)
        ring = np.random.default_rng(workshop.seeds[0]).permutation(len(atoms))
        other = np.empty_like(ring)
        other[ring] = np.roll(ring, 1)  # never its own
        dealt = mark(lambda a, b: maps.part(a, b)[:, : len(limits)], atoms, limits, pictures=other,
                     chunk=maps.step)  # fmt: skip
        dealt = dealt.by_picture(atoms)
        if self.search == "exact":
            by_chance = list(optimum(atoms, dealt, EXACT_LENGTH, self.beam).formulas)
        else:
            by_chance = self._formulas(search(atoms, dealt, self._beam(self.length)), ())
        chance = count(atoms, dealt, by_chance)
        return UnitEvidence(
            unit_pixels=own.unit,
            formula_pixels=own.formula,
            shared_pixels=own.shared,
            chance_unit_pixels=chance.unit,
            chance_formula_pixels=chance.formula,
            chance_shared_pixels=chance.shared,
            annotated=annotated(atoms, formulas),
            units=UnitNames(tuple(f"unit {u}" for u in range(len(limits)))),
            samples=Samples(ids=np.array(data.pictures)),
        )

    def _shown(self, found: Searched, seed: int) -> list[tuple[int, str]]:
        """Units for the cards: the best, and some drawn at random, so that nobody is fooled."""
        best = [found.best(u, self.length) for u in range(len(found.searched))]
        iou = np.array([-1.0 if one is None else one.iou for one in best])
        first = np.argsort(-iou, kind="stable")[: self.cards]
        rest = [u for u in np.random.default_rng(seed).permutation(len(best)) if u not in first]
        return [(int(u), "highest overlap") for u in first] + [
            (int(u), "drawn at random") for u in rest[: self.cards]
        ]


def _at_hand(data: MaskData) -> tuple[MaskData, np.ndarray]:
    rows = data.at_hand()
    if len(rows) != len(data):
        raise EvidenceError(
            f"data set {data.name!r}", f"{len(rows)} of {len(data)} pictures", "all of them",
            "Leave the missing ones out of its tables.",
        )  # fmt: skip
    return data, rows


def _digest(weights: Path | None) -> dict[str, str]:
    return {} if weights is None else {weights.name: sha256_of(weights)}


def _notes(right: Bool[np.ndarray, " n"] | None, settings: DissectionPipeline) -> list[str]:
    notes = [
        f"A unit is active where its map, upsampled, exceeds the {settings.quantile:g} quantile of "
        "all its values; the published code reads a sketch at 994/999.",
    ]
    if right is not None:
        notes.append(
            "Accuracy is that of a linear classifier on the layer's pooled features, each picture "
            "predicted by a model that did not see it (five folds)."
        )
    return notes


def _facts(
    atoms: Atoms, found: Searched, proved: Any, right: Bool[np.ndarray, " n"] | None
) -> list[tuple[str, float | int | str]]:
    facts: list[tuple[str, float | int | str]] = [
        ("pictures", len(atoms)),
        ("units", len(found.searched)),
        ("concepts", len(atoms.concepts)),
        ("units that mark nothing", int((found.unit_pixels == 0).sum())),
        ("units without any overlap", int((found.searched == 0).sum())),
        ("units whose best formula the beam misses", proved.missed),
    ]
    if right is not None:
        facts.append(("accuracy of a linear probe", float(right.mean())))
    return facts


def _cards(
    dissected: tuple[MaskData, Atoms, Units],
    marked: tuple[FeatureMaps, np.ndarray, np.ndarray],
    found: Searched,
    formulas: Sequence[Formula | None],
    shown: Sequence[tuple[int, str]],
    pictures_each: int = 4,
) -> tuple[list[UnitCard], dict[str, bytes]]:
    """The pictures on which each unit is most active, with its mask drawn."""
    data, atoms, units = dissected
    maps, limits, peak = marked
    cards, pictures = [], {}
    for u, why in shown:
        formula = formulas[u]
        if formula is None:
            continue
        files = []
        for number, row in enumerate(np.argsort(-peak[:, u], kind="stable")[:pictures_each]):
            file = f"pictures/unit-{u:05d}-{number}.jpg"
            activation = maps.part(int(row), int(row) + 1)[0, u]
            drawn = masked(data.picture(int(row)), activation, float(limits[u]))
            pictures[file] = jpeg_bytes(drawn, longest=200)
            files.append(file)
        literals = literal_scores(atoms, units, u, formula) if len(formula) > 1 else []
        cards.append(
            UnitCard(
                unit=f"unit {u}",
                why=why,
                formula=formula.text(atoms.concepts),
                alone=_said(found.best(u, 1), atoms),
                stopped=_said(found.stopped(u), atoms),
                literals=tuple(
                    (
                        f"{'' if one.meant else 'NOT '}{atoms.concepts[one.concept]}",
                        one.iou,
                        one.detection_accuracy,
                    )
                    for one in literals
                ),
                files=tuple(files),
            )
        )  # fmt: skip
    return cards, pictures


def _said(one: Explained | None, atoms: Atoms) -> str:
    if one is None:
        return "nothing"
    return (
        f"{one.formula.text(atoms.concepts)}: overlap {100 * one.iou:.1f} %, "
        f"detected {100 * one.detection_accuracy:.1f} %"
    )
