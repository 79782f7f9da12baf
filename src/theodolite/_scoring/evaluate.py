"""From evidence to scores, each with its intervals and nulls."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from theodolite._scoring.counting import Slot, list_state_jobs
from theodolite._scoring.detail_draws import ItemDraws, compare_details_with_draws
from theodolite._scoring.differences import (
    NullRows,
    compare_with_null,
    estimate_defect,
    estimate_mean_variance,
)
from theodolite._scoring.failures import describe_failure, encode_error, is_limited_to_request
from theodolite._scoring.intervals import (
    DrawCounts,
    Resampled,
    compute_item_intervals,
    compute_score_intervals,
)
from theodolite._scoring.moments import over_seeds_of_moments, with_moments
from theodolite._scoring.passes import PassItem, run_passes
from theodolite._scoring.plan import Plan
from theodolite._scoring.pooled import Pooling, measure_pooled
from theodolite._scoring.request import MetricRequest, Resampling, expand
from theodolite._scoring.shares import ShareEnds, estimate_share
from theodolite._scoring.values import Values, average_defined, average_over_seeds
from theodolite.errors import EvidenceError
from theodolite.evidence.base import Evidence
from theodolite.evidence.pipeline_output import Progress, silent
from theodolite.evidence.shards import Clusters, InMemoryShards, Shards, count_clusters
from theodolite.evidence.workers import SerialWorkers, Workers
from theodolite.metrics.base import Metric, NullModel
from theodolite.metrics.states import CHOSEN, FACT, TRIALS
from theodolite.results import Detail, Failed, Items, Null, Score

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
    failures: list[Failed] | None = None,
) -> list[list[Score]]:
    """Scores of several metrics, for which each piece of the evidence is read once, not each time.

    What adds up is counted piece by piece by the workers. What needs all samples at once is
    computed from as many samples as ``resampling.most_pooled``. A metric that raises is put
    into ``failures`` and has no scores; without such a list, its error is raised.
    """
    catches = failures is not None
    workers = workers or SerialWorkers()
    sources = {id(run.evidence[0]): run.evidence[0] for run in runs}
    clusters = {key: count_clusters(source) for key, source in sources.items()}
    plans = [_plan(run, resampling, clusters[id(run.evidence[0])]) for run in runs]
    streams = [n for n, run in enumerate(runs) if run.request.metric.streams]
    items = [
        PassItem(n, job, runs[n].evidence[job.experiment])
        for n in streams
        for job in list_state_jobs(runs[n].request, plans[n], len(runs[n].evidence))
    ]
    # one core for products of this size: faster than waiting for a busy second one, and the last
    # digit does not depend on the machine
    with threadpool_limits(1, user_api="blas"):
        passed = run_passes(items, workers, progress, catches=catches)
        by_run: dict[int, Failed] = passed.failures
        values_by_request = [*passed.values, *[{}] * (len(runs) - len(passed.values))]
        pooling = Pooling(passed.left, workers)
        pooled = [n for n in range(len(runs)) if n not in streams]
        for done, n in enumerate(pooled):
            progress("scores that need all samples at once", done, len(pooled))
            outcome = measure_pooled(
                runs[n].request, plans[n], runs[n].evidence, pooling, catches=catches
            )
            if isinstance(outcome, Failed):
                by_run[n] = outcome
            else:
                values_by_request[n] = outcome
        if pooled:
            progress("scores that need all samples at once", len(pooled), len(pooled))
        groups = [
            _outcome(run, plan, values, by_run.get(n), catches=catches)
            for n, (run, plan, values) in enumerate(
                zip(runs, plans, values_by_request, strict=True)
            )
        ]
    if failures is not None:
        failures += [outcome for outcome in groups if isinstance(outcome, Failed)]
    return [[] if isinstance(outcome, Failed) else outcome for outcome in groups]


def _outcome(
    run: MetricRun, plan: Plan, values: dict[Slot, Values], failure: Failed | None, *, catches: bool
) -> list[Score] | Failed:
    """The scores of a request, or why there are none."""
    if failure is not None:
        return failure
    try:
        return list(_scores(_collect_estimates(run, plan, values)))
    except Exception as error:
        if not catches or not is_limited_to_request(run.request.metric, error):
            raise
        return describe_failure(run.request, "read", encode_error(error))


def _plan(run: MetricRun, resampling: Resampling, clusters: Clusters | None) -> Plan:
    n = len(run.evidence[0])
    if not run.request.metric.streams:
        n = min(n, resampling.most_pooled)
    return Plan(run.request.metric, n, clusters, resampling, run.evidence[0].first())


@dataclass(frozen=True, eq=False)
class _Null:
    """A null's values in rows and by seed of the experiment, and how its draws vary."""

    rows: np.ndarray
    each_seed: np.ndarray
    draws: np.ndarray
    """The first row of each draw, of the experiment's first seed."""
    stored: np.ndarray | None = None
    """The first row of each draw that travels in the evidence, the mean over seeds."""


