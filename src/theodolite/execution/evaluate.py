"""From evidence to scores: states over shards, resampled together with their nulls."""

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import add
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from pydantic import TypeAdapter, ValidationError

from theodolite.contracts.bundle import Evidence
from theodolite.contracts.score import Detail, Interval, Null, Score, Source
from theodolite.errors import EvidenceError
from theodolite.metrics._base import Baseline, Entry, SampleMean
from theodolite.metrics._resample import (
    boundary_interval,
    mean_interval,
    percentile_interval,
    poisson_weights,
)

OrderedMap = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
SHARD = 2048
BLOCK_BYTES = 1 << 27


@dataclass(frozen=True)
class Resampling:
    """How intervals and nulls are drawn."""

    resamples: int = 1000
    level: float = 0.95
    seed: int = 0
    null_pieces: int = 2000
    """Random nulls are drawn until this many pieces were shuffled, up to ``most_null_draws``."""
    most_null_draws: int = 20


@dataclass(frozen=True)
class Request:
    """A metric with its options."""

    entry: Entry
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = sorted(set(self.options) - set(self.entry.options()))
        if unknown:
            raise EvidenceError(
                f"options of {self.entry.name}",
                f"{unknown}",
                f"some of {list(self.entry.options())}",
            )
        hints = self.entry.hints()
        checked = {name: self._checked(name, hints[name]) for name in self.options}
        object.__setattr__(self, "options", checked)

    def _checked(self, name: str, hint: Any) -> Any:
        try:
            value = TypeAdapter(hint).validate_python(self.options[name])
        except ValidationError as error:
            raise EvidenceError(
                f"{self.entry.name}.{name}", f"{self.options[name]!r}", error.errors()[0]["msg"]
            ) from error
        return tuple(value) if isinstance(value, list) else value

    def all_options(self) -> dict[str, Any]:
        """The options with the defaults filled in."""
        return self.entry.options() | self.options


def evaluate(
    request: Request,
    evidence: Sequence[Evidence],
    resampling: Resampling,
    ordered_map: OrderedMap = map,
) -> list[Score]:
    """Scores of one metric: one per combination of its swept options.

    Args:
        request: The metric and its options.
        evidence: One bundle per seed of the experiment; mostly just one.
        resampling: Intervals and nulls.
        ordered_map: Maps a function over shards in order; where work happens is its business.
    """
    entry = request.entry
    missing = entry.missing(evidence[0], request.options)
    if missing:
        raise EvidenceError(
            entry.name, f"no {', '.join(missing)}", "them", "Pass these arrays in the evidence."
        )
    plan = _Plan(evidence[0], resampling)
    # how samples vary, and the nulls, are learnt from the first seed
    rows = [len(plan)] + [1] * (len(evidence) - 1)
    runs = [
        _resampled(request, bundle, plan, n, ordered_map)
        for bundle, n in zip(evidence, rows, strict=True)
    ]
    nulls = {
        baseline.name: _null(request, baseline, evidence[0], plan, ordered_map)
        for baseline in entry.baselines
    }
    return list(_scores(request, runs, nulls, plan, evidence[0]))


class _Plan:
    """Which rows of the resampled values mean what: the value itself, then one block per source."""

    def __init__(self, evidence: Evidence, resampling: Resampling) -> None:
        self.resampling = resampling
        self.sources: tuple[Source, ...] = ("samples",)
        if evidence.samples.clusters is not None:
            self.sources = ("clusters", "samples")  # the first is the one to quote

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
        if not baseline.random:
            return 1
        wanted = math.ceil(self.resampling.null_pieces / max(baseline.pieces(evidence), 1))
        return min(wanted, self.resampling.most_null_draws)

    def rows_of_nulls(self) -> int:
        """Nulls are compared with the value and with the source to quote; no more is needed."""
        return 1 + self.resampling.resamples

    def block(self, source: Source) -> slice:
        """The rows of one source."""
        start = 1 + self.sources.index(source) * self.resampling.resamples
        return slice(start, start + self.resampling.resamples)


