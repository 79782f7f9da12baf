"""Pipeline that dissects a layer: activation masks of units, and the concept formulas that fit
them."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float

from theodolite.datasets.concept_data import ConceptData
from theodolite.datasets.masks.concept_masks import make_concept_masks
from theodolite.datasets.masks.mask_data import MaskData
from theodolite.dissection.atoms import Atoms, pack
from theodolite.dissection.dissect import best_formulas, unit_evidence
from theodolite.dissection.exact import optimum
from theodolite.dissection.formula import Formula
from theodolite.dissection.quantiles import Maps, Method
from theodolite.dissection.search import Beam, FormulaSearch, search
from theodolite.dissection.units import PAPER, UnitMasks, mark, thresholds
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.unit import UnitEvidence
from theodolite.evidence.pipeline_output import Produced, WorkContext
from theodolite.evidence.subject import Subject
from theodolite.models.loaded_model import LoadedModel
from theodolite.models.loading import load_named_model
from theodolite.pipelines.dissection.unit_cards import DissectionResult, make_unit_cards
from theodolite.pipelines.dissection.unit_tables import Table, build_unit_tables
from theodolite.pipelines.feature_pass import FeaturePass, compute_weights_digest, run_feature_pass
from theodolite.pipelines.probe import find_correctly_classified

EXACT_LENGTH = 3
MAX_IMAGE_SIDE = 1024
VOID = "void"


@dataclass(frozen=True, kw_only=True)
class DissectionPipeline:
    """Settings of a dissection."""

    backbone: str
    weights: Path | None = None
    classes: Sequence[str] = ()
    """Class names of the network's outputs in order, where it does not say them."""
    preprocessing: dict[str, Any] | None = None
    """Size, mean and std of images, where the network does not say them."""
    layer: str | None = None
    units: int | None = None
    """Number of units to dissect, from the first; default: all."""
    quantile: float = PAPER
    """Quantile of a unit's own values above which it is active."""
    method: Method = "linear"
    exact_thresholds: bool = True
    """``false``: in constant memory, off by less than 1/128, where images are too many."""
    grid: int | tuple[int, int] = 112
    """Rows and columns on which masks are counted; one number for both."""
    min_images: int = 5
    """Smallest number of images of a concept."""
    beam: int = 5
    candidates: int = 0
    distinct: bool = True
    length: int = 3
    """Length of the formulas that units are scored with."""
    lengths: int = 10
    """Formula lengths of the beam search, for the curve and variants."""
    search: Literal["beam", "exact"] = "beam"
    """Formula search; ``exact`` finds the best of all formulas of up to three concepts."""
    cards: int = 6
    """Number of units shown with images: the best, and as many drawn at random."""

    def make(self, data: Any, context: WorkContext) -> Produced:
        """Return the evidence: capture, threshold, mask, search and count; then the null."""
        model = load_named_model(
            self.backbone, weights=self.weights, classes=self.classes or None,
            preprocessing=self.preprocessing,
        )  # fmt: skip
        return self.make_with(model, data, context)

    def make_with(self, backbone: LoadedModel, data: Any, context: WorkContext) -> Produced:
        """Return the evidence with a given network; ``backbone`` is only its name."""
        self._check()
        data, rows = _at_hand(data)
        maps = run_feature_pass(data, rows, backbone, self.layer, context)
        atoms = self._pack(data, context)
        limits, peak = self.compute_thresholds(maps)
        seed = context.seeds[0]

        def read(first: int, last: int) -> Maps:
            return maps.part(first, last)[:, : len(limits)]

        units = mark(read, atoms, limits, chunk=maps.step, progress=context.progress)
        formula_search = search(atoms, units, self.get_beam(self.lengths))
        proved = optimum(atoms, units, EXACT_LENGTH, self.get_beam(EXACT_LENGTH))
        best = best_formulas(formula_search, self.length)
        formulas = list(proved.formulas) if self.search == "exact" else best
        evidence = unit_evidence(
            read, atoms, limits, (units, formulas), partial(self._explain, atoms), seed=seed,
            chunk=maps.step, progress=context.progress,
        )  # fmt: skip
        right = find_correctly_classified(maps, data.labels, seed)
        samples = Samples(ids=np.array(data.images), clusters=data.groups)
        evidence = replace(evidence, fires=peak > limits, right=right, samples=samples)
        dissection = DissectionResult(data, atoms, units, read, limits, peak)
        chosen = self._units_to_show(evidence, seed)
        cards, images = make_unit_cards(dissection, formula_search, formulas, chosen)
        tables = build_unit_tables(atoms, units, formula_search, proved, formulas, evidence)
        finished = FinishedDissection(
            dissection, maps, backbone, formula_search, formulas, right, tables["units"]
        )
        tables |= self.compute_more_tables(finished, context)
        inputs = data.digests() | compute_weights_digest(self.weights)
        return Produced(
            evidence=[[evidence]], tables=tables,
            notes=(*data.notes, *_notes(right, self)),
            facts=_facts(atoms, formula_search, proved, right),
            inputs=inputs | {"packed masks": atoms.digest()},
            images=images, cards=cards,
            subject=_subject(len(limits), backbone, self.layer, data),
        )  # fmt: skip

    def compute_more_tables(
        self, finished: "FinishedDissection", context: WorkContext
    ) -> dict[str, Table]:
        """Return further tables. A pipeline that compares settings overrides this."""
        del finished, context
        return {}

    def _check(self) -> None:
        """Raise for settings that cannot work, before hours of computation."""
        self.get_beam(self.lengths)
        if not self.lengths >= EXACT_LENGTH or not 1 <= self.length <= self.lengths:
            needed = f"1 to {self.lengths}, searched to at least {EXACT_LENGTH}"
            raise EvidenceError("length", f"{self.length}", needed)
        if self.search == "exact" and self.length != EXACT_LENGTH:
            raise EvidenceError("length", f"{self.length}", f"{EXACT_LENGTH} if exact")
        if not 0 < self.quantile < 1:
            raise EvidenceError("quantile", f"{self.quantile}", "between 0 and 1")
        if not all(1 <= side <= MAX_IMAGE_SIDE for side in self._grid):
            raise EvidenceError("grid", f"{self.grid}", f"1 to {MAX_IMAGE_SIDE} rows and columns")

    @property
    def _grid(self) -> tuple[int, int]:
        return (self.grid, self.grid) if isinstance(self.grid, int) else self.grid

    def _pack(self, data: MaskData, context: WorkContext) -> Atoms:
        extra = (VOID,) if data.void else ()
        packed = pack(
            (data.layers(row, self._grid) for row in range(len(data))), data.scenes,
            (*data.concepts, *extra), (*data.categories, *extra), grid=self._grid,
            progress=context.progress,
        )  # fmt: skip
        if data.void:
            packed = packed.with_void(len(data.concepts))
        return packed.without_rare(self.min_images)

    def compute_thresholds(
        self, maps: FeaturePass, change: Callable[[Maps], Maps] | None = None
    ) -> tuple[Float[np.ndarray, " units"], Float[np.ndarray, "images units"]]:
        """Return each unit's threshold and its maximum per image, in one pass."""
        peaks = []

        def seen() -> Iterator[Maps]:
            for shard in maps:
                own = shard[:, : self.units] if change is None else change(shard[:, : self.units])
                peaks.append(own.max(axis=(2, 3)))
                yield own

        n_values = len(maps.rows) * math.prod(maps.part(0, 1).shape[2:])
        limits = thresholds(
            seen(), n_values, quantile=self.quantile, method=self.method,
            exact=self.exact_thresholds,
        )  # fmt: skip
        return limits, np.concatenate(peaks)

    def get_beam(self, lengths: int) -> Beam:
        """Return the settings of a search for formulas of up to ``lengths`` concepts."""
        return Beam(self.beam, lengths, self.candidates, self.distinct)

    def _explain(self, atoms: Atoms, units: UnitMasks) -> list[Formula | None]:
        if self.search == "exact":
            return list(optimum(atoms, units, EXACT_LENGTH, self.get_beam(EXACT_LENGTH)).formulas)
        return best_formulas(search(atoms, units, self.get_beam(self.length)))

    def _units_to_show(self, evidence: UnitEvidence, seed: int) -> list[tuple[int, str]]:
        """Choose the units for cards: the best, and some at random to avoid cherry-picking."""
        shared = evidence.shared_pixels.sum(axis=0)
        either = evidence.unit_pixels.sum(axis=0) + evidence.formula_pixels.sum(axis=0) - shared
        first = np.argsort(-shared / np.maximum(either, 1), kind="stable")[: self.cards]
        rest = [u for u in np.random.default_rng(seed).permutation(len(shared)) if u not in first]
        return [(int(u), "highest overlap") for u in first] + [
            (int(u), "drawn at random") for u in rest[: self.cards]
        ]


