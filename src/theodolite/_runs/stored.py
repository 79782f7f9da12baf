"""Score evidence that lies in a store, piece by piece, into a run folder."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from theodolite._runs.engine.pool import WorkerPool
from theodolite._runs.folder.explained import explained_record
from theodolite._runs.folder.format import PRODUCED
from theodolite._runs.folder.headlines import requests_named, resampling_of, scores_file_of
from theodolite._runs.folder.run_file import MadeRecord
from theodolite._runs.folder.spec import RunSpec, subject_of
from theodolite._runs.stored_samples import write_samples
from theodolite._scoring.passes import NOTHING_COUNTED
from theodolite._storage.paths import confined
from theodolite._storage.records import write_record
from theodolite._storage.tables import write_parquet
from theodolite._verdicts.answers import AuditAnswers, OnError, answer_shards
from theodolite._verdicts.scores_file import write_scores
from theodolite.errors import EvidenceError, RefusedInput
from theodolite.evidence.base import Evidence, entries
from theodolite.evidence.produced import Progress, silent
from theodolite.evidence.shards import Shards
from theodolite.evidence.store import StoredShards, is_stored, stored
from theodolite.evidence.workers import Workers

BUCKETS = ("s3://", "gs://", "az://")
"""How addresses in a spec begin. Everything else is a path below the data folder."""


def no_pieces_at(address: str) -> RefusedInput:
    """The address is misspelt, or nothing was written there."""
    return RefusedInput(
        f"address {address!r}", "no evidence in pieces there", "header.json and the pieces",
        "Check the spelling; `theodolite data store` writes evidence in pieces.",
    )  # fmt: skip


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


def run_stored(
    spec: RunSpec,
    addresses: Sequence[str],
    out: Path,
    pool: WorkerPool,
    progress: Progress = silent,
    pieces: str = "",
) -> AuditAnswers:
    """Write all but ``run.json``. The evidence stays where it is; its digests are kept."""
    started = time.monotonic()
    try:
        answers = answer_stored(spec, addresses, pool, progress)
    except EvidenceError as error:
        if error.came != NOTHING_COUNTED or not pool.failed:
            raise
        first = pool.failed[0]
        got = f"{error.came}; the first failed with {first.error}: {first.message}"
        raise EvidenceError(error.what, got, error.needed, error.do) from error
    write_scores(out / "scores.json", scores_file_of(spec, answers))
    left_out = write_samples(out, spec, answers, by_kind(spec, addresses), pool)
    notes = [*notes_of(pool), *absent_chunks(addresses), *answers.notes, *left_out]
    write_record(
        out / PRODUCED,
        MadeRecord(
            explained=explained_record(spec, None, answers.subject, ()),
            notes=notes,
            inputs=digests_of(addresses),
            stored=list(addresses),
            pieces=pieces,
            failed_pieces=pool.n_failed,
            seconds_scoring=round(time.monotonic() - started, 1),
        ),
    )
    return replace(answers, notes=tuple(notes), failed_pieces=pool.n_failed)


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
