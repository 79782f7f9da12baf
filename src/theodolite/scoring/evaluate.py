"""From evidence to scores, each with its intervals and nulls."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from threadpoolctl import threadpool_limits

from theodolite.errors import EvidenceError
from theodolite.evidence.base import Evidence
from theodolite.evidence.produced import Progress, silent
from theodolite.evidence.shards import Clusters, InMemoryShards, Shards, clusters_of
from theodolite.evidence.workers import SerialWorkers, Workers
from theodolite.metrics.base import Metric, NullModel, SampleMean
from theodolite.results import Detail, Interval, Items, Null, Score, Source
from theodolite.scoring.counting import Slot, seeds_of, state_jobs
from theodolite.scoring.passes import PassItem, passes
from theodolite.scoring.plan import Plan
from theodolite.scoring.pooled import Subsample, pooled_values
from theodolite.scoring.request import MetricRequest, Resampling, expand
from theodolite.scoring.values import Values, mean_of_defined, over_draws, over_seeds
from theodolite.stats.resampling import (
    boundary_interval,
    mean_interval,
    percentile_interval,
    shuffle_interval,
)

__all__ = ["MetricRequest", "MetricRun", "Resampling", "evaluate", "evaluate_all", "expand"]


@dataclass(frozen=True, eq=False)
class MetricRun:
    """A request, and the evidence it is put to: one per seed of the experiment, mostly one."""

    request: MetricRequest
    evidence: Sequence[Shards]

    def __post_init__(self) -> None:
        metric = self.request.metric
        missing = metric.missing(self.evidence[0].first(), self.request.options)
        if missing:
            raise EvidenceError(
                metric.name,
                f"no {', '.join(missing)}",
                "them",
                "Pass these arrays in the evidence.",
            )


def evaluate(
    request: MetricRequest,
    evidence: Sequence[Evidence],
    resampling: Resampling,
    workers: Workers | None = None,
) -> list[Score]:
    """Scores of one metric: one per combination of its swept options.

    Args:
        request: The metric and its options.
        evidence: One bundle per seed of the experiment; mostly just one.
        resampling: Intervals and nulls.
        workers: Whoever makes the sums; here and now if not given.
    """
    run = MetricRun(request, [InMemoryShards(bundle) for bundle in evidence])
    return evaluate_all([run], resampling, workers)[0]


def evaluate_all(
    runs: Sequence[MetricRun],
    resampling: Resampling,
    workers: Workers | None = None,
    progress: Progress = silent,
) -> list[list[Score]]:
    """Scores of several metrics, for which each piece of the evidence is read once, not each time.

    What adds up is counted piece by piece by the workers. What needs all samples at once is
    computed here, from as many samples as ``resampling.most_pooled``.
    """
    workers = workers or SerialWorkers()
    sources = {id(run.evidence[0]): run.evidence[0] for run in runs}
    clusters = {key: clusters_of(source) for key, source in sources.items()}
    plans = [_plan(run, resampling, clusters[id(run.evidence[0])]) for run in runs]
    streams = [n for n, run in enumerate(runs) if run.request.metric.streams]
    items = [
        PassItem(n, job, runs[n].evidence[job.experiment])
        for n in streams
        for job in state_jobs(runs[n].request, plans[n], len(runs[n].evidence))
    ]
    # one core for products of this size: faster than waiting for a busy second one, and the last
    # digit does not depend on the machine
    with threadpool_limits(1, user_api="blas"):
        values_by_request, left = passes(items, workers, progress)
        values_by_request += [{}] * (len(runs) - len(values_by_request))
        subsample = Subsample(left)
        pooled = [n for n in range(len(runs)) if n not in streams]
        for done, n in enumerate(pooled):
            progress("scores that need all samples at once", done, len(pooled))
            values_by_request[n] = pooled_values(
                runs[n].request, plans[n], runs[n].evidence, subsample, workers
            )
        if pooled:
            progress("scores that need all samples at once", len(pooled), len(pooled))
        return [
            list(_scores(_collect_estimates(run, plan, values)))
            for run, plan, values in zip(runs, plans, values_by_request, strict=True)
        ]


def _plan(run: MetricRun, resampling: Resampling, clusters: Clusters | None) -> Plan:
    n = len(run.evidence[0])
    if not run.request.metric.streams:
        n = min(n, resampling.most_pooled)
    return Plan(run.request.metric, n, clusters, resampling)


@dataclass(frozen=True, eq=False)
class _Estimates:
    """All that the scores of one request are read from."""

    request: MetricRequest
    plan: Plan
    evidence: Evidence
    """A sample of it, for the names."""
    seeds: list[Values]
    nulls: dict[str, tuple[np.ndarray, np.ndarray]]
    best: np.ndarray

    @property
    def metric(self) -> Metric:
        return self.request.metric

    def head(self, values: np.ndarray) -> np.ndarray:
        """A metric with detail is summed up by the mean of what is defined."""
        return mean_of_defined(np.moveaxis(values, -1, 0)) if self.metric.detail else values


def _collect_estimates(run: MetricRun, plan: Plan, values: dict[Slot, Values]) -> _Estimates:
    metric, options = run.request.metric, run.request.all_options()
    seeds = range(len(run.evidence))
    if metric.best is not None:
        best = values["best", 0, "", 0].rows[0]
    else:  # nothing stands in the way of the bound
        shape = tuple(len(options[name]) for name in metric.sweeps)
        best = np.full(shape, metric.bounds[1 if metric.better == "higher" else 0])
    return _Estimates(
        run.request,
        plan,
        run.evidence[0].first(),
        [values["value", seed, "", 0] for seed in seeds],
        {b.name: _null(values, b, plan, len(seeds)) for b in metric.baselines},
        np.asarray(best),
    )


def _null(
    values: dict[Slot, Values], null: NullModel, plan: Plan, seeds: int
) -> tuple[np.ndarray, np.ndarray]:
    """A null's values, the mean over the experiment's seeds as for the score itself; and by seed.

    Of a null on evidence the rows are those of the plan, averaged over draws; of a null on the
    state they are the draws.
    """
    if null.on == "state":
        per_seed = [values["null", seed, null.name, 0].rows for seed in range(seeds)]
        return mean_of_defined(per_seed), np.stack([mean_of_defined(draws) for draws in per_seed])
    each = [
        over_draws(
            [values["null", seed, null.name, draw].rows for draw in seeds_of(plan, null)],
            null,
        )
        for seed in range(seeds)
    ]
    return over_seeds(each), np.stack([rows[0] for rows in each])


def _scores(estimates: _Estimates) -> Iterator[Score]:
    metric, options = estimates.metric, estimates.request.all_options()
    values = over_seeds([seed.rows for seed in estimates.seeds])
    heads = estimates.head(values)
    per_seed = np.stack([estimates.head(seed.rows[:1])[0] for seed in estimates.seeds])
    null_heads = {
        name: (estimates.head(a), estimates.head(b)) for name, (a, b) in estimates.nulls.items()
    }
    sweeps = [[(name, choice) for choice in options[name]] for name in metric.sweeps]
    for cell in np.ndindex(*(len(sweep) for sweep in sweeps)):
        chosen = dict(sweep[i] for sweep, i in zip(sweeps, cell, strict=True))
        at = (slice(None), *cell)
        detail = _detail(options["over"], values[at], estimates) if metric.detail else None
        n, n_undefined, n_of = _counts(estimates, cell, detail)
        score = Score(
            metric=metric.name,
            version=metric.version,
            question=metric.question,
            value=float(heads[at][0]),
            better=metric.better,
            bounds=metric.bounds,
            best=float(estimates.best[cell]),
            n=n,
            n_undefined=n_undefined,
            n_of=n_of,
            options=options | chosen,
            detail=detail,
        )
        intervals = _intervals(score, heads[at], per_seed[at], estimates)
        at_cell = {name: (rows[at], each[at]) for name, (rows, each) in null_heads.items()}
        nulls = _nulls(at_cell, heads[at], estimates)
        seeds = tuple(float(v) for v in per_seed[at]) if len(per_seed) > 1 else ()
        yield replace(score, intervals=tuple(intervals), nulls=nulls, per_seed=seeds)


def _counts(
    estimates: _Estimates, cell: tuple[int, ...], detail: Detail | None
) -> tuple[int, int, str]:
    """What was counted, a seed's average where seeds differ."""
    if detail is not None:
        undefined = int(np.isnan(detail.values).sum())
        return len(detail.values) - undefined, undefined, detail.over
    both = [[s.defined[cell], s.undefined[cell]] for s in estimates.seeds if s.defined is not None]  # type: ignore[index]
    defined, undefined = np.mean(both, axis=0)
    return math.ceil(defined), round(float(undefined)), estimates.metric.state.counts_of


