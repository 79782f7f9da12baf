"""Score evidence that is stored in shards."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._runs.addresses import BUCKETS, no_pieces_at
from theodolite._runs.content import RunContent
from theodolite._runs.engine.pool import WorkerPool
from theodolite._runs.folder.explained import explained_record
from theodolite._runs.folder.headlines import requests_named, resampling_of
from theodolite._runs.folder.run_file import MadeRecord
from theodolite._runs.folder.spec import RunSpec, subject_of
from theodolite._scoring.passes import NOTHING_COUNTED
from theodolite._scoring.request import MetricRequest
from theodolite._storage.paths import confined
from theodolite._storage.tables import write_parquet
from theodolite._verdicts.answers import AuditAnswers, OnError, answer_shards
from theodolite._verdicts.conflicts.matrix import conflicts_between
from theodolite._verdicts.conflicts.record import ConflictsFile
from theodolite._verdicts.per_sample import add_samples, is_of_samples, no_samples, sample_values
from theodolite.errors import EvidenceError
from theodolite.evidence.base import Evidence, entries
from theodolite.evidence.produced import Progress, silent
from theodolite.evidence.shards import Shards
from theodolite.evidence.store import StoredShards, is_stored, stored
from theodolite.evidence.subject import Claim
from theodolite.evidence.workers import Arrays, Work, Workers

Kinds = Mapping[type[Evidence], Shards]
MOST_SAMPLES = 200_000
"""Samples up to which there is a table of them: the driver holds it."""


def stored_addresses(spec: RunSpec, data: Path) -> list[str]:
    """Where the spec's evidence lies, if it lies in pieces."""
    addresses = [
        name if name.startswith(BUCKETS) else str(confined(data, name)) for name in spec.evidence
    ]
    in_pieces = [is_stored(address) for address in addresses]
    for address, has_pieces in zip(addresses, in_pieces, strict=True):
        if address.startswith(BUCKETS) and not has_pieces:
            raise no_pieces_at(address)
    if any(in_pieces) and not all(in_pieces):
        raise EvidenceError("evidence", "bundles in pieces and others", "all of one sort")
    return addresses if any(in_pieces) else []


def score_stored(
    spec: RunSpec,
    addresses: Sequence[str],
    pool: WorkerPool,
    progress: Progress = silent,
    checkpoints: str = "",
) -> RunContent:
    """Score stored evidence, which stays where it is; its digests are kept.

    Args:
        spec: What to score.
        addresses: Where the evidence is.
        pool: Who does the work.
        progress: Called as work goes on.
        checkpoints: Where finished tasks are kept, if not in the run folder.
    """
    started = time.monotonic()
    try:
        answers = answer_stored(spec, addresses, pool, progress)
    except EvidenceError as error:
        if error.got != NOTHING_COUNTED or not pool.failed:
            raise
        first = pool.failed[0]
        got = f"{error.got}; the first failed with {first.error}: {first.message}"
        raise EvidenceError(error.what, got, error.expected, error.hint) from error
    kinds = by_kind(spec, addresses)
    columns, left_out = None, []
    conflicts = ConflictsFile(verdicts=[], judged=[], conflicts=[])
    if max(map(len, kinds.values())) > MOST_SAMPLES:
        most = f"{MOST_SAMPLES:,}"
        left_out = [f"No table per sample and no conflicts: there are more than {most} samples."]
    else:
        columns = stored_per_sample(answers.requests, kinds, pool)
        conflicts = conflicts_between(
            answers.verdicts, answers.scores, columns, _clusters(kinds), resampling_of(spec)
        )
    notes = [*notes_of(pool), *absent_chunks(addresses), *answers.notes, *left_out]
    answers = replace(answers, notes=tuple(notes), failed_tasks=pool.n_failed)
    record = stored_record(spec, answers, addresses, time.monotonic() - started, checkpoints)
    return RunContent(spec, answers, record, conflicts, columns)


def stored_record(
    spec: RunSpec,
    answers: AuditAnswers,
    addresses: Sequence[str],
    seconds: float,
    checkpoints: str = "",
    claim: Claim | None = None,
) -> MadeRecord:
    """Return what ``produced.json`` says of stored evidence."""
    return MadeRecord(
        explained=explained_record(spec, claim, answers.subject, ()),
        notes=list(answers.notes),
        inputs=digests_of(addresses),
        stored=list(addresses),
        checkpoints=checkpoints,
        failed_tasks=answers.failed_tasks,
        seconds_scoring=round(seconds, 1),
    )


def answer_stored(
    spec: RunSpec,
    addresses: Sequence[str],
    workers: Workers,
    progress: Progress = silent,
    *,
    on_error: OnError = "note",
) -> AuditAnswers:
    """The scores of a spec, from stored evidence."""
    requests = requests_named(spec.metrics) or None
    answers = answer_shards(
        [by_kind(spec, addresses)], requests, resampling_of(spec), progress, workers,
        on_error=on_error,
    )  # fmt: skip
    return replace(answers, subject=subject_of(spec))


