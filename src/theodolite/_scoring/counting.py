"""List and compute the states (sums over samples) that scores are read from.

Used by `passes`, `pooled` and `column_blocks`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from theodolite._scoring.failures import RAISED, encode_error, is_limited_to_request
from theodolite._scoring.plan import Plan
from theodolite._scoring.request import MetricRequest
from theodolite._scoring.values import Values
from theodolite._stats.groups import SampleGroups, sum_resampled_groups
from theodolite._storage.packed_arrays import digest_arrays
from theodolite.evidence.base import Evidence
from theodolite.evidence.plugins import is_ours
from theodolite.evidence.workers import Arrays
from theodolite.metrics.base import NullModel, Weights, arrays_of, state_from
from theodolite.metrics.states import SUM

Role = Literal["value", "null", "best"]
FIRST_ROW = slice(0, 1)
"""Row of a state in which each sample counts once."""
Slot = tuple[Role, int, str, int]
"""Role, experiment seed, null name and draw of a state."""


@dataclass(frozen=True)
class StateJob:
    """One state to compute: from the evidence, under a null, or from an ideal explanation."""

    request: MetricRequest
    """Metric with the options that this role needs."""
    plan: Plan
    role: Role
    experiment: int
    """Index of the experiment seed that the evidence belongs to."""
    rows: slice
    null: str = ""
    draw: int = 0
    """Seed of a null that changes the evidence."""

    @property
    def null_model(self) -> NullModel | None:
        """Null model of the job, or None for other roles."""
        return next((b for b in self.request.metric.nulls if b.name == self.null), None)

    @property
    def stage(self) -> str:
        """Role of the job in words, for error messages."""
        names = {"value": "value", "null": f"null {self.null}", "best": "ideal"}
        return names[self.role]

    @property
    def slot(self) -> Slot:
        """Key of the state in the results of one request."""
        return self.role, self.experiment, self.null, self.draw

    @property
    def is_grouped(self) -> bool:
        """True if the rows of the state are groups of samples instead of resamples."""
        return bool(self.plan.groups) and self.rows.start > 0

    @property
    def needs_sums(self) -> bool:
        """True if the null needs sums over all samples before it can be applied."""
        return self.null_model is not None and self.null_model.sums is not None

    def compute_sums(self, evidence: Evidence) -> dict[str, np.ndarray]:
        """Return the sums over these samples that the null needs."""
        null = self.null_model
        assert null is not None and null.sums is not None  # noqa: S101, PT018  it is asked for so
        return {name: np.asarray(array) for name, array in null.sums(evidence).items()}

    @property
    def evidence_key(self) -> tuple[str, str, int]:
        """Key that jobs share if they read the same transformed evidence."""
        metric = self.request.metric.name if self.role != "value" else ""
        return metric, self.null, self.draw

    def transform(self, evidence: Evidence, sums: Mapping[str, Arrays]) -> Any:
        """Return the evidence to count: unchanged, under the null, or ideal."""
        if self.role == "best":
            assert self.request.metric.ideal is not None  # noqa: S101  else it is not asked for
            return self.request.metric.ideal(evidence)
        null = self.null_model
        if null is None or null.on == "state" or null.expected is not None:
            return evidence
        return null.made(evidence, self.draw, sums.get(get_sums_name(self)))

    def compute_state(self, evidence: Evidence, sums: Mapping[str, Arrays] | None = None) -> Any:
        """Return the state of evidence that `transform` returned."""
        counting_options = self.request.metric.counting_options()
        options = {k: v for k, v in self.request.options.items() if k in counting_options}
        weights: Weights = self.plan.weights(evidence, self.rows)
        if isinstance(weights, SampleGroups) and not is_ours(self.request.metric.state):
            weights = weights.to_weights()  # code of other packages expects an array
        null = self.null_model
        if null is not None and null.expected is not None:
            null_sums = (sums or {}).get(get_sums_name(self))
            return self.request.metric.null_state(null, evidence, weights, null_sums, **options)
        return self.request.metric.state.of(evidence, weights, **options)

    def get_reading_options(self) -> dict[str, Any]:
        """Return the options that only change how a state is read."""
        counting_options = self.request.metric.counting_options()
        return {k: v for k, v in self.request.options.items() if k not in counting_options}

    def describe(self, sums: Mapping[str, Arrays]) -> dict[str, Any]:
        """Return everything but the evidence that decides the state, for its digest."""
        metric = self.request.metric
        name, options = get_sums_name(self), self.request.all_options()
        return {
            "metric": metric.name,
            "version": metric.version,
            "options": {k: repr(options[k]) for k in sorted(metric.counting_options())},
            "role": self.role,
            "null": self.null,
            "draw": self.draw,
            "rows": [self.rows.start, self.rows.stop],
            "plan": self.plan.describe(),
            "sums": digest_arrays(sums[name]) if name in sums else "",
        } | self._packages()

    def _packages(self) -> dict[str, Any]:
        """Return the packages whose code decides the state, if they are not theodolite."""
        packages = self.request.metric.packages
        return {"packages": [vars(package) for package in packages]} if packages else {}


def get_sums_name(job: StateJob) -> str:
    """Return the name of the sums that a null needs; they do not depend on the options."""
    return f"{job.request.metric.name}: {job.null}"


def list_state_jobs(request: MetricRequest, plan: Plan, experiments: int) -> Iterator[StateJob]:
    """List the states that the scores of one request are read from."""
    for seed in range(experiments):
        # how samples vary is learned from the first
        rows = plan.state_rows if seed == 0 else FIRST_ROW
        yield StateJob(request, plan, "value", seed, rows)
    for null in request.metric.nulls:
        null_request = MetricRequest(request.metric, request.options | null.options)
        draws = plan.seeds(null) if null.on == "evidence" else [0]
        for seed in range(experiments):
            rows = plan.state_rows if seed == 0 and null.on == "evidence" else FIRST_ROW
            for draw in draws:
                yield StateJob(null_request, plan, "null", seed, rows, null.name, draw)
    if request.metric.ideal is not None:
        ideal = MetricRequest(request.metric, request.options | request.metric.ideal_options)
        varies = request.metric.share_from and request.metric.best_varies
        rows = plan.state_rows if varies else FIRST_ROW
        yield StateJob(ideal, plan, "best", 0, rows)


def split_into_blocks(job: StateJob, row_bytes: int, max_bytes: int) -> Iterator[StateJob]:
    """Split a job by resamples so that the states of each part fit into ``max_bytes``."""
    step = max(max_bytes // max(row_bytes, 1), 1)
    first, end = job.rows.start, job.rows.stop
    yield from (replace(job, rows=slice(at, min(at + step, end))) for at in range(first, end, step))


def measure_state_bytes(job: StateJob, first: Evidence) -> int:
    """Return the size in bytes of a state with a single row."""
    evidence = job.transform(first, {}) if job.role == "best" else first
    single = replace(job, rows=FIRST_ROW).compute_state(evidence)
    return sum(np.asarray(part).nbytes for part in vars(single).values())


def count_states(
    jobs: Sequence[StateJob], sums: Mapping[str, Arrays], shard: Any, *, catches: bool = False
) -> dict[str, np.ndarray]:
    """Return the states of one shard; a module-level function, so that workers can load it.

    With ``catches``, an error of a metric replaces its state.
    """
    evidence = shard.evidence()
    arrays: dict[str, np.ndarray] = {}
    cache: tuple[tuple[str, str, int], Any] | None = None
    for number, job in enumerate(jobs):
        try:
            if cache is None or job.evidence_key != cache[0]:
                cache = (job.evidence_key, job.transform(evidence, sums))
            state = arrays_of(job.compute_state(cache[1], sums))
        except Exception as error:
            if not catches or not is_limited_to_request(job.request.metric, error):
                raise
            state = {RAISED: encode_error(error)}
        for name, array in state.items():
            arrays[f"{number}:{name}"] = array
    return arrays


def get_fields(jobs: Sequence[StateJob], arrays: Arrays) -> list[dict[str, np.ndarray]]:
    """Return the fields of each job's state from the arrays of ``count_states``."""
    fields_per_job: list[dict[str, np.ndarray]] = [{} for _ in jobs]
    for name, array in arrays.items():
        number, _, field = name.partition(":")
        fields_per_job[int(number)][field] = array
    return fields_per_job


