"""Keep an audit: as a run folder, or as a report alone."""

from dataclasses import replace
from pathlib import Path

from theodolite._runs.auditing.audit_spec import spec_of
from theodolite._runs.auditing.result import AuditResult
from theodolite._runs.auditing.sources import EvidenceSource
from theodolite._runs.content import RunContent, score_produced
from theodolite._runs.engine.base import Engine
from theodolite._runs.folder.folder import apart_from, check_folder, claimed, prepare_folder
from theodolite._runs.folder.run_file import begin, run_record
from theodolite._runs.folder.seal import seal
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.inputs import Places, settled
from theodolite._runs.material import FolderMaterial, MemoryMaterial
from theodolite._runs.run import run
from theodolite._runs.run_conflicts import conflicts_of_run
from theodolite._runs.stored import stored_record
from theodolite._storage.lazy import import_late
from theodolite._verdicts.answers import AuditAnswers
from theodolite.errors import EvidenceError
from theodolite.evidence.produced import Produced


def save_audit(result: AuditResult, out: Path, *, overwrite: bool) -> Path:
    """Write a run folder with a report and checksums, and return the path of the report."""
    with claimed(out):
        _check_folder(out, overwrite=overwrite)
        requests = result.requests if result.selected else ()
        spec = spec_of(result.source, result.resampling, requests)
        if result.source.stored:
            run(spec, Places(result.source.root, out, out), overwrite=overwrite)
        else:
            begin_folder(result.source, spec, out, "", overwrite=overwrite)
            write_audited(result, spec, out)
        path: Path = import_late("report.html").write_report(out)
        seal(out)
    return path


def write_audit_report(result: AuditResult, path: Path) -> Path:
    """Write the report alone."""
    written: Path = import_late("report.html").write_report_of(audit_material(result), path)
    return written


def audit_material(result: AuditResult) -> MemoryMaterial:
    """Return what the report shows, without a folder."""
    spec = spec_of(result.source, result.resampling)
    source = result.source
    if source.stored:
        scored = (result.scores, result.subject)
        record = stored_record(spec, result, source.stored, result.seconds, claim=source.claim)
        content = RunContent(spec, result, record, conflicts_of_run(spec, scored, {}, []))
        return content.material(run_record(spec, "", settled(Engine(workers=1)).chosen()[1]))
    content, carried = _audit_content(result, spec), None
    if source.run is not None:
        content = replace(content, record=source.run.with_cards(content.record))
        carried = FolderMaterial(source.run.folder)
    return content.material(run_record(spec, "", inputs=source.inputs), carried)


def _audit_content(result: AuditResult, spec: RunSpec) -> RunContent:
    source = result.source
    produced = Produced(
        source.evidence, notes=source.notes, facts=source.facts, inputs=source.inputs,
        tables=source.tables, image=source.image, subject=source.stated_subject,
        claim=source.claim,
    )  # fmt: skip
    own_notes = result.notes[len(source.notes) :]
    scored = AuditAnswers(
        result.scores, result.not_computed, result.requests, own_notes, seconds=result.seconds,
        errors=result.errors,
    )  # fmt: skip
    return score_produced(spec, produced, scored=scored)


def _check_folder(out: Path, *, overwrite: bool) -> None:
    """Refuse a folder, with the hint for Python instead of the command line."""
    try:
        check_folder(out, overwrite=overwrite)
    except EvidenceError as error:
        do = error.hint.replace("--overwrite", "overwrite=True")
        raise type(error)(error.what, error.got, error.expected, do) from error


def begin_folder(
    source: EvidenceSource, spec: RunSpec, out: Path, command: str, *, overwrite: bool
) -> None:
    """Prepare the folder of a run, and write ``run.json``."""
    check_folder(out, overwrite=overwrite)
    for path in source.local:
        apart_from(out, "evidence", path)
    prepare_folder(out, overwrite=overwrite)
    begin(out / "run.json", run_record(spec, command, inputs=source.inputs))


def write_audited(result: AuditResult, spec: RunSpec, out: Path) -> None:
    """Write all of an audit but ``run.json``, the report and the checksums."""
    _audit_content(result, spec).write(out)
    if result.source.run is not None:
        result.source.run.carry_over(out)