@functools.lru_cache(maxsize=64)
def _drawn(keys: bytes, resamples: int, seed: int) -> np.ndarray:
    """Weights of one shard: the same for all metrics, options and nulls, so drawn once."""
    numbers = np.frombuffer(keys, np.int64)
    return poisson_weights(numbers, resamples, seed).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class _Run:
    """One bundle's values: row 0 as they are, then as resampled; and what was counted."""

    values: Float[np.ndarray, "rows *shape"]
    counts: tuple[np.ndarray, np.ndarray] | None
    """Defined and undefined samples, for metrics that are means over samples."""


def _state(
    request: Request, plan: _Plan, rows: slice, evidence: Evidence
) -> Any:  # a function of its own, so that it can be sent to a worker
    counting = request.entry.counting_options()
    options = {k: v for k, v in request.options.items() if k in counting}
    return request.entry.state.of(evidence, plan.weights(evidence, rows), **options)


def _resampled(
    request: Request, evidence: Evidence, plan: _Plan, n_rows: int, ordered_map: OrderedMap
) -> _Run:
    counting = request.entry.counting_options()
    finish = {k: v for k, v in request.options.items() if k not in counting}
    shards = [evidence[at : at + SHARD] for at in range(0, len(evidence), SHARD)]
    values, counts = [], None
    for rows in _blocks(request, evidence, plan, n_rows):
        state = reduce(add, ordered_map(partial(_state, request, plan, rows), shards))
        values.append(np.asarray(state.value(**finish)))
        if rows.start == 0 and isinstance(state, SampleMean):
            undefined = state.asked[0] - state.defined[0]
            counts = (np.asarray(state.defined[0]), np.asarray(undefined))
    return _Run(np.concatenate(values), counts)


