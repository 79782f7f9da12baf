"""A dossier on disk: written from a run folder, and nothing of it from the clock."""

import shutil
from pathlib import Path

from pydantic import ValidationError

from theodolite._runs.finished_run import read_finished_run
from theodolite._runs.folder.checksums import MANIFEST, SEAL, list_checked_files
from theodolite._runs.folder.preparation import check_outside, lock_folder
from theodolite._runs.folder.run_records import read_produced
from theodolite._storage.paths import all_or_nothing, existing
from theodolite._storage.records import READING, describe_first_error
from theodolite._storage.text import format_json, read_json
from theodolite._verdicts.gates.file import read_thresholds
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.report.dossier.content import DossierFile, DossierSource, dossier_file
from theodolite.report.dossier.envelopes import ENVELOPE
from theodolite.report.dossier.facts import DossierFacts
from theodolite.report.dossier.page import dossier_page
from theodolite.report.dossier.signatures import SIGNATURE
from theodolite.report.dossier.statement import DOSSIER, STATEMENT, statement_bytes

PAGE, THRESHOLDS, RUN = "dossier.html", "thresholds.yaml", "run"
COPIES = (MANIFEST, "report.html", "run.json", "scores.json")
"""Files of the run folder, as they are."""


def write_dossier(
    run: Path, folder: Path, facts: DossierFacts, facts_folder: Path, *, with_run: bool = False
) -> Path:
    """Write the dossier of a finished run; two of one run with the same facts are the same bytes.

    Args:
        run: A run folder, whose checksums are checked first.
        folder: Where the dossier goes: empty, or one without a signature, which is replaced.
        facts: What is stated about the system.
        facts_folder: Where the file of thresholds that they name is looked for.
        with_run: Whether the run folder, evidence and all, goes into the dossier as ``run/``.
    """
    check_outside(run, "dossier", folder)
    _check_free(folder)
    finished = read_finished_run(run)
    thresholds = facts_folder / facts.thresholds if facts.thresholds else None
    criteria = None if thresholds is None else read_thresholds(thresholds)
    source = DossierSource(finished, read_produced(run), facts, criteria)
    content = dossier_file(source)
    files = {name: existing(run / name, "file of the run").read_bytes() for name in COPIES}
    if thresholds is not None:
        files[THRESHOLDS] = thresholds.read_bytes()
    files[DOSSIER] = (format_json(content.model_dump(mode="json")) + "\n").encode()
    files[PAGE] = dossier_page(content, finished, source.produced.explained.noun, files)
    named = {name: data for name, data in files.items() if name != "scores.json"}
    with lock_folder(folder):
        _clear(folder)
        if with_run:
            _copy_run(run, folder / RUN)
        for name, data in files.items():
            _write(folder / name, data)
        _write(folder / STATEMENT, statement_bytes(content, named))  # last: it makes it whole
    return folder


def read_dossier(folder: Path) -> DossierFile:
    """Read the file ``dossier.json`` of a dossier."""
    try:
        content = read_json(folder / DOSSIER, "dossier")
        return DossierFile.model_validate(content, context=READING)
    except ValidationError as error:
        needed = "what theodolite wrote"
        raise UnsafeInputError(f"file {DOSSIER!r}", describe_first_error(error), needed) from error


def _check_free(folder: Path) -> None:
    """Refuse a folder with anything but a dossier in it, and a signed dossier."""
    if folder.exists() and not folder.is_dir():
        raise EvidenceError(f"folder {str(folder)!r}", "a file", "an empty folder")
    for path in sorted(folder.iterdir()) if folder.exists() else ():
        if path.name == ENVELOPE or SIGNATURE.fullmatch(path.name):
            raise EvidenceError(
                f"dossier {str(folder)!r}", f"a signature ({path.name})", "an empty folder",
                "A signed dossier is not replaced: choose another folder.",
            )  # fmt: skip
        if path.name not in (STATEMENT, DOSSIER, PAGE, THRESHOLDS, RUN, *COPIES):
            raise EvidenceError(
                f"folder {str(folder)!r}", f"a file that is not part of a dossier ({path.name})",
                "an empty folder", "Choose another folder.",
            )  # fmt: skip
    if folder.exists() and any(folder.iterdir()):
        read_dossier(folder)  # or it is a run folder, or somebody's own


def _clear(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _copy_run(run: Path, target: Path) -> None:
    for name in (MANIFEST, SEAL, *list_checked_files(run)):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(run / name, target / name, follow_symlinks=False)


def _write(path: Path, content: bytes) -> None:
    with all_or_nothing(path) as stream:
        stream.write(content)
