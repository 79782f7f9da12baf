"""Conflicts between the questions of a run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._runs.folder.headlines import resampling_of, verdicts_of
from theodolite._runs.folder.run_file import RunRecord, read_subject
from theodolite._runs.folder.spec import RunSpec
from theodolite._storage.records import read_record
from theodolite._storage.tables import Words, read_coded
from theodolite._verdicts.conflicts.matrix import clusters_of_samples, conflicts_between
from theodolite._verdicts.conflicts.record import ConflictsFile
from theodolite._verdicts.scores_file import read_scores
from theodolite.evidence.base import Evidence
from theodolite.evidence.files import load
from theodolite.evidence.subject import Subject
from theodolite.results import Score

FILE = "conflicts.json"


def folder_conflicts(folder: Path) -> ConflictsFile:
    """The same of a finished run: what its file says, or counted now if it has none."""
    if (folder / FILE).is_file():
        return read_record(folder / FILE, ConflictsFile)
    spec = read_record(folder / "run.json", RunRecord).spec
    scores, _ = read_scores(folder / "scores.json")
    table = folder / "per_sample.parquet"
    columns = read_coded(table) if table.is_file() else {}
    stored = folder / "evidence" / f"seed-{spec.seeds[0]}"
    bundles = [load(kind) for kind in sorted(stored.iterdir())] if stored.is_dir() else []
    return conflicts_of_run(spec, (scores, read_subject(folder)), columns, bundles)


def conflicts_of_run(
    spec: RunSpec,
    scored: tuple[Sequence[Score], Subject],
    columns: Mapping[str, Sequence[Any] | Words | np.ndarray],
    bundles: Sequence[Evidence],
) -> ConflictsFile:
    """The same from the scores, the table of samples and the evidence of a run's first seed."""
    scores, subject = scored
    return conflicts_between(
        verdicts_of(spec, scores, subject), scores, columns,
        clusters_of_samples(bundles), resampling_of(spec),
    )  # fmt: skip
