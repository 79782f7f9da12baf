"""Compute a finished run again, all of it or a sample: it must come out the same."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._runs.engine.local_processes import CurrentProcess
from theodolite._runs.engine.process_identity import digest_arithmetic
from theodolite._runs.engine.worker_pool import CheckpointCheck, WorkerPool
from theodolite._runs.folder.checkpoint_list import check_checkpoints, open_checkpoint_store
from theodolite._runs.folder.checksums import verify_checksums
from theodolite._runs.folder.file_names import CONFLICTS, SCORES
from theodolite._runs.folder.spec_answers import build_requests, build_scores_file
from theodolite._runs.folder_reader import RunFolder
from theodolite._runs.missing_shards import BUCKETS
from theodolite._runs.run_content import score_evidence, score_run
from theodolite._runs.stored_bundles import open_addresses
from theodolite._storage.records import Record, write_record
from theodolite._storage.tables import read_parquet
from theodolite._verdicts.answers import AuditAnswers, MissingScore, answer, by_kind, requests_for
from theodolite._verdicts.scores_file import ComparedFile, score_record
from theodolite.errors import EvidenceError, UnsafeInputError, VerificationError
from theodolite.evidence.pipeline_output import ComparedModel, Produced, Progress, silent
from theodolite.metrics.catalogue import catalogue


def parse_share(text: str) -> float:
    """Parse a fraction written as ``1%`` or ``0.01``.

    >>> parse_share("1%"), parse_share("all")
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

    For sharded evidence, a fraction of the tasks is computed again, at least one of each pass, and
    all scores from the pieces; of evidence in the run folder a share of the scores. A folder from
    a third party may name buckets, which would be read with your keys: not without ``buckets``.
    """
    n, run = verify_checksums(folder), RunFolder(folder)
    made_record = run.made_record
    places = (*made_record.stored, made_record.checkpoints)
    named = [address for address in places if address.startswith(BUCKETS)]
    if named and not buckets:
        raise EvidenceError(
            f"run {folder.name!r}", f"the address {named[0]}", "your consent to ask it",
            "Pass --buckets if you trust this folder.",
        )  # fmt: skip
    check_checkpoints(folder, buckets=buckets)
    if made_record.stored:
        same = _recompute_stored(run, progress, share)
    elif share < 1:
        same = _recompute_sample(run, progress, share)
    else:
        same = _recompute_all(run, progress)
    if not same:
        raise VerificationError(
            f"run {folder.name!r}", "other scores when computed again", "the stored ones",
            explain_other_scores(run),
        )  # fmt: skip
    return n


def explain_other_scores(run: RunFolder) -> str:
    """Name the stored verdicts that this version reads from another score or version."""
    known, stored = catalogue(), run.scores_file
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


def _recompute_stored(run: RunFolder, progress: Progress, share: float) -> bool:
    record, made_record = run.record, run.made_record
    stored = open_addresses(record.spec, made_record.stored)
    for address, digest in stored.digests().items():
        if made_record.inputs.get(address) != digest:
            raise VerificationError(f"evidence {address!r}", "other content", "that of the run")
    code = {"theodolite": record.code, "packages": record.identity.packages}
    check = CheckpointCheck(share)
    workers = WorkerPool(
        CurrentProcess(), open_checkpoint_store(run.folder), progress, code=code, check=check
    )
    failed = run.folder / "failed.parquet"
    if failed.is_file():
        workers.given_up = frozenset(map(str, read_parquet(failed)["key"]))
    try:
        answers = score_evidence(record.spec, (), progress, stored=stored, workers=workers)
    except VerificationError as error:
        if not made_record.checkpoints or workers.checkpoints.done():
            raise
        raise UnsafeInputError(
            f"pieces {made_record.checkpoints!r}", "nothing there", "the checkpoints of the run",
            "They must be where the run had them.",
        ) from error  # fmt: skip
    answers = replace(answers, subject=record.spec.stated_subject)
    answers = _with_left_out(run, answers)
    return _writes_same_bytes(run.folder / SCORES, build_scores_file(record.spec, answers))


def _recompute_all(run: RunFolder, progress: Progress) -> bool:
    spec, models = run.record.spec, run.compared()
    others = [ComparedModel(m.name, m.about, run.load_bundles(m.name)) for m in models[1:]]
    description = models[0].about if models else {}
    produced = Produced(run.load_bundles(), compared=others, about=description, subject=run.subject)
    content = score_run(spec, produced, progress)
    answers = _with_left_out(run, content.answers)
    again: dict[str, Record] = {SCORES: build_scores_file(spec, answers)}
    if models:
        again["compared.json"] = ComparedFile(models=list(content.models))
    if (run.folder / CONFLICTS).is_file():
        again[CONFLICTS] = content.conflicts
    return all(_writes_same_bytes(run.folder / name, record) for name, record in again.items())


def _with_left_out(run: RunFolder, answers: AuditAnswers) -> AuditAnswers:
    """Return the answers with the scores that the choice of metrics left out, as the run says.

    The spec lists what was chosen; why others were left out is only in the scores file.
    """
    chosen = {metric.name for metric in run.record.spec.metrics}
    if not chosen:
        return answers
    left_out = tuple(
        MissingScore(record.metric, tuple(record.needs))
        for record in run.scores_file.not_computed
        if record.metric not in chosen
    )
    return replace(answers, not_computed=left_out or answers.not_computed)


def _recompute_sample(run: RunFolder, progress: Progress, share: float) -> bool:
    """Compute a random fraction of the scores, drawn again each time."""
    spec, evidence = run.record.spec, run.load_bundles()
    requests = build_requests(spec.metrics) or requests_for(by_kind(evidence[0]))[0]
    n = max(round(share * len(requests)), 1)
    chosen = np.random.default_rng().choice(len(requests), n, replace=False)
    some = [requests[i] for i in sorted(chosen)]
    answers = answer(evidence, some, spec.resampling.draws(), progress, on_error="note")
    return all(score_record(score) in run.scores_file.scores for score in answers.scores)


def has_other_arithmetic(folder: Path) -> bool:
    """Whether the run was computed by another kind of machine: then last digits may differ."""
    return RunFolder(folder).record.identity.arithmetic != digest_arithmetic()


def _writes_same_bytes(path: Path, record: Record) -> bool:
    """Return whether writing the record would give the file as it is."""
    again = path.with_name(f".{path.name}.again")
    try:
        write_record(again, record)
        computed = again.read_bytes()
        stored = path.read_bytes()
    finally:
        again.unlink(missing_ok=True)
    if computed == stored or not has_other_arithmetic(path.parent):
        return computed == stored
    return _is_nearly_equal(json.loads(computed), json.loads(stored))


def _is_nearly_equal(computed: Any, stored: Any) -> bool:
    """Return whether two records are the same but for last digits of numbers."""
    if isinstance(computed, float) and isinstance(stored, float):
        return bool(np.isclose(computed, stored, rtol=1e-9, atol=1e-12, equal_nan=True))
    if isinstance(computed, dict) and isinstance(stored, dict):
        return computed.keys() == stored.keys() and all(
            _is_nearly_equal(value, stored[name]) for name, value in computed.items()
        )
    if isinstance(computed, list) and isinstance(stored, list):
        return len(computed) == len(stored) and all(map(_is_nearly_equal, computed, stored))
    return bool(computed == stored)
