"""What a report is built from: the files of a run folder, or the same in memory."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from theodolite._runs.folder.run_file import MadeRecord, RunRecord, read_produced, read_subject
from theodolite._runs.folder.spec import subject_of
from theodolite._runs.run_conflicts import folder_conflicts
from theodolite._storage.images import image_from, read_image
from theodolite._storage.paths import confined
from theodolite._storage.records import as_written, read_record
from theodolite._storage.tables import (
    Words,
    parquet_bytes,
    read_coded,
    read_coded_from,
    read_parquet,
    read_parquet_from,
)
from theodolite._verdicts.conflicts.record import ConflictsFile
from theodolite._verdicts.scores_file import (
    ComparedFile,
    ComparedRecord,
    NotComputedRecord,
    ScoresFile,
    read_failed,
    read_scores,
    score_of,
)
from theodolite.evidence.base import Evidence
from theodolite.evidence.files import load
from theodolite.evidence.subject import Subject
from theodolite.results import Failed, Score

PER_SAMPLE = "per_sample.parquet"
Columns = Mapping[str, Sequence[object]]


class RunMaterial(ABC):
    """Records, scores, evidence, tables and images of one run."""

    alone: bool = False
    """Whether the page has no run folder beside it."""

    @property
    @abstractmethod
    def record(self) -> RunRecord:
        """What was known before the start."""

    @property
    @abstractmethod
    def made_record(self) -> MadeRecord:
        """What became known on the way."""

    @property
    @abstractmethod
    def scored(self) -> tuple[list[Score], list[NotComputedRecord]]:
        """The scores, and those that could not be had."""

    @property
    @abstractmethod
    def errors(self) -> tuple[Failed, ...]:
        """Scores that could not be computed."""

    @property
    @abstractmethod
    def subject(self) -> Subject:
        """Which explanation it is of, and what that is held against."""

    @abstractmethod
    def evidence(self, kind: str, seed: int, model: str = "") -> Evidence | None:
        """A seed's bundle, or one inside it (``location/explained``); of a compared model by name.

        None where there is none.
        """

    @abstractmethod
    def has_seed(self, seed: int, model: str = "") -> bool:
        """Whether there is evidence of this seed."""

    @abstractmethod
    def table(self, name: str) -> dict[str, list[Any]] | None:
        """A stored table; None where there is none."""

    @abstractmethod
    def per_sample(self) -> dict[str, Words | np.ndarray]:
        """What each sample gave to each score; empty where that was not stored."""

    @abstractmethod
    def image(self, file: str) -> Image.Image:
        """An image by the name of its file."""

    @abstractmethod
    def conflicts(self) -> ConflictsFile:
        """Where the questions disagree."""

    def sample_images(self) -> list[str]:
        """Files with images of samples by row, in order."""
        return []

    def compared(self) -> list[ComparedRecord]:
        """The models of a run, the one of the verdicts first; none if it has only that."""
        return []


class FolderMaterial(RunMaterial):
    """The files of a run folder, each read when it is needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def record(self) -> RunRecord:
        """The file ``run.json``."""
        return read_record(self.folder / "run.json", RunRecord)

    @cached_property
    def made_record(self) -> MadeRecord:
        """The file ``produced.json``."""
        return read_produced(self.folder)

    @cached_property
    def scored(self) -> tuple[list[Score], list[NotComputedRecord]]:
        """The file ``scores.json``."""
        return read_scores(self.folder / "scores.json")

    @cached_property
    def errors(self) -> tuple[Failed, ...]:
        """As ``scores.json`` says."""
        return read_failed(self.folder / "scores.json")

    @cached_property
    def subject(self) -> Subject:
        """As ``scores.json`` says, or what a run that does not say is of."""
        return read_subject(self.folder)

    def _evidence_root(self, model: str) -> Path:
        return confined(self.folder / "compared", model) if model else self.folder / "evidence"

    def evidence(self, kind: str, seed: int, model: str = "") -> Evidence | None:
        """Evidence below ``evidence/``, or below ``compared/`` and the model's name."""
        place = self._evidence_root(model) / f"seed-{seed}" / kind
        return load(place) if (place / "header.json").is_file() else None

    def has_seed(self, seed: int, model: str = "") -> bool:
        """Whether it has a folder."""
        return (self._evidence_root(model) / f"seed-{seed}").is_dir()

    def table(self, name: str) -> dict[str, list[Any]] | None:
        """A file below ``tables/``."""
        path = self.folder / "tables" / f"{name}.parquet"
        return read_parquet(path) if path.is_file() else None

    def per_sample(self) -> dict[str, Words | np.ndarray]:
        """The file ``per_sample.parquet``."""
        path = self.folder / PER_SAMPLE
        return read_coded(path) if path.is_file() else {}

    def image(self, file: str) -> Image.Image:
        """An image that lies in the folder, never elsewhere."""
        return read_image(confined(self.folder, file))

    def conflicts(self) -> ConflictsFile:
        """The file ``conflicts.json``, or counted now."""
        return folder_conflicts(self.folder)

    def sample_images(self) -> list[str]:
        """Files ``images/sample-….jpg``."""
        files = sorted((self.folder / "images").glob("sample-*.jpg"))
        return [f"images/{file.name}" for file in files]

    def compared(self) -> list[ComparedRecord]:
        """The file ``compared.json``."""
        path = self.folder / "compared.json"
        return list(read_record(path, ComparedFile).models) if path.is_file() else []


