"""A small sealed run and arrays, shared by tests of gates and trackers."""

import shutil
from pathlib import Path

import numpy as np

import theodolite
from theodolite._planted.concepts import planted_concepts
from theodolite._runs.folder.checksums import write_checksums
from theodolite._runs.folder.run_records import ProducedRecord
from theodolite._scoring.evaluate import Resampling
from theodolite._storage.records import read_record, write_record
from theodolite.evidence.base import Evidence


def small_evidence() -> Evidence:
    """Values and truth: enough for one question, quickly."""
    given = planted_concepts(40, 6, 3, seed=1)
    return theodolite.ConceptEvidence(values=given.values, truth=given.truth)


def write_arrays(path: Path) -> Path:
    """The same as a file of arrays."""
    given = small_evidence()
    np.savez(path, values=given.values, truth=given.truth)
    return path


def small_run(folder: Path) -> Path:
    """A finished run folder."""
    theodolite.audit(small_evidence(), Resampling(resamples=20)).save(folder)
    return folder


def partial_run(run: Path, folder: Path) -> Path:
    """The same run, as if pieces of its evidence had failed."""
    shutil.copytree(run, folder)
    made = read_record(folder / "produced.json", ProducedRecord)
    write_record(folder / "produced.json", made.model_copy(update={"failed_tasks": 3}))
    write_checksums(folder)
    return folder
