"""Which sums a score is read from: of the evidence, of its nulls, of an ideal explanation."""

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
from theodolite._storage.packed import digest_of
from theodolite.evidence.base import Evidence
from theodolite.evidence.plugins import is_ours
from theodolite.evidence.workers import Arrays
from theodolite.metrics.base import NullModel, Weights, arrays_of, state_from
from theodolite.metrics.states import SUM

Role = Literal["value", "null", "best"]
ONCE = slice(0, 1)
"""The row in which each sample counts once."""
Slot = tuple[Role, int, str, int]
"""What a state is for: its role, the experiment's seed, the null and its draw."""


@dataclass(frozen=True)
class StateJob:
    """One state to be made of all samples: of the evidence, of a null, or of an ideal."""

    request: MetricRequest
    """With the options that this role needs."""
    plan: Plan
    role: Role
    experiment: int
    """Which of the experiment's seeds the evidence is from."""
    rows: slice
    null: str = ""
    draw: int = 0
    """The seed of a null on evidence."""

    @property
    def null_model(self) -> NullModel | None:
        """The null, if it is one."""
        return next((b for b in self.request.metric.nulls if b.name == self.null), None)

    @property
    def stage(self) -> str:
        """The same in words."""
        names = {"value": "value", "null": f"null {self.null}", "best": "ideal"}
        return names[self.role]

    @property
    def slot(self) -> Slot:
        """What it is for."""
        return self.role, self.experiment, self.null, self.draw

    @property
    def grouped(self) -> bool:
        """Whether its rows are of groups of samples, not of resamples."""
        return bool(self.plan.groups) and self.rows.start > 0

    @property
    def learns(self) -> bool:
        """Whether it is of a null that must know all samples first."""
        return self.null_model is not None and self.null_model.sums is not None

    def sums(self, evidence: Evidence) -> dict[str, np.ndarray]:
        """What its null must know about these samples."""
        null = self.null_model
        assert null is not None and null.sums is not None  # noqa: S101, PT018  it is asked for so
        return {name: np.asarray(array) for name, array in null.sums(evidence).items()}

    @property
    def change(self) -> tuple[str, str, int]:
        """Countings with the same are of the same changed evidence."""
        own = self.request.metric.name if self.role != "value" else ""
        return own, self.null, self.draw

    def changed(self, evidence: Evidence, sums: Mapping[str, Arrays]) -> Any:
        """The evidence that is counted."""
        if self.role == "best":
            assert self.request.metric.ideal is not None  # noqa: S101  else it is not asked for
            return self.request.metric.ideal(evidence)
        null = self.null_model
        if null is None or null.on == "state" or null.expected is not None:
            return evidence
        return null.made(evidence, self.draw, sums.get(get_sums_name(self)))

    def state(self, evidence: Evidence, sums: Mapping[str, Arrays] | None = None) -> Any:
        """The state of evidence that was changed."""
        counting_options = self.request.metric.counting_options()
        options = {k: v for k, v in self.request.options.items() if k in counting_options}
        weights: Weights = self.plan.weights(evidence, self.rows)
        if isinstance(weights, SampleGroups) and not is_ours(self.request.metric.state):
            weights = weights.as_weights()  # what other packages add up themselves is an array
        null = self.null_model
        if null is not None and null.expected is not None:
            known = (sums or {}).get(get_sums_name(self))
            return self.request.metric.null_state(null, evidence, weights, known, **options)
        return self.request.metric.state.of(evidence, weights, **options)

    def finish(self) -> dict[str, Any]:
        """Options that only change how a state is read."""
        counting_options = self.request.metric.counting_options()
        return {k: v for k, v in self.request.options.items() if k not in counting_options}

    def describe(self, sums: Mapping[str, Arrays]) -> dict[str, Any]:
        """All that decides the state, beside the evidence."""
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
            "sums": digest_of(sums[name]) if name in sums else "",
        } | self._packages()

    def _packages(self) -> dict[str, Any]:
        """Whose code decides the state, where it is not ours: other code, other numbers."""
        packages = self.request.metric.packages
        return {"packages": [vars(package) for package in packages]} if packages else {}


def get_sums_name(job: StateJob) -> str:
    """What a null of a metric must know is learned once, whatever the options."""
    return f"{job.request.metric.name}: {job.null}"


