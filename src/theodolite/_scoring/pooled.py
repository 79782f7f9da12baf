"""Compute scores that need all samples at once, on a subsample if there are too many.

Used by `evaluate` and `theodolite compare` for metrics whose states do not add up over shards.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theodolite._scoring.column_blocks import ColumnBlocks, measure_from_parts, uses_column_blocks
from theodolite._scoring.counting import Slot, StateJob, get_sums_name, list_state_jobs, read_state
from theodolite._scoring.failures import (
    RAISED,
    describe_failure,
    encode_error,
    get_errors,
    is_limited_to_request,
)
from theodolite._scoring.plan import Plan
from theodolite._scoring.request import MetricRequest
from theodolite._scoring.subsamples import Subsample, SubsampleDrawer
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
    """Return the values of a request, or with ``catches`` the error that its metric raised."""
    jobs = list(list_state_jobs(request, plan, len(evidence)))
    if uses_column_blocks(request):
        return _measure_in_blocks(request, jobs, evidence, pooling, catches=catches)

    def measure() -> Arrays:
        arrays: dict[str, np.ndarray] = {}
        sums = _NullSums()
        for number, job in enumerate(jobs):
            bundle = pooling.bundle(evidence[job.experiment], plan)
            try:
                evidence_of_job = job.transform(bundle, sums.compute(job, bundle))
                values = read_state(job, job.compute_state(evidence_of_job))
            except Exception as error:
                if not catches or not is_limited_to_request(request.metric, error):
                    raise
                return {f"{number}:{RAISED}": encode_error(error)}
            arrays |= {f"{number}.{name}": array for name, array in _to_arrays(values).items()}
        return arrays

    description: dict[str, Any] = {
        "pooled": [job.describe({}) | {"read": repr(job.get_reading_options())} for job in jobs],
        "samples": plan.n,
        "seed": plan.resampling.seed,
        "shuffles": plan.resampling.shuffles,
    }
    digest = " ".join(pooling.subsample(shards, plan).digest for shards in evidence)
    arrays = pooling.workers.once(description, digest, measure)
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
    """Compute the values block by block in the workers."""
    by_slot: dict[Slot, Values] = {}
    for job in jobs:
        subsample = pooling.subsample(evidence[job.experiment], job.plan)
        try:
            parts = pooling.columns.measure_parts(job, subsample, catches=catches)
            if RAISED in parts:
                return describe_failure(request, job.stage, parts[RAISED])
            by_slot[job.slot] = measure_from_parts(request.metric.state, parts, job.plan.n)
        except Exception as error:
            if not catches or not is_limited_to_request(request.metric, error):
                raise
            return describe_failure(request, job.stage, encode_error(error))
    return by_slot


class _NullSums:
    """Sums over the samples that nulls need, computed once for all draws."""

    def __init__(self) -> None:
        self._sums: dict[tuple[int, str], Arrays] = {}

    def compute(self, job: StateJob, bundle: Evidence) -> dict[str, Arrays]:
        """Return the sums that the job's null needs, by name."""
        if not job.needs_sums:
            return {}
        key = (job.experiment, get_sums_name(job))
        if key not in self._sums:
            self._sums[key] = job.compute_sums(bundle)
        return {get_sums_name(job): self._sums[key]}


def _to_arrays(values: Values) -> dict[str, np.ndarray]:
    arrays = {"rows": values.rows, "defined": values.defined, "undefined": values.undefined}
    moments = {f"{MOMENT}{name}": array for name, array in values.moments.items()}
    return {n: np.asarray(a) for n, a in (arrays | moments).items() if a is not None}


def _from_arrays(arrays: Mapping[str, np.ndarray], prefix: str) -> Values:
    fields = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
    moments = {n.removeprefix(MOMENT): a for n, a in fields.items() if n.startswith(MOMENT)}
    return Values(fields["rows"], fields.get("defined"), fields.get("undefined"), moments)


class Pooling:
    """Subsamples for scores that need all samples at once, drawn once for all metrics."""

    def __init__(self, remaining: Mapping[int, Sequence[int]], workers: Workers) -> None:
        self.workers, self.columns = workers, ColumnBlocks(workers)
        self._drawer = SubsampleDrawer(remaining, workers)

    def subsample(self, shards: Shards, plan: Plan) -> Subsample:
        """Return the subsample without reading its rows."""
        return self._drawer.draw(shards, plan.n, plan.resampling.seed)

    def compute_values(self, job: StateJob, shards: Shards) -> Values:
        """Return the values of a job on the unchanged evidence."""
        if not uses_column_blocks(job.request):
            return read_state(job, job.compute_state(self.bundle(shards, job.plan)))
        parts = self.columns.measure_parts(job, self.subsample(shards, job.plan))
        return measure_from_parts(job.request.metric.state, parts, job.plan.n)

    def bundle(self, shards: Shards, plan: Plan) -> Evidence:
        """Return all rows of the subsample in memory."""
        return self._drawer.bundle(shards, plan.n, plan.resampling.seed)
