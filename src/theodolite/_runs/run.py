"""Do a run: evidence, scores, run folder."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from theodolite._runs.content import score_produced
from theodolite._runs.engine.base import Engine, worker_pool
from theodolite._runs.engine.estimate import MINUTE, RunPrice
from theodolite._runs.engine.pool import WorkerPool
from theodolite._runs.folder.folder import check_folder, no_linked_pieces, prepare_folder
from theodolite._runs.folder.piece_list import write_entries
from theodolite._runs.folder.run_file import (
    RunRecord,
    begin,
    run_record,
)
from theodolite._runs.folder.spec import RunSpec
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
from theodolite._runs.stored import (
    by_kind,
    digests_of,
    largest_piece,
    notes_of,
    score_stored,
    stored_addresses,
    write_failed,
)
from theodolite._storage.records import read_record, write_record
from theodolite._verdicts.answers import AuditAnswers
from theodolite.evidence.produced import Produced, Progress, silent
from theodolite.evidence.workers import Workers


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
                content = score_stored(
                    spec, addresses, workers, progress, engine.checkpoint_dir or ""
                )
            else:
                produced = make(workers)
                produced = replace(produced, notes=[*notes_of(workers), *produced.notes])
                content = score_produced(spec, produced, progress, failed=workers.n_failed)
            content.write(at.out)
        finally:
            write_failed(at.out, workers)
        write_entries(at.out, workers.used.values())
        if engine.checkpoint_dir is None:
            workers.ledger.keep_only(workers.keys)
    return content.answers


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


def run_produced(
    spec: RunSpec, produced: Produced, out: Path, progress: Progress = silent
) -> AuditAnswers:
    """Score evidence in memory into a run folder, which then lacks ``run.json`` and checksums."""
    content = score_produced(spec, produced, progress)
    content.write(out)
    return content.answers
