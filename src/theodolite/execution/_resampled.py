"""A metric's values: as they are and as resampled, of the evidence and of its nulls."""

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite.contracts.bundle import Evidence
from theodolite.contracts.score import Source
from theodolite.execution._request import Request, Resampling
from theodolite.metrics._base import Baseline, Entry, Pooled, in_order
from theodolite.metrics._resample import poisson_weights

OrderedMap = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
SHARD = 2048
BLOCK_BYTES = 1 << 27
POOLED_NULL_DRAWS = 3


class Plan:
    """Which rows of the resampled values mean what: the value itself, then one block per source."""

    def __init__(self, entry: Entry, evidence: Evidence, resampling: Resampling) -> None:
        self.resampling = resampling
        self.pooled = issubclass(entry.state, Pooled)
        self.sources: tuple[Source, ...] = ("samples",)
        self.n_clusters = 0
        clusters = evidence.samples.clusters
        if clusters is not None and not (entry.per_class and _classes_are_whole(evidence)):
            self.sources = ("clusters", "samples")  # the first is the one to quote
            self.n_clusters = len(np.unique(clusters))

    def weights(self, evidence: Evidence, rows: slice) -> Float[np.ndarray, "rows samples"]:
        """The weights of a shard for some rows of the plan."""
        keys = {"samples": evidence.samples.index, "clusters": evidence.samples.clusters}
        blocks = [np.ones((1, len(evidence)), np.uint8)]
        for number, source in enumerate(self.sources):
            drawn = np.ascontiguousarray(keys[source], np.int64).tobytes()
            blocks.append(_drawn(drawn, self.resampling.resamples, self.resampling.seed + number))
        return np.concatenate(blocks)[rows].astype(np.float64)

    def __len__(self) -> int:
        return 1 + len(self.sources) * self.resampling.resamples

    def draws(self, baseline: Baseline, evidence: Evidence) -> int:
        """How often a null is drawn: once if it is large or not random, more often if small."""
        if baseline.on == "state":
            return self.resampling.shuffles
        if not baseline.random:
            return 1
        if self.pooled:  # each costs as much as the score itself, and each comes out otherwise
            return min(POOLED_NULL_DRAWS, self.resampling.most_null_draws)
        wanted = math.ceil(self.resampling.null_pieces / max(len(evidence), 1))
        return min(wanted, self.resampling.most_null_draws)

    def rows_of_nulls(self) -> int:
        """Nulls are compared with the value and with the source to quote; no more is needed."""
        return 1 + self.resampling.resamples

    def block(self, source: Source) -> slice:
        """The rows of one source."""
        start = 1 + self.sources.index(source) * self.resampling.resamples
        return slice(start, start + self.resampling.resamples)


def _classes_are_whole(evidence: Evidence) -> bool:
    """Whether no class lies in two clusters: then drawing clusters never varies a class's mean."""
    labels = getattr(evidence, "labels", None)
    if labels is None:
        return False
    both = np.stack([labels, np.asarray(evidence.samples.clusters)])
    return bool(np.unique(both, axis=1).shape[1] == len(np.unique(labels)))


@functools.lru_cache(maxsize=64)
def _drawn(keys: bytes, resamples: int, seed: int) -> np.ndarray:
    """Weights of one shard: the same for all metrics, options and nulls, so drawn once."""
    numbers = np.frombuffer(keys, np.int64)
    return poisson_weights(numbers, resamples, seed).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class Values:
    """Values in rows, row 0 as they are, then as resampled; and what was counted."""

    rows: Float[np.ndarray, "rows *shape"]
    defined: np.ndarray | None = None
    undefined: np.ndarray | None = None
    """What was counted, for states that count."""


def resampled(
    request: Request, evidence: Evidence, plan: Plan, n_rows: int, ordered_map: OrderedMap
) -> Values:
    """Values of the first rows of the plan."""
    rows, defined, undefined = [], None, None
    for block in _blocks(request, evidence, plan, n_rows):
        state = _reduced(request, evidence, plan, block, ordered_map)
        rows.append(np.asarray(state.value(**_finish(request))))
        if isinstance(state, Pooled):  # all samples enter; what is undefined shows in the detail
            defined = np.full(rows[0].shape[1:], len(state))
            undefined = np.zeros(rows[0].shape[1:])
        elif block.start == 0 and hasattr(state, "counted"):
            defined, undefined = (np.asarray(part[0]) for part in state.counted())
    return Values(np.concatenate(rows), defined, undefined)


