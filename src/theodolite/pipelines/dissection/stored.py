"""Pipeline that dissects activation maps stored in shards, with any number of images and
workers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from theodolite.datasets.masks.stored_maps import StoredMaps
from theodolite.dissection.search import Beam
from theodolite.dissection.shard_limits import Thresholds
from theodolite.dissection.shard_search import EXACT_LENGTH
from theodolite.dissection.sharded import ShardedDissection, dissect_shards
from theodolite.dissection.units import PAPER
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.unit import UnitEvidence
from theodolite.evidence.pipeline_output import Produced, WorkContext, silent
from theodolite.evidence.subject import Subject
from theodolite.evidence.workers import SerialWorkers
from theodolite.pipelines.dissection.unit_tables import (
    tabulate_scored_units,
    tabulate_single_concepts,
)


@dataclass(frozen=True, kw_only=True)
class StoredDissectionPipeline:
    """Settings of a dissection of stored maps."""

    in_pieces: ClassVar[bool] = True
    """Whether all long work is done by workers, so that a run can be rehearsed."""

    quantile: float = PAPER
    """Quantile of a unit's own values above which it is active."""
    thresholds: Thresholds = "exact"
    """Threshold method: ``exact`` keeps half a percent of all values, ``refined`` reads twice with
    the same result, ``binned`` reads once with an error below 1/128.
    """
    min_images: int = 5
    """Smallest number of images of a concept."""
    beam: int = 5
    length: int = 3
    """Length of the formulas that units are scored with."""
    search: Literal["beam", "exact"] = "beam"
    """Formula search; ``exact`` finds the best of all formulas of up to three concepts."""

    def make(self, data: Any, context: WorkContext) -> Produced:
        """Return the evidence: threshold, mask, search and count; then the null."""
        self._check(data)
        # other workers say themselves how far they are
        progress = context.progress if isinstance(context.workers, SerialWorkers) else silent
        dissection = dissect_shards(
            data, context.workers, quantile=self.quantile, thresholds=self.thresholds,
            beam=Beam(self.beam, self.length), exact=self.search == "exact",
            min_images=self.min_images, seed=context.seeds[0], progress=progress,
        )  # fmt: skip
        parts = list(dissection.evidence(progress))
        if not parts:
            raise EvidenceError("counts", "no shard that could be counted", "at least one")
        evidence = UnitEvidence.joined(parts)
        alone = [dissection.searched.best(u, 1) for u in range(len(dissection.limits))]
        formulas, concepts = dissection.search.formulas, dissection.atoms.concepts
        return Produced(
            evidence=[[evidence]],
            tables={
                "units": tabulate_scored_units(concepts, formulas, evidence, alone)
                | {"threshold": dissection.limits.tolist()},
                "single_concepts": tabulate_single_concepts(dissection.atoms, dissection.units),
            },
            notes=(*data.notes, *self._notes(data, dissection, parts)),
            facts=_facts(dissection, evidence),
            inputs=data.digests(),
            subject=Subject(
                f"formulas of concepts for {len(dissection.limits)} units of stored maps",
                outputs="none",
                data=data.name,
            ),
        )

    def _check(self, data: Any) -> None:
        """Raise for settings that cannot work, before hours of computation."""
        if not isinstance(data, StoredMaps):
            raise EvidenceError(
                "data set", f"{getattr(data, 'name', data)}", "stored maps",
                "Use the data set stored_maps, on a folder that write_maps wrote.",
            )  # fmt: skip
        if self.search == "exact" and self.length != EXACT_LENGTH:
            raise EvidenceError("length", f"{self.length}", f"{EXACT_LENGTH} if exact")
        Beam(self.beam, self.length)
        if not 0 < self.quantile < 1:
            raise EvidenceError("quantile", f"{self.quantile}", "between 0 and 1, such as 0.995")

    def _notes(
        self, data: StoredMaps, dissection: ShardedDissection, parts: Sequence[UnitEvidence]
    ) -> list[str]:
        notes = [
            f"A unit is active where its map, upsampled, exceeds the {self.quantile:g} quantile of "
            "all its values.",
            f"By chance: masks are permuted over other images of the same shard of up to "
            f"{data.shard_rows} images.",
        ]
        if self.thresholds == "binned":
            notes.append("Thresholds were counted in bins: each is off by less than 1/128.")
        failed, n = data.n_shards - len(parts), sum(len(part) for part in parts)
        if failed:
            notes.append(
                f"{failed} of {data.n_shards} shards failed: {len(data) - n:,} of {len(data):,} "
                "images are left out."
            )
        if dissection.search.failed:
            notes.append(
                f"The search failed for {dissection.search.failed} units: they have no formula."
            )
        if dissection.chance.failed:
            notes.append(
                f"The search by chance failed for {dissection.chance.failed} units: nothing is "
                "found for them by chance."
            )
        if any(len(part) == 1 for part in parts):
            notes.append(
                "The last shard has one image. Its masks cannot be permuted, so it adds nothing to "
                "the baseline."
            )
        return notes


def _facts(
    dissection: ShardedDissection, evidence: UnitEvidence
) -> list[tuple[str, float | int | str]]:
    searched, proved = dissection.searched, dissection.search.proved
    facts: list[tuple[str, float | int | str]] = [
        ("images", len(evidence)),
        ("shards", len(dissection.marks.numbers)),
        ("units", len(dissection.limits)),
        ("concepts", len(dissection.atoms.concepts)),
        ("units that mark nothing", int(np.sum(searched.unit_pixels == 0))),
        ("units without any overlap", int(np.sum(searched.searched == 0))),
    ]
    if proved is not None:
        facts.append(("units whose best formula the beam misses", proved.missed))
    return facts
