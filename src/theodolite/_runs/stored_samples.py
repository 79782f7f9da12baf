"""What samples of stored evidence gave to each score, and where the questions disagree on them."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._runs.folder.headlines import resampling_of
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.run_conflicts import FILE as CONFLICTS
from theodolite._scoring.request import MetricRequest
from theodolite._storage.records import write_record
from theodolite._storage.tables import write_parquet
from theodolite._verdicts.answers import AuditAnswers
from theodolite._verdicts.conflicts.matrix import conflicts_between
from theodolite._verdicts.per_sample import add_samples, is_of_samples, no_samples, sample_values
from theodolite.evidence.base import Evidence
from theodolite.evidence.shards import Shards
from theodolite.evidence.workers import Arrays, Work, Workers

MOST_SAMPLES = 200_000
"""Samples up to which there is a table of them: the driver holds it."""
Kinds = Mapping[type[Evidence], Shards]


def write_samples(
    out: Path, spec: RunSpec, answers: AuditAnswers, kinds: Kinds, workers: Workers
) -> list[str]:
    """The table per sample and the conflicts; or a note why there are none."""
    if max(map(len, kinds.values())) > MOST_SAMPLES:
        most = f"{MOST_SAMPLES:,}"
        return [f"No table per sample and no conflicts: there are more than {most} samples."]
    columns = stored_per_sample(answers.requests, kinds, workers)
    write_parquet(out / "per_sample.parquet", columns)
    disagree = conflicts_between(
        answers.verdicts, answers.scores, columns, _clusters(kinds), resampling_of(spec)
    )
    if disagree.judged or disagree.verdicts:
        write_record(out / CONFLICTS, disagree)
    return []


def stored_per_sample(
    requests: Sequence[MetricRequest], kinds: Kinds, workers: Workers
) -> dict[str, list[Any]]:
    """As ``run_folder.written.per_sample``, piece by piece by the workers."""
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