def _reduced(
    request: Request, evidence: Evidence, plan: Plan, rows: slice, ordered_map: OrderedMap
) -> Any:
    shards = [evidence[at : at + SHARD] for at in range(0, len(evidence), SHARD)]
    return reduce(add, ordered_map(partial(_state, request, plan, rows), shards))


def _state(
    request: Request, plan: Plan, rows: slice, evidence: Evidence
) -> Any:  # a function of its own, so that it can be sent to a worker
    counting = request.entry.counting_options()
    options = {k: v for k, v in request.options.items() if k in counting}
    return request.entry.state.of(evidence, plan.weights(evidence, rows), **options)


def _finish(request: Request) -> dict[str, Any]:
    counting = request.entry.counting_options()
    return {k: v for k, v in request.options.items() if k not in counting}


def _blocks(request: Request, evidence: Evidence, plan: Plan, n: int) -> Iterator[slice]:
    """Few enough resamples at a time that their states fit into memory."""
    if issubclass(request.entry.state, Pooled):  # neighbours and fits are found once for all
        yield slice(0, n)
        return
    single = _state(request, plan, slice(0, 1), evidence[:1])
    size = sum(np.asarray(part).nbytes for part in vars(single).values())
    step = max(BLOCK_BYTES // max(size, 1), 1)
    yield from (slice(at, min(at + step, n)) for at in range(0, n, step))


def null_rows(
    request: Request,
    baseline: Baseline,
    evidence: Sequence[Evidence],
    plan: Plan,
    ordered_map: OrderedMap,
) -> tuple[Float[np.ndarray, "rows *shape"], Float[np.ndarray, "seeds *shape"]]:
    """A null's values, the mean over the experiment's seeds as for the score itself; and by seed.

    Of a null on evidence the rows are those of the plan, averaged over draws; of a null on the
    state they are the draws.
    """
    changed = Request(request.entry, request.options | baseline.options)
    draws = plan.draws(baseline, evidence[0])
    evidence = [in_order(one) for one in evidence]  # a draw must not depend on the order of rows
    seeds = [int(s) for s in np.random.SeedSequence(plan.resampling.seed).generate_state(draws)]
    if baseline.on == "state":
        states = [_reduced(changed, one, plan, slice(0, 1), ordered_map) for one in evidence]
        drawn = [
            np.concatenate([baseline.make(state, seed).value(**_finish(changed)) for seed in seeds])
            for state in states
        ]
        return mean_of_defined(drawn), np.stack([mean_of_defined(one) for one in drawn])
    n_rows = [plan.rows_of_nulls()] + [1] * (len(evidence) - 1)
    each = [
        _over_draws(
            [
                resampled(changed, baseline.make(one, seed), plan, n, ordered_map).rows
                for seed in seeds
            ],
            baseline,
        )
        for one, n in zip(evidence, n_rows, strict=True)
    ]
    return over_seeds(each), np.stack([rows[0] for rows in each])


def _over_draws(draws: Sequence[np.ndarray], baseline: Baseline) -> np.ndarray:
    """The mean over draws of a null. What a clean null must not be exceeded by is known only as
    well as it was drawn, so its resampled rows are those of one draw after the other."""
    mean = mean_of_defined(draws)
    if baseline.clean and len(draws) > 1:
        for row in range(1, len(mean)):
            mean[row] = draws[row % len(draws)][row]
    return mean


def over_seeds(values: Sequence[np.ndarray]) -> np.ndarray:
    """The mean over the experiment's seeds; how it varies over samples is the first seed's."""
    first = next((v for v in values if not np.isnan(v[:1]).all()), values[0])
    moved = first - first[:1]
    moved[:1] = 0.0
    return np.asarray(mean_of_defined([v[:1] for v in values]) + moved)


def mean_of_defined(arrays: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
    """Mean of what is defined; NaN where nothing is."""
    stacked = np.asarray(arrays)
    defined = ~np.isnan(stacked)
    n = defined.sum(axis=0)
    total = np.where(defined, stacked, 0.0).sum(axis=0)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)