def sum_for_nulls(
    jobs: Sequence[StateJob], shard: Any, *, catches: bool = False
) -> dict[str, np.ndarray]:
    """Return the sums over one shard that nulls need."""
    evidence, sums = shard.evidence(), {}
    for job in jobs:
        try:
            null_sums = job.compute_sums(evidence)
        except Exception as error:
            if not catches or not is_limited_to_request(job.request.metric, error):
                raise
            null_sums = {RAISED: encode_error(error)}
        for name, array in null_sums.items():
            sums[f"{get_sums_name(job)}:{name}"] = array
    return sums


def read_state(job: StateJob, state: Any) -> Values:
    """Read the values of a state, or of all draws of a null that is applied to the state."""
    null = job.null_model
    if null is None or null.on == "evidence":
        return Values.from_state(state, job.get_reading_options())
    options, seeds = job.get_reading_options(), job.plan.seeds(null)
    draws = [null.made(state, seed).value(**options) for seed in seeds]
    return Values(np.concatenate(draws))


def read_grouped_state(
    job: StateJob, blocks: Sequence[Mapping[str, np.ndarray]], max_bytes: int
) -> Values:
    """Read the values of a state of groups and of its resamples, ``max_bytes`` at a time."""
    first, weights = blocks[0], job.plan.group_weights()
    sums = {
        name: np.concatenate([block[name] for block in blocks])
        for name in first
        if name.startswith(SUM)
    }
    columns = np.concatenate([a.reshape(len(a), -1) for a in sums.values()], axis=1)
    ends = np.cumsum([math.prod(array.shape[1:]) for array in sums.values()])[:-1]
    step = max(max_bytes // max(columns[:1].nbytes, 1), 1)
    parts = []
    for at in range(0, len(weights), step):
        cut = np.split(sum_resampled_groups(weights[at : at + step], columns), ends, axis=1)
        rows = {
            name: part.reshape(-1, *array.shape[1:])
            for (name, array), part in zip(sums.items(), cut, strict=True)
        }
        parts.append(read_state(job, state_from(job.request.metric.state, {**first, **rows})))
    return Values.concatenate(parts)