@dataclass(frozen=True, eq=False)
class _Estimates:
    """All that the scores of one request are read from."""

    request: MetricRequest
    plan: Plan
    evidence: Evidence
    """A sample of it, for the names."""
    seeds: list[Values]
    nulls: dict[str, _Null]
    best: np.ndarray
    best_rows: np.ndarray | None = None
    """The best possible in rows, where a share of the way to it is given."""

    @property
    def metric(self) -> Metric:
        return self.request.metric

    def head(self, values: np.ndarray) -> np.ndarray:
        """A metric with detail is summed up by the mean of what is defined."""
        return average_defined(np.moveaxis(values, -1, 0)) if self.metric.detail else values


def _collect_estimates(run: MetricRun, plan: Plan, values: dict[Slot, Values]) -> _Estimates:
    metric, options = run.request.metric, run.request.all_options()
    seeds = range(len(run.evidence))
    best_rows = None
    if metric.ideal is not None:
        best_rows = values["best", 0, "", 0].rows
        best = best_rows[0]
    else:  # nothing stands in the way of the bound
        shape = tuple(len(options[name]) for name in metric.sweeps)
        best = np.full(shape, metric.bounds[1 if metric.better == "higher" else 0])
    return _Estimates(
        run.request,
        plan,
        run.evidence[0].first(),
        [values["value", seed, "", 0] for seed in seeds],
        {b.name: _null(values, b, plan, len(seeds)) for b in metric.nulls},
        np.asarray(best),
        best_rows if metric.share_from else None,
    )


def _null(values: dict[Slot, Values], null: NullModel, plan: Plan, seeds: int) -> _Null:
    """A null's values, the mean over the experiment's seeds as for the score itself; and by seed.

    Of a null on evidence the rows are those of the plan, averaged over draws; of a null on the
    state they are the draws.
    """
    if null.on == "state":
        per_seed = [values["null", seed, null.name, 0].rows for seed in range(seeds)]
        means = np.stack([average_defined(draws) for draws in per_seed])
        return _Null(average_defined(per_seed), means, means[:1])
    draws = [
        [values["null", seed, null.name, draw].rows for draw in plan.seeds(null)]
        for seed in range(seeds)
    ]
    each = [average_defined(own) for own in draws]
    firsts = np.array([[rows[0] for rows in own] for own in draws])
    stored = average_defined(firsts) if null.draws_in else None
    return _Null(average_over_seeds(each), np.stack([rows[0] for rows in each]), firsts[0], stored)


def _scores(estimates: _Estimates) -> Iterator[Score]:
    metric, options = estimates.metric, estimates.request.all_options()
    values = average_over_seeds([seed.rows for seed in estimates.seeds])
    per_seed = np.stack([estimates.head(seed.rows[:1])[0] for seed in estimates.seeds])
    heads = estimates.head(values)
    sweeps = [[(name, choice) for choice in options[name]] for name in metric.sweeps]
    for cell in np.ndindex(*(len(sweep) for sweep in sweeps)):
        chosen = dict(sweep[i] for sweep, i in zip(sweeps, cell, strict=True))
        at = (slice(None), *cell)
        trials = estimates.seeds[0].moments.get(TRIALS)
        items = values[at] if metric.detail else None
        rows = Resampled(heads[at], items, per_seed[at], trials)
        score = _bare_score(estimates, cell, rows, options | chosen)
        yield _with_inference(score, estimates, cell, rows)


def _bare_score(
    estimates: _Estimates, cell: tuple[int, ...], rows: Resampled, options: dict[str, Any]
) -> Score:
    """The value and what was counted."""
    metric, plan = estimates.metric, estimates.plan
    detail = None
    if rows.items is not None:
        over: Items = options["over"]
        chosen = estimates.seeds[0].moments.get(CHOSEN)
        detail = Detail(over, _names(estimates.evidence, over), rows.items[0], None, None, chosen)
    n, n_undefined, n_unit = _counts(estimates, cell, detail)
    return Score(
        metric=metric.name,
        version=metric.version,
        question=metric.question,
        value=rows.value,
        better=metric.better,
        bounds=metric.bounds,
        best=float(estimates.best[cell]),
        n=n,
        n_undefined=n_undefined,
        n_unit=n_unit,
        options=options,
        detail=detail,
        per_seed=tuple(float(v) for v in rows.per_seed) if len(rows.per_seed) > 1 else (),
        n_clusters=plan.n_clusters if plan.sources[0] == "clusters" else None,
    )


