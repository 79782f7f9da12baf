"""Scores that need all samples at once: computed from as many as they can take, some concepts at a
time by the workers where that can be, else here."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theodolite._scoring.counting import Slot, StateJob, get_sums_name, list_state_jobs, read
from theodolite._scoring.drawing import Drawing, Subsample
from theodolite._scoring.failures import (
    RAISED,
    describe_failure,
    encode_error,
    get_errors,
    is_limited_to_request,
)
from theodolite._scoring.pair_blocks import ColumnBlocks, measure_from_parts, uses_column_blocks
from theodolite._scoring.plan import Plan
from theodolite._scoring.request import MetricRequest
from theodolite._scoring.values import Values
from theodolite.evidence.base import Evidence
from theodolite.evidence.shards import Shards
from theodolite.evidence.workers import Arrays, Workers
from theodolite.results import Failed

MOMENT = "moment."


def measure_pooled(
    request: MetricRequest,
    plan: Plan,
    evidence: Sequence[Shards],
    pooling: "Pooling",
    *,
    catches: bool = False,
) -> dict[Slot, Values] | Failed:
    """What a score says that needs all samples at once, or as many as it can take; with
    ``catches``, what its metric raised instead."""
    jobs = list(list_state_jobs(request, plan, len(evidence)))
    if uses_column_blocks(request):
        return _measure_in_blocks(request, jobs, evidence, pooling, catches=catches)

    def measured() -> Arrays:
        arrays: dict[str, np.ndarray] = {}
        known = _KnownSums()
        for number, job in enumerate(jobs):
            bundle = pooling.bundle(evidence[job.experiment], plan)
            try:
                values = read(job, job.state(job.changed(bundle, known.of(job, bundle))))
            except Exception as error:
                if not catches or not is_limited_to_request(request.metric, error):
                    raise
                return {f"{number}:{RAISED}": encode_error(error)}
            arrays |= {f"{number}.{name}": array for name, array in _to_arrays(values).items()}
        return arrays

    description: dict[str, Any] = {
        "pooled": [job.describe({}) | {"read": repr(job.finish())} for job in jobs],
        "samples": plan.n,
        "seed": plan.resampling.seed,
        "shuffles": plan.resampling.shuffles,
    }
    digest = " ".join(pooling.subsample(shards, plan).digest for shards in evidence)
    arrays = pooling.workers.once(description, digest, measured)
    for number, content in get_errors(arrays).items():
        return describe_failure(request, jobs[int(number)].stage, content)
    return {job.slot: _from_arrays(arrays, f"{number}.") for number, job in enumerate(jobs)}


def _measure_in_blocks(
    request: MetricRequest,
    jobs: Sequence[StateJob],
    evidence: Sequence[Shards],
    pooling: "Pooling",
    *,
    catches: bool,
) -> dict[Slot, Values] | Failed:
    """The same some concepts at a time, by the workers."""
    by_slot: dict[Slot, Values] = {}
    for job in jobs:
        subsample = pooling.subsample(evidence[job.experiment], job.plan)
        try:
            parts = pooling.columns.parts(job, subsample, catches=catches)
            if RAISED in parts:
                return describe_failure(request, job.stage, parts[RAISED])
            by_slot[job.slot] = measure_from_parts(request.metric.state, parts, job.plan.n)
        except Exception as error:
            if not catches or not is_limited_to_request(request.metric, error):
                raise
            return describe_failure(request, job.stage, encode_error(error))
    return by_slot


class _KnownSums:
    """What nulls must know about the samples, learned once for all their draws."""

    def __init__(self) -> None:
        self._sums: dict[tuple[int, str], Arrays] = {}

    def of(self, job: StateJob, bundle: Evidence) -> dict[str, Arrays]:
        """Of the seed's samples that the score is computed from."""
        if not job.learns:
            return {}
        key = (job.experiment, get_sums_name(job))
        if key not in self._sums:
            self._sums[key] = job.sums(bundle)
        return {get_sums_name(job): self._sums[key]}


def _to_arrays(values: Values) -> dict[str, np.ndarray]:
    arrays = {"rows": values.rows, "defined": values.defined, "undefined": values.undefined}
    moments = {f"{MOMENT}{name}": array for name, array in values.moments.items()}
    return {n: np.asarray(a) for n, a in (arrays | moments).items() if a is not None}


def _from_arrays(arrays: Mapping[str, np.ndarray], prefix: str) -> Values:
    own = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
    moments = {n.removeprefix(MOMENT): a for n, a in own.items() if n.startswith(MOMENT)}
    return Values(own["rows"], own.get("defined"), own.get("undefined"), moments)


class Pooling:
    """The samples that scores are computed from which need all at once: drawn once for all."""

    def __init__(self, left: Mapping[int, Sequence[int]], workers: Workers) -> None:
        self.workers, self.columns = workers, ColumnBlocks(workers)
        self._drawing = Drawing(left, workers)

    def subsample(self, shards: Shards, plan: Plan) -> Subsample:
        """Where they lie."""
        return self._drawing(shards, plan.n, plan.resampling.seed)

    def values(self, job: StateJob, shards: Shards) -> Values:
        """What the score of a job says about the evidence as it is."""
        if not uses_column_blocks(job.request):
            return read(job, job.state(self.bundle(shards, job.plan)))
        parts = self.columns.parts(job, self.subsample(shards, job.plan))
        return measure_from_parts(job.request.metric.state, parts, job.plan.n)

    def bundle(self, shards: Shards, plan: Plan) -> Evidence:
        """All of them here, for scores that cannot be cut."""
        return self._drawing.bundle(shards, plan.n, plan.resampling.seed)
