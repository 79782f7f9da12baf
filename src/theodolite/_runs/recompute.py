"""Compute a finished run again, all of it or a sample: it must come out the same."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._runs.addresses import BUCKETS
from theodolite._runs.compared import compare_models as compared_records
from theodolite._runs.content import score_bundles as answer_made
from theodolite._runs.engine.identity import arithmetic
from theodolite._runs.engine.pool import LedgerCheck, WorkerPool
from theodolite._runs.engine.processes import Here
from theodolite._runs.folder.headlines import requests_named, resampling_of, scores_file_of
from theodolite._runs.folder.piece_list import check_pieces, ledger_of
from theodolite._runs.folder.run_file import MadeRecord, RunRecord, read_produced, read_subject
from theodolite._runs.folder.seal import verify
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.run_conflicts import FILE as CONFLICTS
from theodolite._runs.run_conflicts import conflicts_of_run
from theodolite._runs.stored import answer_stored, digests_of
from theodolite._storage.paths import confined
from theodolite._storage.records import Record, read_record, write_record
from theodolite._storage.tables import read_parquet
from theodolite._verdicts.answers import answer, by_kind, requests_for
from theodolite._verdicts.per_sample import per_sample
from theodolite._verdicts.scores_file import ComparedFile, ComparedRecord, ScoresFile, score_record
from theodolite.errors import EvidenceError, UnsafeInputError, VerificationError
from theodolite.evidence.base import Evidence
from theodolite.evidence.files import load
from theodolite.evidence.produced import ComparedModel, Progress, silent
from theodolite.metrics.catalogue import catalogue


def share_of(text: str) -> float:
    """A share written as ``1%`` or ``0.01``.

    >>> share_of("1%"), share_of("all")
    (0.01, 1.0)
    """
    try:
        share = 1.0 if text == "all" else float(text.removesuffix("%"))
    except ValueError:
        share = 0.0
    share = share / 100 if text.endswith("%") else share
    if not 0 < share <= 1:
        raise EvidenceError("recompute", repr(text), "a share such as 1%, or all")
    return share


def recompute(
    folder: Path, progress: Progress = silent, share: float = 1.0, *, buckets: bool = False
) -> int:
    """Compute scores again from the evidence: they must be the same bytes.

    Of evidence in pieces a share of the pieces is computed again, at least one of each work, and
    all scores from the pieces; of evidence in the run folder a share of the scores. A folder from
    somebody else may name buckets, which would be asked with your keys: not without ``buckets``.
    """
    n = verify(folder)
    spec = read_record(folder / "run.json", RunRecord).spec
    made_record = read_produced(folder)
    named = [
        address
        for address in (*made_record.stored, made_record.checkpoints)
        if address.startswith(BUCKETS)
    ]
    if named and not buckets:
        raise EvidenceError(
            f"run {folder.name!r}", f"the address {named[0]}", "your consent to ask it",
            "Pass --buckets if you trust this folder.",
        )  # fmt: skip
    check_pieces(folder, buckets=buckets)
    if made_record.stored:
        same = _stored_again(folder, spec, made_record, progress, share)
    elif share < 1:
        same = _some_again(folder, spec, progress, share)
    else:
        same = _all_again(folder, spec, progress)
    if not same:
        raise VerificationError(
            f"run {folder.name!r}",
            "other scores when computed again",
            "the stored ones",
            decided_otherwise(folder),
        )
    return n


def decided_otherwise(folder: Path) -> str:
    """Of the stored verdicts, those that this version reads from another score or version."""
    known, stored = catalogue(), read_record(folder / "scores.json", ScoresFile)
    changes = []
    for verdict in stored.verdicts:
        if verdict.answer == "not_evaluated":
            continue
        metric = known.get(verdict.metric)
        version = next((s.version for s in stored.scores if s.metric == verdict.metric), None)
        before = f"{verdict.question} was decided by {verdict.metric} {version}"
        if metric is None:
            changes.append(f"{before}, which is not installed")
        elif not metric.decides:
            now = [m.name for m in known.values() if m.question == verdict.question and m.decides]
            changes.append(f"{before}, which decides no more ({' or '.join(now)} does)")
        elif metric.version != version:
            changes.append(f"{before}, which is at version {metric.version}")
    if not changes:
        return ""
    return f"This version decides otherwise: {'; '.join(changes)}. Audit the evidence again."


def _stored_again(
    folder: Path, spec: RunSpec, made_record: MadeRecord, progress: Progress, share: float
) -> bool:
    for address, digest in digests_of(made_record.stored).items():
        if made_record.inputs.get(address) != digest:
            raise VerificationError(f"evidence {address!r}", "other content", "that of the run")
    record = read_record(folder / "run.json", RunRecord)
    code = {"theodolite": record.code, "packages": record.identity.packages}
    ledger = ledger_of(folder)
    checking = WorkerPool(Here(), ledger, progress, code=code, check=LedgerCheck(share))
    checking.given_up = frozenset(_given_up(folder))
    try:
        answers = answer_stored(spec, made_record.stored, checking, progress)
    except VerificationError as error:
        if not made_record.checkpoints or checking.ledger.done():
            raise
        raise UnsafeInputError(
            f"pieces {made_record.checkpoints!r}", "nothing there", "the pieces of the run",
            "They must be where the run had them.",
        ) from error  # fmt: skip
    return _same_bytes(folder / "scores.json", scores_file_of(spec, answers))


def _given_up(folder: Path) -> list[str]:
    path = folder / "failed.parquet"
    return [str(key) for key in read_parquet(path)["key"]] if path.is_file() else []


def _evidence(folder: Path, spec: RunSpec) -> list[list[Evidence]]:
    seeds = [folder / "evidence" / f"seed-{seed}" for seed in spec.seeds]
    stored = [path for path in seeds if path.is_dir()]
    if not stored:
        raise UnsafeInputError(
            f"run {folder.name!r}", "no evidence of its seeds", "evidence/seed-…"
        )
    return [[load(kind) for kind in sorted(seed.iterdir())] for seed in stored]


def _all_again(folder: Path, spec: RunSpec, progress: Progress) -> bool:
    evidence = _evidence(folder, spec)
    subject = read_subject(folder)
    answers = replace(answer_made(spec, evidence, progress), subject=subject)
    same = _same_bytes(folder / "scores.json", scores_file_of(spec, answers))
    if (folder / "compared.json").is_file():
        stored_models = read_record(folder / "compared.json", ComparedFile).models
        others = [_load_compared(folder, record, spec) for record in stored_models[1:]]
        records, _ = compared_records(spec, answers, stored_models[0].about, others, progress)
        same = same and _same_bytes(folder / "compared.json", ComparedFile(models=records))
    if (folder / CONFLICTS).is_file():
        columns = per_sample(answers.requests, evidence[0])
        disagree = conflicts_of_run(spec, (answers.scores, subject), columns, evidence[0])
        same = same and _same_bytes(folder / CONFLICTS, disagree)
    return same


def _some_again(folder: Path, spec: RunSpec, progress: Progress, share: float) -> bool:
    """A share of the scores, drawn anew each time."""
    evidence = _evidence(folder, spec)
    requests = requests_named(spec.metrics) or requests_for(by_kind(evidence[0]))[0]
    n = max(round(share * len(requests)), 1)
    chosen = np.random.default_rng().choice(len(requests), n, replace=False)
    some = [requests[i] for i in sorted(chosen)]
    answers = answer(evidence, some, resampling_of(spec), progress, on_error="note")
    known = read_record(folder / "scores.json", ScoresFile).scores
    return all(score_record(score) in known for score in answers.scores)


def other_arithmetic(folder: Path) -> bool:
    """Whether the run was computed by another kind of machine: then last digits may differ."""
    return read_record(folder / "run.json", RunRecord).identity.arithmetic != arithmetic()


def _same_bytes(path: Path, record: Record) -> bool:
    """Return whether writing the record would give the file as it is."""
    again = path.with_name(f".{path.name}.again")
    try:
        write_record(again, record)
        computed = again.read_bytes()
        stored = path.read_bytes()
    finally:
        again.unlink(missing_ok=True)
    if computed == stored or not other_arithmetic(path.parent):
        return computed == stored
    return _nearly(json.loads(computed), json.loads(stored))


def _nearly(computed: Any, stored: Any) -> bool:
    """Whether two records are the same but for last digits of numbers."""
    if isinstance(computed, float) and isinstance(stored, float):
        return bool(np.isclose(computed, stored, rtol=1e-9, atol=1e-12, equal_nan=True))
    if isinstance(computed, dict) and isinstance(stored, dict):
        return computed.keys() == stored.keys() and all(
            _nearly(value, stored[name]) for name, value in computed.items()
        )
    if isinstance(computed, list) and isinstance(stored, list):
        return len(computed) == len(stored) and all(map(_nearly, computed, stored))
    return bool(computed == stored)


def _load_compared(folder: Path, record: ComparedRecord, spec: RunSpec) -> ComparedModel:
    root = confined(folder / "compared", record.name)
    seeds = [root / f"seed-{seed}" for seed in spec.seeds]
    evidence = [[load(kind) for kind in sorted(s.iterdir())] for s in seeds if s.is_dir()]
    if not evidence:
        raise UnsafeInputError(f"model {record.name!r}", "no stored evidence", "compared/…/seed-…")
    return ComparedModel(record.name, record.about, evidence)
