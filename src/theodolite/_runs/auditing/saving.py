"""Keep an audit: as a run folder, or as a report alone."""

import shutil
import warnings
from dataclasses import replace
from pathlib import Path

from theodolite._runs.auditing.audit_spec import build_spec
from theodolite._runs.auditing.result import AuditResult
from theodolite._runs.auditing.sources import EvidenceSource
from theodolite._runs.folder.checksums import write_checksums
from theodolite._runs.folder.file_names import IMAGE_FOLDERS, RUN
from theodolite._runs.folder.preparation import check_outside, lock_folder, prepare_folder
from theodolite._runs.folder.run_records import ProducedRecord, build_run_record, write_run_record
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.folder_reader import RunFolder
from theodolite._runs.report_material import MemoryMaterial
from theodolite._runs.run import run
from theodolite._runs.run_content import RunContent, score_run
from theodolite._runs.run_inputs import RunPaths
from theodolite._runs.stored_bundles import open_addresses
from theodolite._storage.lazy import import_late
from theodolite._storage.paths import confined
from theodolite.errors import UnsafeInputError
from theodolite.evidence.pipeline_output import Produced


def save_audit(result: AuditResult, out: Path, *, overwrite: bool) -> Path:
    """Write a run folder with a report and checksums, and return the path of the report."""
    source = result.source
    spec = build_spec(source, result.resampling, result.requests if result.selected else ())
    with lock_folder(out):
        if source.stored:
            run(spec, RunPaths(source.root, out, out), overwrite=overwrite)
        else:
            begin_folder(source, spec, out, "", overwrite=overwrite)
            write_audited(result, spec, out)
        path: Path = import_late("report.html").write_report(out)
        write_checksums(out)
    return path


def write_audit_report(result: AuditResult, path: Path) -> Path:
    """Write only the report of an audit."""
    written: Path = import_late("report.html").write_report_of(_build_material(result), path)
    return written


def write_audit_brief(result: AuditResult, path: Path) -> Path:
    """Write the brief, as HTML with a warning where no PDF can be written."""
    written: Path
    written, note = import_late("report.brief").write_brief(_build_material(result), path)
    if note:
        warnings.warn(note, stacklevel=3)
    return written


def _build_material(result: AuditResult) -> MemoryMaterial:
    source, spec = result.source, build_spec(result.source, result.resampling)
    record = build_run_record(spec, "", inputs={} if source.stored else source.inputs)
    return MemoryMaterial(record, _build_content(result, spec), source.runs)


def begin_folder(
    source: EvidenceSource, spec: RunSpec, out: Path, command: str, *, overwrite: bool
) -> None:
    """Prepare the folder of a run, and write ``run.json``."""
    for path in source.local:
        check_outside(out, "evidence", path)
    prepare_folder(out, overwrite=overwrite)
    write_run_record(out / RUN, build_run_record(spec, command, inputs=source.inputs))


def write_audited(result: AuditResult, spec: RunSpec, out: Path) -> None:
    """Write all of an audit but ``run.json``, the report and the checksums."""
    _build_content(result, spec).write(out)
    for audited in result.source.runs:
        _copy_images(audited, out)


def _build_content(result: AuditResult, spec: RunSpec) -> RunContent:
    source = result.source
    stored = open_addresses(spec, source.stored) if source.stored else None
    produced = Produced(
        source.evidence, facts=source.facts,
        inputs=source.inputs if stored is None else stored.digests(), tables=source.tables,
        image=source.image, thumbnails=source.thumbnails, subject=source.stated_subject,
        claim=source.claim,
    )  # fmt: skip
    content = score_run(spec, produced, stored=stored, scored=result)
    if not source.runs:
        return content
    names = ("examples", "conflict_examples", "cards", "concept_cards")
    cards = {
        name: [card for run in source.runs for card in getattr(run.made_record, name)]
        for name in names
    }
    return replace(content, record=content.record.model_copy(update=cards))


def _copy_images(run: RunFolder, out: Path) -> None:
    """Copy the images and tables of a run into the folder of its audit."""
    for file in dict.fromkeys(_list_images(run.made_record)):
        if file.partition("/")[0] not in IMAGE_FOLDERS:
            raise UnsafeInputError(
                "image", repr(file), f"a file in one of {', '.join(IMAGE_FOLDERS)}"
            )
        _copy(confined(run.folder, file), confined(out, file))
    for table in sorted((run.folder / "tables").glob("*.parquet")):
        _copy(confined(run.folder, f"tables/{table.name}"), out / "tables" / table.name)


def _list_images(record: ProducedRecord) -> list[str]:
    files = [example.file for example in (*record.examples, *record.conflict_examples)]
    files += [file for card in record.cards for file in card.files]
    return files + [file for card in record.concept_cards for file in card.files]


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():  # only runs of different kinds of evidence are joined
        raise UnsafeInputError("runs", f"{target.name!r} twice", "files of different names")
    shutil.copyfile(source, target)