def _with_inference(
    score: Score, estimates: _Estimates, cell: tuple[int, ...], rows: Resampled
) -> Score:
    """Intervals, and how far the score is from its nulls."""
    metric, plan = estimates.metric, estimates.plan
    counts = DrawCounts.from_plan(plan, score.n if score.n_unit == "samples" else plan.n)
    intervals = compute_score_intervals(score, metric, plan, rows, counts)
    nulls = _nulls(estimates, cell, rows, counts)
    score = replace(score, intervals=tuple(intervals), nulls=nulls, n_samples=counts.rows)
    if score.detail is not None and rows.items is not None:
        ends = compute_item_intervals(score, metric, plan, rows, counts)
        if ends is not None:
            score = replace(score, detail=replace(score.detail, low=ends[0], high=ends[1]))
        score = _with_draws(score, estimates, cell, rows, counts)
    if estimates.best_rows is not None:
        score = _with_share(score, estimates, cell, rows, counts)
    if metric.is_defect_metric:
        tolerance, level = metric.tolerance or 0.0, plan.resampling.level
        moments = over_seeds_of_moments([seed.moments for seed in estimates.seeds])
        if moments:
            concepts = getattr(estimates.evidence, "concepts", None)
            names = () if concepts is None else concepts.names
            return with_moments(score, metric, moments, counts, level, names)
        return replace(score, defect=estimate_defect(score, tolerance, level))
    return score


def _with_share(
    score: Score, estimates: _Estimates, cell: tuple[int, ...], rows: Resampled, counts: DrawCounts
) -> Score:
    """The score as a share of the way from its strongest baseline to the best possible."""
    metric, best_rows = estimates.metric, estimates.best_rows
    moments = estimates.seeds[0].moments
    facts = {n.removeprefix(FACT): float(v) for n, v in moments.items() if n.startswith(FACT)}
    at: tuple[slice | int, ...] = (slice(None), *cell)
    nulls = [null for null in score.nulls if null.name in metric.share_from]
    nulls = [null for null in nulls if not math.isnan(null.value)]
    if not nulls or best_rows is None:
        return replace(score, facts=facts)
    null = max(nulls, key=lambda null: null.value)
    on_state = next(n for n in metric.nulls if n.name == null.name).on == "state"
    baseline = np.full(1, null.value) if on_state else estimates.nulls[null.name].rows[at]
    ends = ShareEnds(rows.head - baseline, best_rows[at] - baseline)
    share = estimate_share(null.name, ends, estimates.plan, counts)
    best = max(score.best, score.value)
    return replace(score, facts=facts, share=share, best=best)


def _with_draws(
    score: Score, estimates: _Estimates, cell: tuple[int, ...], rows: Resampled, counts: DrawCounts
) -> Score:
    """Compare each item with the baseline draws of the evidence."""
    at: tuple[slice | int, ...] = (slice(None), *cell)
    for null in estimates.metric.nulls:
        own = estimates.nulls[null.name]
        if own.stored is not None and score.detail is not None and rows.items is not None:
            chance = ItemDraws(null.name, own.rows[at], own.stored[at])
            draws = compare_details_with_draws(
                chance, rows, estimates.metric, estimates.plan, counts
            )
            return replace(score, detail=replace(score.detail, draws=draws))
    return score


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


def _names(evidence: Evidence, over: Items) -> tuple[str, ...]:
    if over != "pairs":
        axis = getattr(evidence, over)
        names: tuple[str, ...] = axis.names
        # an axis of very many has names only where they were given
        return names or tuple(axis.name(number) for number in range(len(axis)))
    return tuple(f"{a} × {b}" for a, b in itertools.combinations(evidence.concepts.names, 2))  # type: ignore[attr-defined]


def _nulls(
    estimates: _Estimates, cell: tuple[int, ...], rows: Resampled, counts: DrawCounts
) -> tuple[Null, ...]:
    """The nulls, the strongest first."""
    metric = estimates.metric
    at: tuple[slice | int, ...] = (slice(None), *cell)
    compared = []
    for null in metric.nulls:
        own = estimates.nulls[null.name]
        items = own.rows[at] if metric.detail else None
        draws = estimates.head(own.draws)[at]
        null_rows = NullRows(
            estimates.head(own.rows)[at],
            items,
            estimates.head(own.each_seed)[at],
            estimate_mean_variance(draws),
            None if own.stored is None else estimates.head(own.stored)[at],
        )
        compared.append(compare_with_null(null, null_rows, rows, estimates.plan, counts, metric))
    sign = -1.0 if metric.better == "higher" else 1.0
    return tuple(sorted(compared, key=lambda null: (np.isnan(null.value), sign * null.value)))