@dataclass(frozen=True, eq=False)
class MemoryMaterial(RunMaterial):
    """What a run folder would hold, without one."""

    records: tuple[RunRecord, MadeRecord]
    scores_file: ScoresFile
    conflicts_file: ConflictsFile
    bundles: Sequence[Sequence[Evidence]] = ()
    """Evidence of each seed."""
    samples: Columns = field(default_factory=dict)
    """What each sample gave."""
    tables: Mapping[str, Columns] = field(default_factory=dict)
    images: Mapping[str, bytes] = field(default_factory=dict)
    carried: FolderMaterial | None = None
    """The run that was audited again: its tables and images come with it."""
    alone: bool = True

    @cached_property
    def record(self) -> RunRecord:
        """As ``run.json`` would have it."""
        return as_written(self.records[0])

    @cached_property
    def made_record(self) -> MadeRecord:
        """As ``produced.json`` would have it."""
        return as_written(self.records[1])

    @cached_property
    def scored(self) -> tuple[list[Score], list[NotComputedRecord]]:
        """As they would be read from ``scores.json``."""
        content = as_written(self.scores_file)
        return [score_of(record) for record in content.scores], list(content.not_computed)

    @cached_property
    def errors(self) -> tuple[Failed, ...]:
        """As they would be read from ``scores.json``."""
        return tuple(Failed(**record.model_dump()) for record in self.scores_file.errors)

    @cached_property
    def subject(self) -> Subject:
        """As ``scores.json`` would say."""
        return self.scores_file.subject or subject_of(self.record.spec)

    def evidence(self, kind: str, seed: int, model: str = "") -> Evidence | None:
        """A bundle as it is."""
        first, _, inside = kind.partition("/")
        by_seed = dict(zip(self.record.spec.seeds, self.bundles, strict=False))
        bundles = [] if model else by_seed.get(seed, [])
        bundle = next((bundle for bundle in bundles if bundle.kind == first), None)
        inner = getattr(bundle, inside, None) if inside else bundle
        return inner if isinstance(inner, Evidence) else None

    def has_seed(self, seed: int, model: str = "") -> bool:
        """Seeds are numbered as bundles come."""
        return not model and seed in self.record.spec.seeds[: len(self.bundles)]

    def table(self, name: str) -> dict[str, list[Any]] | None:
        """A table of the run that was audited, or one made for this audit."""
        carried = None if self.carried is None else self.carried.table(name)
        if carried is not None or name not in self.tables:
            return carried
        return read_parquet_from(parquet_bytes(self.tables[name]), name)

    def per_sample(self) -> dict[str, Words | np.ndarray]:
        """Coded as from a file."""
        return read_coded_from(parquet_bytes(self.samples), PER_SAMPLE) if self.samples else {}

    def image(self, file: str) -> Image.Image:
        """An image of the run that was audited, or one made for this audit."""
        if self.carried is not None:
            return self.carried.image(file)
        return image_from(self.images[file], file)

    def conflicts(self) -> ConflictsFile:
        """As they would be read from ``conflicts.json``."""
        return as_written(self.conflicts_file)
