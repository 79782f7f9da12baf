"""Input of a report: the content of a run, from its folder or from memory."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from theodolite._runs.folder.file_names import PER_SAMPLE
from theodolite._runs.folder.run_records import ProducedRecord, RunRecord
from theodolite._runs.folder.spec_answers import build_scores_file
from theodolite._runs.folder_reader import RunFolder
from theodolite._storage.images import parse_image
from theodolite._storage.paths import confined
from theodolite._storage.records import normalize_record
from theodolite._storage.tables import (
    Words,
    parquet_bytes,
    read_coded_from,
    read_parquet_from,
)
from theodolite._verdicts.conflicts.record import ConflictsFile
from theodolite._verdicts.scores_file import (
    ComparedRecord,
    NotComputedRecord,
    ScoresFile,
    score_of,
)
from theodolite.evidence.base import Evidence
from theodolite.evidence.subject import Subject
from theodolite.results import Failed, Score

if TYPE_CHECKING:
    from theodolite._runs.run_content import RunContent


@dataclass(frozen=True, eq=False)
class MemoryMaterial:
    """What a ``RunFolder`` would read, without a folder."""

    run: RunRecord
    content: "RunContent"
    carried: tuple[RunFolder, ...] = ()
    """The runs that were audited again: their tables and images are shown."""
    alone: bool = True

    @cached_property
    def record(self) -> RunRecord:
        return normalize_record(self.run)

    @cached_property
    def made_record(self) -> ProducedRecord:
        return normalize_record(self.content.record)

    @cached_property
    def scores_file(self) -> ScoresFile:
        return normalize_record(build_scores_file(self.content.spec, self.content.answers))

    @cached_property
    def scored(self) -> tuple[list[Score], list[NotComputedRecord]]:
        content = self.scores_file
        return [score_of(record) for record in content.scores], list(content.not_computed)

    @property
    def errors(self) -> tuple[Failed, ...]:
        return tuple(Failed(**record.model_dump()) for record in self.scores_file.errors)

    @property
    def subject(self) -> Subject:
        return self.scores_file.subject or self.record.spec.stated_subject

    def has_seed(self, seed: int, model: str = "") -> bool:
        return not model and seed in self.record.spec.seeds[: len(self.content.evidence)]

    def evidence(self, kind: str, seed: int, model: str = "") -> Evidence | None:
        first, _, inside = kind.partition("/")
        by_seed = dict(zip(self.record.spec.seeds, self.content.evidence, strict=False))
        bundles = [] if model else by_seed.get(seed, [])
        bundle = next((bundle for bundle in bundles if bundle.kind == first), None)
        inner = getattr(bundle, inside, None) if inside else bundle
        return inner if isinstance(inner, Evidence) else None

    def table(self, name: str) -> dict[str, list[Any]] | None:
        carried = next((t for run in self.carried if (t := run.table(name)) is not None), None)
        tables = self.content.produced.tables
        if carried is not None or name not in tables:
            return carried
        return read_parquet_from(parquet_bytes(tables[name]), name)

    def per_sample(self) -> dict[str, Words | np.ndarray]:
        columns = self.content.columns
        return read_coded_from(parquet_bytes(columns), PER_SAMPLE) if columns else {}

    def image(self, file: str) -> Image.Image:
        for run in self.carried:
            if confined(run.folder, file).is_file():
                return run.image(file)
        return parse_image(self.content.images[file], file)

    def conflicts(self) -> ConflictsFile:
        return normalize_record(self.content.conflicts)

    def sample_images(self) -> list[str]:
        return []

    def compared(self) -> list[ComparedRecord]:
        return []


RunMaterial = RunFolder | MemoryMaterial