@dataclass(frozen=True, eq=False)
class FinishedDissection:
    """Results of a dissection, for further tables."""

    result: DissectionResult
    maps: FeaturePass
    backbone: LoadedModel
    formula_search: FormulaSearch
    formulas: Sequence[Formula | None]
    right: Bool[np.ndarray, " n"] | None
    units: Table


def _subject(n_units: int, backbone: LoadedModel, layer: str | None, data: MaskData) -> Subject:
    name = f"{backbone.name}, {layer or backbone.layer}"
    return Subject(f"formulas of concepts for {n_units} units", name, "none", data=data.name)


def _at_hand(data: Any) -> tuple[MaskData, np.ndarray]:
    """Return masks and the rows of all images; of a concept data set its test images."""
    if isinstance(data, ConceptData):
        masks = make_concept_masks(data, data.at_hand(np.flatnonzero(data.is_test)))
        if masks is None:
            raise EvidenceError(
                f"data set {data.name!r}", "no test image with regions of concepts", "some",
                "Give masks, boxes or points.",
            )  # fmt: skip
        data = masks
    if not isinstance(data, MaskData):
        raise EvidenceError(
            "data set", f"{getattr(data, 'name', data)}, which has no masks", "one with masks",
            "Use one such as monumai_masks, camvid or mask_folder.",
        )  # fmt: skip
    rows = data.at_hand()
    if len(rows) != len(data):
        raise EvidenceError(
            f"data set {data.name!r}", f"{len(rows)} of {len(data)} images", "all of them",
            "Leave the missing ones out of its tables.",
        )  # fmt: skip
    return data, rows


def _notes(right: Bool[np.ndarray, " n"] | None, settings: DissectionPipeline) -> list[str]:
    notes = [
        f"A unit is active where its map, upsampled, exceeds the {settings.quantile:g} quantile of "
        "all its values; the published code reads a sketch at 994/999.",
    ]
    if not settings.exact_thresholds:
        notes.append("Thresholds were counted in bins: each is off by less than 1/128.")
    if right is not None:
        notes.append(
            "Accuracy is that of a linear classifier on the layer's pooled features, each image "
            "predicted by a model that did not see it (five folds)."
        )
    return notes


def _facts(
    atoms: Atoms, formula_search: FormulaSearch, proved: Any, right: Bool[np.ndarray, " n"] | None
) -> list[tuple[str, float | int | str]]:
    facts: list[tuple[str, float | int | str]] = [
        ("images", len(atoms)),
        ("units", len(formula_search.searched)),
        ("concepts", len(atoms.concepts)),
        ("units that mark nothing", int((formula_search.unit_pixels == 0).sum())),
        ("units without any overlap", int((formula_search.searched == 0).sum())),
        ("units whose best formula the beam misses", proved.missed),
    ]
    if right is not None:
        facts.append(("accuracy of a linear probe", float(right.mean())))
    return facts
