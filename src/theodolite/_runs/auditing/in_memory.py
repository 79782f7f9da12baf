"""The material of a report from an audit in memory: what its run folder would hold, unwritten."""

from theodolite._runs.auditing.result import AuditResult, produced_of, spec_of
from theodolite._runs.conflict_pictures import conflict_pictures
from theodolite._runs.engine.base import Engine
from theodolite._runs.folder.explained import explained_record
from theodolite._runs.folder.headlines import scores_file_of
from theodolite._runs.folder.run_file import MadeRecord, RunRecord, run_record
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.folder.written import example_pictures
from theodolite._runs.inputs import settled
from theodolite._runs.material import FolderMaterial, MemoryMaterial
from theodolite._runs.run import clustered
from theodolite._runs.run_conflicts import conflicts_of_run
from theodolite._runs.stored import digests_of
from theodolite._verdicts.per_sample import per_sample


def material_of(result: AuditResult) -> MemoryMaterial:
    """What the report shows, without a folder."""
    spec = spec_of(result.source, result.resampling)
    if result.source.stored:
        return _of_pieces(result, spec)
    return _of_bundles(result, spec)


def _of_bundles(result: AuditResult, spec: RunSpec) -> MemoryMaterial:
    source = result.source
    bundles = [[clustered(bundle, spec) for bundle in seed] for seed in source.evidence]
    produced = produced_of(source)
    columns = per_sample(result.requests, bundles[0])
    disagree = conflicts_of_run(spec, (result.scores, result.subject), columns, bundles[0])
    examples = example_pictures(produced, spec)
    conflict_examples = conflict_pictures(produced, disagree)
    made_record = MadeRecord(
        explained=explained_record(spec, source.claim, result.subject, bundles),
        notes=list(result.notes),
        facts=list(source.facts),
        inputs=dict(source.inputs),
        examples=[example for example, _ in examples],
        conflict_examples=[example for example, _ in conflict_examples],
        seconds_scoring=round(result.seconds, 1),
    )
    carried = None
    if source.run is not None:
        made_record = source.run.with_cards(made_record)
        carried = FolderMaterial(source.run.folder)
    return MemoryMaterial(
        (run_record(spec, "", inputs=source.inputs), made_record),
        scores_file_of(spec, result),
        disagree,
        bundles,
        columns,
        source.tables,
        {example.file: content for example, content in (*examples, *conflict_examples)},
        carried,
    )


def _of_pieces(result: AuditResult, spec: RunSpec) -> MemoryMaterial:
    """Evidence in pieces stays where it is; what was scored from it is shown."""
    addresses = result.source.stored
    made_record = MadeRecord(
        explained=explained_record(spec, result.source.claim, result.subject, ()),
        notes=list(result.notes),
        inputs=digests_of(addresses),
        stored=list(addresses),
        failed_pieces=result.failed_pieces,
        seconds_scoring=round(result.seconds, 1),
    )
    return MemoryMaterial(
        (_record_of_pieces(spec), made_record),
        scores_file_of(spec, result),
        conflicts_of_run(spec, (result.scores, result.subject), {}, []),
    )


def _record_of_pieces(spec: RunSpec) -> RunRecord:
    return run_record(spec, "", settled(Engine(workers=1)).chosen()[1])