def _detail(over: Items, values: np.ndarray, estimates: _Estimates) -> Detail:
    rows = values[estimates.plan.block(estimates.plan.sources[0])]
    intervals = [
        percentile_interval(rows[:, j], float(values[0, j]), estimates.plan.resampling.level, over)
        for j in range(values.shape[1])
    ]
    low = high = None
    if any(intervals):
        ends = np.array(
            [
                (np.nan, np.nan) if interval is None else (interval.low, interval.high)
                for interval in intervals
            ]
        )
        low, high = np.clip(ends, *estimates.metric.bounds).T
    return Detail(over, _names(estimates.evidence, over), values[0], low, high)


def _names(evidence: Evidence, over: Items) -> tuple[str, ...]:
    if over != "pairs":
        names: tuple[str, ...] = getattr(evidence, over).names
        return names
    return tuple(f"{a} × {b}" for a, b in itertools.combinations(evidence.concepts.names, 2))  # type: ignore[attr-defined]


def _intervals(
    score: Score,
    head: Float[np.ndarray, " rows"],
    per_seed: Float[np.ndarray, " seeds"],
    estimates: _Estimates,
) -> Iterator[Interval]:
    """Each source of chance apart; the one to quote first."""
    level = estimates.plan.resampling.level
    candidates = [_over(source, score, head, estimates) for source in estimates.plan.sources]
    if score.detail is not None:  # a mean over concepts is as sure as there are concepts
        candidates.insert(0, _over_items(score.detail, score.value, estimates.plan.resampling))
    candidates.append(mean_interval(per_seed, level, "seeds"))
    for interval in candidates:
        if interval is not None:
            low, high = np.clip((interval.low, interval.high), *score.bounds)
            yield replace(interval, low=float(low), high=float(high))


