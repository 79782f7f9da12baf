"""A run folder: each file is read when it is first asked for."""

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from theodolite._runs.folder.file_names import CONFLICTS, PER_SAMPLE, RUN, SCORES
from theodolite._runs.folder.run_records import ProducedRecord, RunRecord, read_produced
from theodolite._runs.folder.spec_answers import find_conflicts
from theodolite._storage.images import read_image
from theodolite._storage.paths import confined
from theodolite._storage.records import read_record
from theodolite._storage.tables import Words, read_coded, read_parquet
from theodolite._verdicts.conflicts.matrix import clusters_of_samples
from theodolite._verdicts.conflicts.record import ConflictsFile
from theodolite._verdicts.scores_file import (
    ComparedFile,
    ComparedRecord,
    NotComputedRecord,
    ScoresFile,
    score_of,
)
from theodolite.errors import UnsafeInputError
from theodolite.evidence.base import Evidence
from theodolite.evidence.files import load
from theodolite.evidence.subject import Subject
from theodolite.results import Failed, Score


class RunFolder:
    """Records, scores, evidence, tables and images of a run."""

    alone = False
    """Whether the report has no run folder beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def record(self) -> RunRecord:
        """The file ``run.json``: what was known before the start."""
        return read_record(self.folder / RUN, RunRecord)

    @cached_property
    def made_record(self) -> ProducedRecord:
        """The file ``produced.json``: what became known during the run."""
        return read_produced(self.folder)

    @cached_property
    def scores_file(self) -> ScoresFile:
        """The file ``scores.json``."""
        return read_record(self.folder / SCORES, ScoresFile)

    @cached_property
    def scored(self) -> tuple[list[Score], list[NotComputedRecord]]:
        """The scores, and those that could not be computed for lack of evidence."""
        content = self.scores_file
        return [score_of(record) for record in content.scores], list(content.not_computed)

    @property
    def errors(self) -> tuple[Failed, ...]:
        """Scores whose metric raised an error."""
        return tuple(Failed(**record.model_dump()) for record in self.scores_file.errors)

    @property
    def subject(self) -> Subject:
        """Which explanation was audited, and whose outputs it is compared with."""
        return self.scores_file.subject or self.record.spec.stated_subject

    def evidence_root(self, model: str = "") -> Path:
        """The folder of evidence; of a compared model by its name."""
        return confined(self.folder / "compared", model) if model else self.folder / "evidence"

    def has_seed(self, seed: int, model: str = "") -> bool:
        """Return whether there is evidence of a seed."""
        return (self.evidence_root(model) / f"seed-{seed}").is_dir()

    @property
    def seeds(self) -> list[int]:
        """The seeds of the spec that have evidence."""
        return [seed for seed in self.record.spec.seeds if self.has_seed(seed)]

    def seed_folders(self, model: str = "") -> list[Path]:
        """The folders of evidence of each seed; refused if there are none."""
        root = self.evidence_root(model)
        seeds = [seed for seed in self.record.spec.seeds if self.has_seed(seed, model)]
        if not seeds:
            raise UnsafeInputError(
                f"run {self.folder.name!r}", "no evidence of its seeds",
                f"{root.relative_to(self.folder).as_posix()}/seed-…",
            )  # fmt: skip
        return [root / f"seed-{seed}" for seed in seeds]

    def load_bundles(self, model: str = "") -> list[list[Evidence]]:
        """Load all bundles of all seeds."""
        return [[load(kind) for kind in sorted(f.iterdir())] for f in self.seed_folders(model)]

    def evidence(self, kind: str, seed: int, model: str = "") -> Evidence | None:
        """A bundle of a seed, or one inside it (``location/explained``); None if there is none."""
        place = self.evidence_root(model) / f"seed-{seed}" / kind
        return load(place) if (place / "header.json").is_file() else None

    def table(self, name: str) -> dict[str, list[Any]] | None:
        """Return a stored table; None if there is none."""
        path = self.folder / "tables" / f"{name}.parquet"
        return read_parquet(path) if path.is_file() else None

    def per_sample(self) -> dict[str, Words | np.ndarray]:
        """The contribution of each sample to each score; empty if that was not stored."""
        path = self.folder / PER_SAMPLE
        return read_coded(path) if path.is_file() else {}

    def image(self, file: str) -> Image.Image:
        """Return an image of the folder; paths outside of it are refused."""
        return read_image(confined(self.folder, file))

    def conflicts(self) -> ConflictsFile:
        """The file ``conflicts.json``; computed if the run has none."""
        if (self.folder / CONFLICTS).is_file():
            return read_record(self.folder / CONFLICTS, ConflictsFile)
        bundles = self.load_bundles()[0] if self.seeds else []
        scored, clusters = (self.scored[0], self.subject), clusters_of_samples(bundles)
        return find_conflicts(self.record.spec, scored, self.per_sample(), clusters)

    def sample_images(self) -> list[str]:
        """Files with images of samples by row, in order."""
        files = sorted((self.folder / "images").glob("sample-*.jpg"))
        return [f"images/{file.name}" for file in files]

    def compared(self) -> list[ComparedRecord]:
        """The models of the run, the one of the verdicts first; none if it has only that."""
        path = self.folder / "compared.json"
        return list(read_record(path, ComparedFile).models) if path.is_file() else []
