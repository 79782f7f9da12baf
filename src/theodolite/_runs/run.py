"""Do a run: evidence, scores, run folder."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from theodolite._runs.conflict_pictures import write_conflict_pictures
from theodolite._runs.engine.base import Engine, worker_pool
from theodolite._runs.engine.estimate import MINUTE, RunPrice
from theodolite._runs.engine.pool import WorkerPool
from theodolite._runs.folder.chapters import installed_chapters
from theodolite._runs.folder.explained import explained_record
from theodolite._runs.folder.folder import check_folder, no_linked_pieces, prepare_folder
from theodolite._runs.folder.format import FINDINGS, PRODUCED
from theodolite._runs.folder.headlines import requests_named, resampling_of, scores_file_of
from theodolite._runs.folder.piece_list import write_entries
from theodolite._runs.folder.run_file import (
    ConceptCardRecord,
    MadeRecord,
    RunRecord,
    begin,
    run_record,
)
from theodolite._runs.folder.spec import RunSpec, subject_of
from theodolite._runs.folder.written import save_compared, write_cards, write_examples
from theodolite._runs.inputs import (
    Places,
    check_apart,
    check_asked,
    check_names,
    in_pieces,
    maker,
    settled,
)
from theodolite._runs.price import is_long, made_price, price
from theodolite._runs.run_conflicts import FILE as CONFLICTS
from theodolite._runs.run_conflicts import conflicts_of_run
from theodolite._runs.stored import (
    by_kind,
    digests_of,
    largest_piece,
    notes_of,
    run_stored,
    stored_addresses,
    write_failed,
)
from theodolite._scoring.evaluate import MetricRequest, Resampling
from theodolite._storage.arrays import write_safetensors
from theodolite._storage.records import read_record, write_record
from theodolite._storage.tables import write_parquet
from theodolite._verdicts.answers import AuditAnswers, answer
from theodolite._verdicts.per_sample import per_sample
from theodolite._verdicts.scores_file import (
    ComparedFile,
    ComparedRecord,
    score_record,
    write_scores,
)
from theodolite.evidence.base import Evidence
from theodolite.evidence.files import save
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.produced import ComparedModel, Produced, Progress, silent
from theodolite.evidence.shards import by_class
from theodolite.evidence.workers import Workers

__all__ = [
    "Places", "answer_made", "clustered", "compared_records", "rehearse", "run", "run_made",
]  # fmt: skip


def run(  # noqa: PLR0913  each is a choice of the caller
    spec: RunSpec,
    at: Places,
    progress: Progress = silent,
    command: str = "",
    engine: Engine | None = None,
    *,
    overwrite: bool | None = None,
    announce: Callable[[RunPrice], None] | None = None,
) -> AuditAnswers:
    """Run a spec into its folder. It is complete but not sealed: a report may follow.

    A folder with a run that was cut off goes on with what is missing. What the run reads is looked
    at first; only then is the folder prepared, by ``prepare_folder`` with this ``overwrite``.
    ``None``: it is as it should be. ``announce`` is called first with what a run of stored evidence
    will cost, if that is more than a minute.
    """
    engine, addresses, make = _begun(spec, at, progress, command, engine, overwrite=overwrite)
    largest = largest_piece(by_kind(spec, addresses)) if addresses else 0
    with worker_pool(engine, at.out, progress, largest) as workers:
        if workers.instead:
            _done_elsewhere(at.out / "run.json", workers.instead)
        try:
            if make is None:
                if announce is not None:
                    _tell_price(spec, addresses, workers, announce)
                answers = run_stored(
                    spec, addresses, at.out, workers, progress, engine.pieces or ""
                )
            else:
                produced = make(workers)
                produced = replace(produced, notes=[*notes_of(workers), *produced.notes])
                answers = run_made(spec, produced, at.out, progress, failed=workers.n_failed)
        finally:
            write_failed(at.out, workers)
        write_entries(at.out, workers.used.values())
        if engine.pieces is None:
            workers.ledger.keep_only(workers.keys)
    return answers


def _done_elsewhere(path: Path, engine: str) -> None:
    record = read_record(path, RunRecord)
    write_record(path, record.model_copy(update={"engine": engine}))


def rehearse(
    spec: RunSpec,
    at: Places,
    progress: Progress = silent,
    command: str = "",
    engine: Engine | None = None,
    *,
    overwrite: bool | None = None,
) -> RunPrice | None:
    """What a run would cost. A few of its pieces are done, and are there when the run goes on;
    nothing where it cannot be told, because not all of it is done in pieces."""
    if not (stored_addresses(spec, at.data) or in_pieces(spec, at)):
        return None
    started = time.monotonic()
    engine, addresses, make = _begun(spec, at, progress, command, engine, overwrite=overwrite)
    largest = largest_piece(by_kind(spec, addresses)) if addresses else 0
    with worker_pool(engine, at.out, progress, largest) as workers:
        begun = time.monotonic() - started  # which the run itself does as well
        estimate = price(spec, addresses, workers) if make is None else made_price(make, workers)
    return replace(estimate, start_seconds=estimate.start_seconds + begun)


def _tell_price(
    spec: RunSpec,
    addresses: Sequence[str],
    workers: WorkerPool,
    announce: Callable[[RunPrice], None],
) -> None:
    """Before a long run. What cannot be rehearsed is run all the same."""
    try:
        if not is_long(spec, addresses):
            return
        estimate = price(spec, addresses, workers)
    except Exception:  # noqa: BLE001  the run itself says what is wrong, if anything is
        return
    workers.watch.expect([step.wall(estimate.workers) for step in estimate.passes])
    if estimate.wall() > MINUTE:
        announce(estimate)


def _begun(
    spec: RunSpec,
    at: Places,
    progress: Progress,
    command: str,
    engine: Engine | None,
    *,
    overwrite: bool | None,
) -> tuple[Engine, list[str], Callable[[Workers], Produced] | None]:
    """Look at all that the run reads, prepare its folder, and write down that it begins."""
    engine = settled(engine or Engine(workers=1))
    if overwrite is not None:
        check_folder(at.out, overwrite=overwrite)
    no_linked_pieces(at.out)
    check_names(spec)  # a misspelt metric must not cost an hour first
    check_apart(spec, at, engine)
    addresses = stored_addresses(spec, at.data)
    inputs = digests_of(addresses)
    if addresses:
        check_asked(spec, by_kind(spec, addresses))
    make = None if addresses else maker(spec, at, progress)
    if overwrite is not None:
        prepare_folder(at.out, overwrite=overwrite)
    begin(at.out / "run.json", run_record(spec, command, engine.chosen()[1], inputs))
    return engine, addresses, make


def run_made(
    spec: RunSpec,
    produced: Produced,
    out: Path,
    progress: Progress = silent,
    failed: int = 0,
    scored: AuditAnswers | None = None,
) -> AuditAnswers:
    """Score evidence that is made already, unless it is scored, and write all but ``run.json``."""
    started = time.monotonic() - (scored.seconds if scored is not None else 0.0)
    evidence = [[clustered(bundle, spec) for bundle in bundles] for bundles in produced.evidence]
    _save_evidence(spec, evidence, out)
    answers = answer_made(spec, evidence, progress) if scored is None else scored
    answers = replace(answers, subject=produced.subject or subject_of(spec))
    write_scores(out / "scores.json", scores_file_of(spec, answers))
    failures = _write_compared(spec, produced, answers, evidence[0], out, progress)
    columns = per_sample(answers.requests, evidence[0])
    write_parquet(out / "per_sample.parquet", columns)
    disagree = conflicts_of_run(spec, (answers.scores, answers.subject), columns, evidence[0])
    if disagree.judged or disagree.verdicts:
        write_record(out / CONFLICTS, disagree)
    for name, table in produced.tables.items():
        write_parquet(out / "tables" / f"{name}.parquet", table)
    if produced.model:
        write_safetensors(out / "model.safetensors", produced.model)
    made_record = MadeRecord(
        explained=explained_record(spec, produced.claim, answers.subject, evidence),
        notes=[*produced.notes, *answers.notes, *failures],
        facts=list(produced.facts),
        inputs=dict(produced.inputs),
        examples=write_examples(out, produced, spec),
        conflict_examples=write_conflict_pictures(out, produced, disagree),
        cards=write_cards(out, produced),
        concept_cards=[ConceptCardRecord.model_validate(asdict(c)) for c in produced.concept_cards],
        seconds_scoring=round(time.monotonic() - started, 1),
        failed_pieces=failed,
    )
    write_record(out / PRODUCED, made_record)
    return answers


def _write_compared(
    spec: RunSpec,
    produced: Produced,
    answers: AuditAnswers,
    evidence: Sequence[Evidence],
    out: Path,
    progress: Progress,
) -> list[str]:
    """Write the compared models and the studies over all models; return what failed."""
    if not produced.compared and not spec.studies:
        return []
    for other in produced.compared:
        save_compared(other, spec, out)
    records, failures = compared_records(spec, answers, produced.about, produced.compared, progress)
    if produced.compared:
        write_record(out / "compared.json", ComparedFile(models=records))
    if spec.studies:
        firsts = [evidence, *(other.evidence[0] for other in produced.compared)]
        for chapters in installed_chapters():
            chapters.write(out / FINDINGS, spec, records, firsts, produced.tables)
    return failures


def answer_made(
    spec: RunSpec, evidence: Sequence[Sequence[Evidence]], progress: Progress = silent
) -> AuditAnswers:
    """The scores of a spec, from evidence in memory."""
    requests = requests_named(spec.metrics) or None
    return answer(evidence, requests, resampling_of(spec), progress, on_error="note")


def compared_records(
    spec: RunSpec,
    answers: AuditAnswers,
    description: Mapping[str, float | int | str],
    others: Sequence[ComparedModel],
    progress: Progress,
) -> tuple[list[ComparedRecord], list[str]]:
    """Scores of all models: the one of the verdicts, then the others by the same metrics; and what
    failed of the others."""
    name = str(description.get("name", spec.name))
    main = ComparedRecord(
        name=name, about=dict(description), scores=[*map(score_record, answers.scores)]
    )
    records, failures = [main], []
    requests = requests_named(spec.compared_metrics or spec.metrics)
    for number, other in enumerate(others):
        progress("compared models", number, len(others))
        kinds = {type(bundle) for bundle in other.evidence[0]} | {ConceptEvidence}
        own_requests = [r for r in requests if r.metric.needs in kinds] if requests else None
        if own_requests is not None:  # compared models need not all have the same arrays
            own_requests = [
                r for r in own_requests if all(_allowed(r, seed) for seed in other.evidence)
            ]
        evidence = [[clustered(bundle, spec) for bundle in seed] for seed in other.evidence]
        answers_of_other = answer(evidence, own_requests, _lighter(spec), on_error="note")
        scores = answers_of_other.scores
        failures += [f"{other.name}: {failure}." for failure in answers_of_other.failed]
        records.append(
            ComparedRecord(
                name=other.name, about=dict(other.about), scores=[*map(score_record, scores)]
            )
        )
    progress("compared models", len(others), len(others))
    return records, failures


def _allowed(request: MetricRequest, bundles: Sequence[Evidence]) -> bool:
    """Whether these bundles have the arrays for it."""
    own = [bundle for bundle in bundles if type(bundle) is request.metric.needs]
    return not any(request.metric.missing(bundle, request.options) for bundle in own)


def _lighter(spec: RunSpec) -> Resampling:
    """Compared models are told apart by their seeds: less resampling, nulls drawn once."""
    resampling = spec.resampling
    return Resampling(
        min(resampling.resamples, 100), resampling.level, resampling.seed, most_null_draws=1
    )


def _save_evidence(spec: RunSpec, evidence: Sequence[Sequence[Evidence]], out: Path) -> None:
    for seed, bundles in zip(spec.seeds, evidence, strict=False):
        for bundle in bundles:
            save(bundle, out / "evidence" / f"seed-{seed}" / bundle.kind)


def clustered(bundle: Evidence, spec: RunSpec) -> Any:
    """The bundle with its samples grouped as the spec wants them resampled."""
    return bundle if spec.resampling.clusters == "none" else by_class(bundle)
