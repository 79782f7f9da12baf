"""A run folder of an older format, written anew beside it in the format of today."""

import shutil
from pathlib import Path

from theodolite.conflicts.matrix import FILE as CONFLICTS
from theodolite.conflicts.record import ConflictsFile
from theodolite.errors import EvidenceError
from theodolite.findings.leakage import FindingsFile
from theodolite.io.paths import confined, sha256_of
from theodolite.run_folder.folder import RUN, apart_from, new_folder
from theodolite.run_folder.format import (
    FINDINGS,
    FORMAT_VERSION,
    FORMER_NAMES,
    PRODUCED,
    file_in,
    format_of,
)
from theodolite.run_folder.run_file import (
    Record,
    RunRecord,
    read_produced,
    read_record,
    write_record,
)
from theodolite.run_folder.scores_file import ComparedFile, ScoresFile
from theodolite.run_folder.seal import MANIFEST, sealed_files, verify

RECORDS: dict[str, type[Record]] = {
    RUN: RunRecord,
    "scores.json": ScoresFile,
    "compared.json": ComparedFile,
    FINDINGS: FindingsFile,
    CONFLICTS: ConflictsFile,
}


def upgrade(folder: Path, out: Path) -> None:
    """Write a finished run in the format of today; it is complete but for its report and seal.

    Numbers, verdicts and the bytes of evidence, pieces and pictures stay what they were. The old
    folder is read, never written.
    """
    verify(folder)
    version = format_of(folder / RUN)
    if version == FORMAT_VERSION:
        raise EvidenceError(f"run {folder.name!r}", f"format {version}", "an older one")
    apart_from(folder, "folder", out)
    new_folder(out)
    records = {file_in(folder, name).name: name for name in RECORDS} | {FORMER_NAMES[PRODUCED]: ""}
    for name in sealed_files(folder):
        if name not in records and name != "report.html":
            target = out / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(confined(folder, name), target)
    for name, kind in RECORDS.items():
        if (path := file_in(folder, name)).is_file():
            write_record(out / name, read_record(path, kind))
    note = (
        f"This folder was upgraded from format {version}; the manifest of the run as it was has "
        f"the SHA-256 {sha256_of(folder / MANIFEST)}."
    )
    produced = read_produced(folder)
    write_record(out / PRODUCED, produced.model_copy(update={"notes": [*produced.notes, note]}))