def list_state_jobs(request: MetricRequest, plan: Plan, experiments: int) -> Iterator[StateJob]:
    """All that the scores of one request are read from."""
    for seed in range(experiments):
        # how samples vary is learned from the first
        rows = plan.state_rows if seed == 0 else ONCE
        yield StateJob(request, plan, "value", seed, rows)
    for null in request.metric.nulls:
        changed = MetricRequest(request.metric, request.options | null.options)
        draws = plan.seeds(null) if null.on == "evidence" else [0]
        for seed in range(experiments):
            rows = plan.state_rows if seed == 0 and null.on == "evidence" else ONCE
            for draw in draws:
                yield StateJob(changed, plan, "null", seed, rows, null.name, draw)
    if request.metric.ideal is not None:
        ideal = MetricRequest(request.metric, request.options | request.metric.ideal_options)
        yield StateJob(ideal, plan, "best", 0, ONCE)


def split_into_blocks(job: StateJob, size: int, most_bytes: int) -> Iterator[StateJob]:
    """Few enough resamples at a time that their states, of this size each, fit into memory."""
    step = max(most_bytes // max(size, 1), 1)
    first, end = job.rows.start, job.rows.stop
    yield from (replace(job, rows=slice(at, min(at + step, end))) for at in range(first, end, step))


def measure_state_bytes(job: StateJob, first: Evidence) -> int:
    """Bytes of a state with a single row."""
    evidence = job.changed(first, {}) if job.role == "best" else first
    single = replace(job, rows=ONCE).state(evidence)
    return sum(np.asarray(part).nbytes for part in vars(single).values())


def counted(
    jobs: Sequence[StateJob], sums: Mapping[str, Arrays], piece: Any, *, catches: bool = False
) -> dict[str, np.ndarray]:
    """The states of one piece; a function of a module, so that it can be sent to a worker.

    With ``catches``, what a metric raises stands in place of its state.
    """
    evidence = piece.evidence()
    arrays: dict[str, np.ndarray] = {}
    cache: tuple[tuple[str, str, int], Any] | None = None
    for number, job in enumerate(jobs):
        try:
            if cache is None or job.change != cache[0]:
                cache = (job.change, job.changed(evidence, sums))
            state = arrays_of(job.state(cache[1], sums))
        except Exception as error:
            if not catches or not is_limited_to_request(job.request.metric, error):
                raise
            state = {RAISED: encode_error(error)}
        for name, array in state.items():
            arrays[f"{number}:{name}"] = array
    return arrays


def get_fields(jobs: Sequence[StateJob], arrays: Arrays) -> list[dict[str, np.ndarray]]:
    """The fields of the states that ``counted`` gave, in the order they were asked for."""
    fields_per_job: list[dict[str, np.ndarray]] = [{} for _ in jobs]
    for name, array in arrays.items():
        number, _, field = name.partition(":")
        fields_per_job[int(number)][field] = array
    return fields_per_job


def sum_for_nulls(
    jobs: Sequence[StateJob], piece: Any, *, catches: bool = False
) -> dict[str, np.ndarray]:
    """What nulls must know about all samples, of one piece."""
    evidence, sums = piece.evidence(), {}
    for job in jobs:
        try:
            own = job.sums(evidence)
        except Exception as error:
            if not catches or not is_limited_to_request(job.request.metric, error):
                raise
            own = {RAISED: encode_error(error)}
        for name, array in own.items():
            sums[f"{get_sums_name(job)}:{name}"] = array
    return sums


def read(job: StateJob, state: Any) -> Values:
    """What a state says; of a null that is made on the state, what all its draws say."""
    null = job.null_model
    if null is None or null.on == "evidence":
        return Values.of(state, job.finish())
    draws = [null.made(state, seed).value(**job.finish()) for seed in job.plan.seeds(null)]
    return Values(np.concatenate(draws))


def read_groups(
    job: StateJob, blocks: Sequence[Mapping[str, np.ndarray]], most_bytes: int
) -> Values:
    """What a state of groups says, as it is and as resampled; some resamples at a time."""
    first, weights = blocks[0], job.plan.group_weights()
    sums = {
        name: np.concatenate([block[name] for block in blocks])
        for name in first
        if name.startswith(SUM)
    }
    columns = np.concatenate([a.reshape(len(a), -1) for a in sums.values()], axis=1)
    ends = np.cumsum([math.prod(array.shape[1:]) for array in sums.values()])[:-1]
    step = max(most_bytes // max(columns[:1].nbytes, 1), 1)
    parts = []
    for at in range(0, len(weights), step):
        cut = np.split(sum_resampled_groups(weights[at : at + step], columns), ends, axis=1)
        rows = {
            name: part.reshape(-1, *array.shape[1:])
            for (name, array), part in zip(sums.items(), cut, strict=True)
        }
        parts.append(read(job, state_from(job.request.metric.state, {**first, **rows})))
    return Values.joined(parts)