def _over(source: Source, score: Score, head: np.ndarray, estimates: _Estimates) -> Interval | None:
    level = estimates.plan.resampling.level
    interval = percentile_interval(head[estimates.plan.block(source)], score.value, level, source)
    if interval is not None or not issubclass(estimates.metric.state, SampleMean):
        return interval
    worst = score.bounds[0] if score.better == "higher" else score.bounds[1]
    if not math.isfinite(worst):  # how far a sample not met could be off has no limit
        return None
    n = score.n if source == "samples" else estimates.plan.n_clusters
    return boundary_interval(score.value, (worst, score.best), n, level, source)


def _over_items(detail: Detail, value: float, resampling: Resampling) -> Interval | None:
    items = detail.values[~np.isnan(detail.values)]
    if not len(items):
        return None
    random = np.random.default_rng(resampling.seed)
    picks = random.integers(0, len(items), (resampling.resamples, len(items)))
    return percentile_interval(items[picks].mean(axis=1), value, resampling.level, detail.over)


def _nothing_varied(middle: float, estimates: _Estimates) -> Interval:
    """Where no resample differs: as if one of the samples that would differ had not been met."""
    n, level = max(estimates.plan.n, 1), estimates.plan.resampling.level
    reach = 1 - ((1 - level) / 2) ** (1 / n)
    return Interval(
        middle - reach, middle + reach, level, estimates.plan.sources[0], "exact, nothing varied", n
    )


def _nulls(
    nulls: dict[str, tuple[np.ndarray, np.ndarray]], head: np.ndarray, estimates: _Estimates
) -> tuple[Null, ...]:
    """The nulls, the hardest to beat first."""
    source, level = estimates.plan.sources[0], estimates.plan.resampling.level
    rows = estimates.plan.block(source)
    compared = []
    for null in estimates.metric.baselines:
        values, each = nulls[null.name]
        seeds = tuple(float(v) for v in each) if len(each) > 1 else ()
        if null.on == "state":
            away = shuffle_interval(values, float(head[0]), level)
            compared.append(Null(null.name, float(mean_of_defined(values)), away, seeds))
        else:
            moved, middle = head[rows] - values[rows], float(head[0] - values[0])
            away = percentile_interval(moved, middle, level, source)
            if away is None and null.clean and not np.isnan(moved).all():
                away = _nothing_varied(middle, estimates)
            compared.append(Null(null.name, float(values[0]), away, seeds))
    sign = -1.0 if estimates.metric.better == "higher" else 1.0
    return tuple(sorted(compared, key=lambda null: (np.isnan(null.value), sign * null.value)))