def by_kind(spec: RunSpec, addresses: Sequence[str]) -> Mapping[type[Evidence], Shards]:
    """Stored bundles by kind; one inside another serves if there is no other."""
    kinds: dict[type[Evidence], StoredShards] = {}
    for address in addresses:
        bundle = stored(address)
        if bundle.kind in kinds:
            raise EvidenceError("evidence", f"two bundles of {bundle.kind.kind}", "one of a kind")
        kinds[bundle.kind] = bundle
    for address in addresses:
        for name, inner in stored(address).kind.inner_kinds():
            kinds.setdefault(inner, stored(address, name))
    if spec.resampling.clusters == "classes":
        return {kind: bundle.by_class() for kind, bundle in kinds.items()}
    return dict(kinds)


def largest_piece(kinds: Mapping[type[Evidence], Shards]) -> int:
    """Bytes of the largest piece once it is decoded, if all samples are as large as the first."""
    return max(bytes_of(shards.first()) * _most_rows(shards) for shards in kinds.values())


def _most_rows(shards: Shards) -> int:
    if isinstance(shards, StoredShards):
        return max(last - first for first, last, _ in shards.cuts)
    return len(shards)


def bytes_of(evidence: Evidence) -> int:
    """Of all its arrays."""
    arrays = (getattr(evidence, name) for name, _ in evidence.layouts())
    own = sum(entries(array).nbytes for array in arrays if array is not None)
    return own + sum(bytes_of(bundle) for _, bundle in evidence._inner())


def digests_of(addresses: Sequence[str]) -> dict[str, str]:
    """What was read: a digest of each store's header and list of pieces, which has theirs."""
    return {address: stored(address).digest() for address in addresses}


def absent_chunks(addresses: Sequence[str]) -> list[str]:
    """Of adopted arrays, how many chunks were not there."""
    bundles = [stored(address) for address in addresses]
    return [note for bundle in bundles for note in bundle.notes()]


def notes_of(pool: WorkerPool) -> list[str]:
    """What a reader must know first: pieces that were given up, a cluster open to anybody,
    machines that differ."""
    notes = [f"Engine: {pool.instead}"] if pool.instead else []
    notes += [*getattr(pool.pool, "notes", ()), *pool.notes]
    kinds = Counter(entry.made_on for entry in pool.used.values())
    if len(kinds) > 1:
        each = ", ".join(f"{count} on {kind[:16]}" for kind, count in sorted(kinds.items()))
        notes.append(f"Pieces were computed by machines that differ in last digits: {each}.")
    if not pool.failed:
        return notes
    return [
        *notes,
        f"Partial: {pool.n_failed} pieces failed three times and were left out (failed.parquet). "
        "The scores are those of the rest.",
    ]


def write_failed(out: Path, pool: WorkerPool) -> None:
    """The pieces that were given up, and why."""
    if pool.failed:
        rows = sorted(pool.failed, key=lambda failed: (failed.piece, failed.key))
        names = ("piece", "key", "error", "message", "traceback_sha256", "tries")
        columns = {name: [getattr(row, name) for row in rows] for name in names}
        write_parquet(out / "failed.parquet", columns)


def stored_per_sample(
    requests: Sequence[MetricRequest], kinds: Kinds, workers: Workers
) -> dict[str, list[Any]]:
    """Return the columns of ``_verdicts.per_sample.per_sample``, computed shard by shard."""
    columns = no_samples()
    for request in requests:
        shards = kinds.get(request.metric.needs)
        if shards is None or not is_of_samples(request):
            continue
        work = Work(
            what="samples",
            do=partial(_values, request),
            items=shards.pieces(),
            digests=shards.digests(),
            about={
                "samples of": [request.metric.name, request.metric.version],
                "options": {k: repr(v) for k, v in sorted(request.all_options().items())},
                "packages": [str(package) for package in request.metric.packages],
            },
            kept=False,  # the table is
        )
        names: list[str] = []
        parts = []
        for arrays, (samples, _) in zip(workers.each(work), shards.samples(), strict=True):
            if arrays is not None:
                names += [samples.name(i) for i in range(len(samples))]
                parts.append(arrays["value"])
        if parts:
            add_samples(columns, request, names, np.concatenate(parts))
    return columns


def _values(request: MetricRequest, piece: Any) -> Arrays:
    return {"value": sample_values(request, piece.evidence())}


def _clusters(kinds: Kinds) -> dict[str, int]:
    """The cluster of each sample by name, from the first evidence that has clusters."""
    for shards in kinds.values():
        clusters: dict[str, int] = {}
        for samples, _ in shards.samples():
            if samples.clusters is None:
                break
            clusters |= {samples.name(i): int(c) for i, c in enumerate(samples.clusters)}
        if clusters:
            return clusters
    return {}
