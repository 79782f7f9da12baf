"""Do a run: evidence, scores, run folder."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from theodolite._runs.cost_estimate import is_long, rehearse_pipeline, rehearse_stored
from theodolite._runs.engine.run_cost import MINUTE, RunCost
from theodolite._runs.engine.worker_choice import Engine, open_worker_pool
from theodolite._runs.engine.worker_pool import WorkerPool
from theodolite._runs.folder.checkpoint_list import write_checkpoint_list
from theodolite._runs.folder.file_names import RUN
from theodolite._runs.folder.preparation import check_folder, check_no_linked_pieces, prepare_folder
from theodolite._runs.folder.run_records import RunRecord, build_run_record, write_run_record
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.run_content import RunContent, score_run
from theodolite._runs.run_inputs import (
    RunPaths,
    check_names,
    check_paths_outside_folder,
    check_requests,
    is_sharded,
    load_inputs,
)
from theodolite._runs.stored_bundles import StoredBundles, open_stored
from theodolite._scoring.passes import NOTHING_COUNTED
from theodolite._storage.records import read_record, write_record
from theodolite._storage.tables import write_parquet
from theodolite._verdicts.answers import AuditAnswers
from theodolite.errors import EvidenceError
from theodolite.evidence.pipeline_output import Produced, Progress, silent
from theodolite.evidence.workers import Workers


def run(  # noqa: PLR0913  each is a choice of the caller
    spec: RunSpec,
    at: RunPaths,
    progress: Progress = silent,
    command: str = "",
    engine: Engine | None = None,
    *,
    overwrite: bool | None = None,
    announce: Callable[[RunCost], None] | None = None,
) -> AuditAnswers:
    """Run a spec into its folder, without report and checksums.

    A run that was interrupted is resumed. The folder is prepared by ``prepare_folder`` with this
    ``overwrite``, once all that the run reads was checked.

    Args:
        spec: What to run.
        at: Where it reads and writes.
        progress: Called while the run works.
        command: How to start it again.
        engine: Where the work is done.
        overwrite: Whether to replace what is in the folder; None: it is prepared already.
        announce: Called before a run of stored evidence that will take more than a minute.
    """
    begun = _prepare_run(spec, at, progress, command, engine, overwrite=overwrite)
    checkpoints = begun.engine.checkpoint_dir
    with open_worker_pool(begun.engine, at.out, progress, begun.largest_shard) as workers:
        if workers.instead:
            _write_engine(at.out / RUN, workers.instead)
        try:
            if begun.stored is not None and announce is not None:
                _announce_price(spec, begun.stored, workers, announce)
            content = _score(spec, begun, workers, progress)
            content = _add_engine_record(content, workers, checkpoints or "")
            content.write(at.out)
        finally:
            _write_failed(at.out, workers)
        write_checkpoint_list(at.out, workers.used.values())
        if checkpoints is None:
            workers.checkpoints.keep_only(workers.keys)
    return content.answers


def rehearse(
    spec: RunSpec,
    at: RunPaths,
    progress: Progress = silent,
    command: str = "",
    engine: Engine | None = None,
    *,
    overwrite: bool | None = None,
) -> RunCost | None:
    """Return what a run would cost; None if not all of it is done in tasks.

    A few tasks are done, and need not be done again by the run.
    """
    if not (open_stored(spec, at.data) or is_sharded(spec, at)):
        return None
    started = time.monotonic()
    begun = _prepare_run(spec, at, progress, command, engine, overwrite=overwrite)
    with open_worker_pool(begun.engine, at.out, progress, begun.largest_shard) as workers:
        before = time.monotonic() - started  # which the run itself does as well
        if begun.stored is None:
            estimate = rehearse_pipeline(begun.make, workers)
        else:
            estimate = rehearse_stored(spec, begun.stored, workers)
    return replace(estimate, start_seconds=estimate.start_seconds + before)


@dataclass(frozen=True, eq=False)
class _PreparedRun:
    """A run whose inputs were checked and whose folder is prepared."""

    engine: Engine
    make: Callable[[Workers], Produced]
    """Makes evidence, or what comes with stored evidence."""
    stored: StoredBundles | None

    @property
    def largest_shard(self) -> int:
        return 0 if self.stored is None else self.stored.largest_shard()


def _prepare_run(
    spec: RunSpec,
    at: RunPaths,
    progress: Progress,
    command: str,
    engine: Engine | None,
    *,
    overwrite: bool | None,
) -> _PreparedRun:
    """Check all that the run reads, prepare its folder, and write ``run.json``."""
    engine = engine or Engine(workers=1)
    if overwrite is None:
        check_no_linked_pieces(at.out)
    else:
        check_folder(at.out, overwrite=overwrite)
    check_names(spec)  # a misspelt metric must not cost an hour first
    check_paths_outside_folder(spec, at, engine)
    stored, inputs = open_stored(spec, at.data), {}
    if stored is None:
        make = load_inputs(spec, at, progress)
    else:
        check_requests(spec, stored.kinds)
        inputs, notes = stored.digests(), stored.notes()
        make = lambda _: Produced([], inputs=inputs, notes=notes)  # noqa: E731
    if overwrite is not None:
        prepare_folder(at.out, overwrite=overwrite)
    write_run_record(at.out / RUN, build_run_record(spec, command, engine.chosen()[1], inputs))
    return _PreparedRun(engine, make, stored)


def _score(
    spec: RunSpec, begun: _PreparedRun, workers: WorkerPool, progress: Progress
) -> RunContent:
    try:
        produced = begun.make(workers)
        return score_run(spec, produced, progress, stored=begun.stored, workers=workers)
    except EvidenceError as error:
        if error.got != NOTHING_COUNTED or not workers.failed:
            raise
        first = workers.failed[0]
        got = f"{error.got}; the first failed with {first.error}: {first.message}"
        raise EvidenceError(error.what, got, error.expected, error.hint) from error


def _add_engine_record(content: RunContent, workers: WorkerPool, checkpoints: str) -> RunContent:
    """Add to the record what the engine did: given up tasks, a cluster without a token, machines
    that differ."""
    notes = [f"Engine: {workers.instead}"] if workers.instead else []
    notes += [*getattr(workers.pool, "notes", ()), *workers.notes]
    kinds = Counter(entry.made_on for entry in workers.used.values())
    if len(kinds) > 1:
        each = ", ".join(f"{count} on {kind[:16]}" for kind, count in sorted(kinds.items()))
        notes.append(f"Tasks were computed by machines that differ in last digits: {each}.")
    if workers.failed:
        notes.append(
            f"Incomplete: {workers.n_failed} tasks failed three times and were left out "
            "(failed.parquet). The scores exclude their samples."
        )
    record = content.record
    changes = {"notes": [*notes, *record.notes], "failed_tasks": workers.n_failed}
    if record.stored:
        changes["checkpoints"] = checkpoints
    answers = replace(
        content.answers, notes=(*notes, *content.answers.notes), failed_tasks=workers.n_failed
    )
    return replace(content, answers=answers, record=record.model_copy(update=changes))


def _write_engine(path: Path, engine: str) -> None:
    record = read_record(path, RunRecord)
    write_record(path, record.model_copy(update={"engine": engine}))


def _write_failed(out: Path, workers: WorkerPool) -> None:
    """Write the tasks that were given up, and why."""
    if workers.failed:
        rows = sorted(workers.failed, key=lambda failed: (failed.piece, failed.key))
        names = ("piece", "key", "error", "message", "traceback_sha256", "tries")
        columns = {name: [getattr(row, name) for row in rows] for name in names}
        write_parquet(out / "failed.parquet", columns)


def _announce_price(
    spec: RunSpec,
    stored: StoredBundles,
    workers: WorkerPool,
    announce: Callable[[RunCost], None],
) -> None:
    """Announce a long run. One that cannot be rehearsed is run all the same."""
    try:
        if not is_long(spec, stored):
            return
        estimate = rehearse_stored(spec, stored, workers)
    except Exception:  # noqa: BLE001  the run itself says what is wrong, if anything is
        return
    workers.watch.expect([step.wall(estimate.workers) for step in estimate.passes])
    if estimate.wall() > MINUTE:
        announce(estimate)