def _blocks(request: Request, evidence: Evidence, plan: _Plan, n: int) -> Iterator[slice]:
    """Few enough resamples at a time that their states fit into memory."""
    single = _state(request, plan, slice(0, 1), evidence[:1])
    size = sum(np.asarray(part).nbytes for part in vars(single).values())
    step = max(BLOCK_BYTES // max(size, 1), 1)
    return (slice(at, min(at + step, n)) for at in range(0, n, step))


def _null(
    request: Request,
    baseline: Baseline,
    evidence: Evidence,
    plan: _Plan,
    ordered_map: OrderedMap,
) -> Float[np.ndarray, "rows *shape"]:
    """The null's values, averaged over its draws."""
    changed = Request(request.entry, request.options | baseline.options)
    seeds = np.random.SeedSequence(plan.resampling.seed).generate_state(
        plan.draws(baseline, evidence)
    )
    n = plan.rows_of_nulls()
    return _mean(
        [
            _resampled(changed, baseline.make(evidence, int(seed)), plan, n, ordered_map).values
            for seed in seeds
        ]
    )


def _over_seeds(values: Sequence[np.ndarray]) -> np.ndarray:
    """The mean over the experiment's seeds; resampled rows are moved along with it."""
    return np.asarray(values[0] + (_mean([v[:1] for v in values]) - values[0][:1]))


def _mean(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Mean of what is defined; NaN where nothing is."""
    stacked = np.stack(arrays)
    defined = ~np.isnan(stacked)
    n = defined.sum(axis=0)
    total = np.where(defined, stacked, 0.0).sum(axis=0)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


def _headline(values: np.ndarray, *, detail: bool) -> np.ndarray:
    """A metric with detail is summed up by the mean of what is defined."""
    return _mean(list(np.moveaxis(values, -1, 0))) if detail else values


def _scores(
    request: Request,
    runs: Sequence[_Run],
    nulls: dict[str, np.ndarray],
    plan: _Plan,
    evidence: Evidence,
) -> Iterator[Score]:
    entry, options = request.entry, request.all_options()
    per_seed = np.stack([_headline(np.asarray(run.values[0]), detail=entry.detail) for run in runs])
    values = _over_seeds([run.values for run in runs])
    heads = _headline(values, detail=entry.detail)
    null_heads = {n: _headline(found, detail=entry.detail) for n, found in nulls.items()}
    sweeps = [[(name, choice) for choice in options[name]] for name in entry.sweeps]
    for cell in np.ndindex(*(len(sweep) for sweep in sweeps)):
        chosen = dict(sweep[i] for sweep, i in zip(sweeps, cell, strict=True))
        at = (slice(None), *cell)
        detail = _detail(options["over"], values[at], plan, evidence) if entry.detail else None
        n, n_undefined, n_of = _counts(runs[0], cell, detail)
        yield Score(
            metric=entry.name,
            version=entry.version,
            question=entry.question,
            value=float(heads[at][0]),
            better=entry.better,
            bounds=entry.bounds,
            n=n,
            n_undefined=n_undefined,
            n_of=n_of,
            options=options | chosen,
            intervals=tuple(_intervals(heads[at], per_seed[at], detail, (n, entry, plan))),
            nulls=_nulls(
                {name: found[at] for name, found in null_heads.items()}, heads[at], entry, plan
            ),
            detail=detail,
        )


def _counts(run: _Run, cell: tuple[int, ...], detail: Detail | None) -> tuple[int, int, str]:
    if detail is not None:
        undefined = int(np.isnan(detail.values).sum())
        return len(detail.values) - undefined, undefined, detail.over
    assert run.counts is not None  # noqa: S101
    return int(run.counts[0][cell]), int(run.counts[1][cell]), "samples"


def _detail(
    over: Literal["concepts", "classes"], values: np.ndarray, plan: _Plan, evidence: Evidence
) -> Detail:
    resampled = values[plan.block(plan.sources[0])]
    low = high = None
    if np.nanmax(np.ptp(resampled, axis=0), initial=0.0) > 1e-14:
        found = [
            percentile_interval(resampled[:, j], float(values[0, j]), plan.resampling.level, over)
            for j in range(values.shape[1])
        ]
        low = np.array([np.nan if one is None else one.low for one in found])
        high = np.array([np.nan if one is None else one.high for one in found])
    return Detail(over, getattr(evidence, over).names, values[0], low, high)


def _intervals(
    head: Float[np.ndarray, " rows"],
    per_seed: Float[np.ndarray, " seeds"],
    detail: Detail | None,
    about: tuple[int, Entry, _Plan],
) -> Iterator[Interval]:
    """Each source of chance apart; the one to quote first."""
    n, entry, plan = about
    level = plan.resampling.level
    for source in plan.sources:
        found = percentile_interval(head[plan.block(source)], float(head[0]), level, source)
        if found is None and issubclass(entry.state, SampleMean):
            found = boundary_interval(float(head[0]), entry.bounds, n, level, source)
        if found is not None:
            yield found
    seeds = mean_interval(per_seed, level, "seeds")
    if seeds is not None:
        yield seeds
    if detail is not None:
        items = detail.values[~np.isnan(detail.values)]
        random = np.random.default_rng(plan.resampling.seed)
        picks = random.integers(0, max(len(items), 1), (plan.resampling.resamples, len(items)))
        drawn = items[picks].mean(axis=1) if len(items) else np.array([])
        found = percentile_interval(drawn, float(head[0]), level, detail.over)
        if found is not None:
            yield found


def _nulls(
    nulls: dict[str, np.ndarray], head: np.ndarray, entry: Entry, plan: _Plan
) -> tuple[Null, ...]:
    """The nulls, the hardest to beat first."""
    source = plan.sources[0]
    rows = plan.block(source)
    found = [
        Null(
            name,
            float(values[0]),
            percentile_interval(
                head[rows] - values[rows], float(head[0] - values[0]), plan.resampling.level, source
            ),
        )
        for name, values in nulls.items()
    ]
    sign = -1.0 if entry.better == "higher" else 1.0
    return tuple(sorted(found, key=lambda null: (np.isnan(null.value), sign * null.value)))


def expand(entry: Entry, options: dict[str, Any]) -> Iterator[Request]:
    """A spec may list several choices of an option: one request for each combination.

    The order is that of the metric's own options, however the spec was written.
    """
    known = [name for name in entry.options() if name in options]
    listed = {}
    for name in [*known, *sorted(set(options) - set(known))]:
        choices = options[name]
        several = isinstance(choices, list) and name not in entry.sweeps
        listed[name] = choices if several else [choices]
    for combination in itertools.product(*listed.values()):
        chosen = dict(zip(listed, combination, strict=True))
        for name in entry.sweeps:
            if name in chosen and not isinstance(chosen[name], list | tuple):
                chosen[name] = (chosen[name],)
        yield Request(entry, chosen)
