"""Which sums a score is read from: of the evidence, of its nulls, of an ideal explanation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from theodolite.evidence.base import Evidence
from theodolite.evidence.workers import Arrays
from theodolite.io.packed import digest_of
from theodolite.metrics.base import NullModel, arrays_of, state_from
from theodolite.scoring.plan import Plan
from theodolite.scoring.request import MetricRequest
from theodolite.scoring.values import Values

Role = Literal["value", "null", "best"]
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
    def baseline(self) -> NullModel | None:
        """The null, if it is one."""
        return next((b for b in self.request.metric.baselines if b.name == self.null), None)

    @property
    def slot(self) -> Slot:
        """What it is for."""
        return self.role, self.experiment, self.null, self.draw

    @property
    def learns(self) -> bool:
        """Whether it is of a null that must know all samples first."""
        return self.baseline is not None and self.baseline.sums is not None

    @property
    def change(self) -> tuple[str, str, int]:
        """Countings with the same are of the same changed evidence."""
        own = self.request.metric.name if self.role != "value" else ""
        return own, self.null, self.draw

    def changed(self, evidence: Evidence, sums: Mapping[str, Arrays]) -> Any:
        """The evidence that is counted."""
        if self.role == "best":
            assert self.request.metric.best is not None  # noqa: S101  else it is not asked for
            return self.request.metric.best(evidence)
        null = self.baseline
        if null is None or null.on == "state":
            return evidence
        if null.sums is None:
            return null.make(evidence, self.draw)
        known = sums.get(sums_name(self)) or null.sums(evidence)
        return null.make(evidence, self.draw, known)

    def state(self, evidence: Evidence) -> Any:
        """The state of evidence that was changed."""
        counting = self.request.metric.counting_options()
        options = {k: v for k, v in self.request.options.items() if k in counting}
        weights = self.plan.weights(evidence, self.rows)
        return self.request.metric.state.of(evidence, weights, **options)

    def finish(self) -> dict[str, Any]:
        """Options that only change how a state is read."""
        counting = self.request.metric.counting_options()
        return {k: v for k, v in self.request.options.items() if k not in counting}

    def about(self, sums: Mapping[str, Arrays]) -> dict[str, Any]:
        """All that decides the state, beside the evidence."""
        entry = self.request.metric
        name, options = sums_name(self), self.request.all_options()
        return {
            "metric": entry.name,
            "version": entry.version,
            "options": {k: repr(options[k]) for k in sorted(entry.counting_options())},
            "role": self.role,
            "null": self.null,
            "draw": self.draw,
            "rows": [self.rows.start, self.rows.stop],
            "plan": self.plan.about(),
            "sums": digest_of(sums[name]) if self.learns else "",
        }


def sums_name(counting: StateJob) -> str:
    """What a null of a metric must know is learnt once, whatever the options."""
    return f"{counting.request.metric.name}: {counting.null}"


def countings(request: MetricRequest, plan: Plan, experiments: int) -> Iterator[StateJob]:
    """All that the scores of one request are read from."""
    for seed in range(experiments):
        n = len(plan) if seed == 0 else 1  # how samples vary is learnt from the first
        yield StateJob(request, plan, "value", seed, slice(0, n))
    for baseline in request.metric.baselines:
        changed = MetricRequest(request.metric, request.options | baseline.options)
        drawn = seeds_of(plan, baseline) if baseline.on == "evidence" else [0]
        for seed in range(experiments):
            n = plan.rows_of_nulls() if seed == 0 and baseline.on == "evidence" else 1
            for draw in drawn:
                yield StateJob(changed, plan, "null", seed, slice(0, n), baseline.name, draw)
    if request.metric.best is not None:
        # an ideal explanation is ranked by its values, whatever the request ranks by
        plain = {"rank_by": "value"} if "rank_by" in request.all_options() else {}
        ideal = MetricRequest(request.metric, request.options | plain)
        yield StateJob(ideal, plan, "best", 0, slice(0, 1))


def seeds_of(plan: Plan, baseline: NullModel) -> list[int]:
    """The seeds of a null's draws."""
    states = np.random.SeedSequence(plan.resampling.seed).generate_state(plan.draws(baseline))
    return [int(s) for s in states]


def in_blocks(counting: StateJob, size: int, most_bytes: int) -> Iterator[StateJob]:
    """Few enough resamples at a time that their states, of this size each, fit into memory."""
    step = max(most_bytes // max(size, 1), 1)
    n = counting.rows.stop
    yield from (replace(counting, rows=slice(at, min(at + step, n))) for at in range(0, n, step))


def state_bytes(counting: StateJob, first: Evidence) -> int:
    """Bytes of a state with a single row."""
    single = replace(counting, rows=slice(0, 1)).state(first)
    return sum(np.asarray(part).nbytes for part in vars(single).values())


def counted(
    asked: Sequence[StateJob], sums: Mapping[str, Arrays], piece: Any
) -> dict[str, np.ndarray]:
    """The states of one piece; a function of a module, so that it can be sent to a worker."""
    evidence = piece.evidence()
    found: dict[str, np.ndarray] = {}
    made: tuple[tuple[str, str, int], Any] | None = None
    for number, counting in enumerate(asked):
        if made is None or counting.change != made[0]:
            made = (counting.change, counting.changed(evidence, sums))
        for name, array in arrays_of(counting.state(made[1])).items():
            found[f"{number}:{name}"] = array
    return found


def states_of(asked: Sequence[StateJob], arrays: Arrays) -> list[Any]:
    """The states that ``counted`` gave, in the order they were asked for."""
    own: list[dict[str, np.ndarray]] = [{} for _ in asked]
    for name, array in arrays.items():
        number, _, field = name.partition(":")
        own[int(number)][field] = array
    return [
        state_from(counting.request.metric.state, given)
        for counting, given in zip(asked, own, strict=True)
    ]


def summed(asked: Sequence[StateJob], piece: Any) -> dict[str, np.ndarray]:
    """What nulls must know about all samples, of one piece."""
    evidence, found = piece.evidence(), {}
    for counting in asked:
        null = counting.baseline
        assert null is not None and null.sums is not None  # noqa: S101, PT018  it was asked for so
        for name, array in null.sums(evidence).items():
            found[f"{sums_name(counting)}:{name}"] = np.asarray(array)
    return found


def read(counting: StateJob, state: Any) -> Values:
    """What a state says; of a null that is made on the state, what all its draws say."""
    null = counting.baseline
    if null is None or null.on == "evidence":
        return Values.of(state, counting.finish())
    drawn = [
        null.make(state, seed).value(**counting.finish()) for seed in seeds_of(counting.plan, null)
    ]
    return Values(np.concatenate(drawn))
