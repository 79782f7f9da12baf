"""Estimate the cost of a run of sharded evidence by running a few tasks."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from theodolite._runs.engine.rehearsal import Rehearsal
from theodolite._runs.engine.run_cost import PassCost, RunCost
from theodolite._runs.engine.tasks import measure_peak_memory
from theodolite._runs.engine.worker_pool import WorkerPool
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.folder.spec_answers import build_requests
from theodolite._runs.run_content import MAX_SAMPLES
from theodolite._runs.stored_bundles import StoredBundles, count_array_bytes
from theodolite._scoring.evaluate import MetricRequest, MetricRun, Resampling, evaluate_all
from theodolite._storage.traffic import get_traffic
from theodolite._verdicts.answers import requests_for
from theodolite._verdicts.notes import subsample_notes
from theodolite.evidence.base import Evidence, flatten_entries
from theodolite.evidence.shards import InMemoryShards, Shards
from theodolite.evidence.workers import Workers

MIN_SHARDS = 64
MIN_VALUES = 4_000_000
"""Runs of fewer pieces, and of fewer values in scores that need all samples at once, are over
before a rehearsal is."""
SAMPLE_FRACTIONS = (0.04, 0.1)
"""Of the samples of such scores: two sizes, from which the time of all is reckoned."""
MIN_SAMPLES = (250, 500)
LONG_SECONDS = 10.0
"""Seconds after which it is not tried whether a second time is quicker."""


def is_long(spec: RunSpec, stored: StoredBundles) -> bool:
    """Return whether a run may take a minute: seen from sizes alone."""
    runs, resampling = _list_runs(spec, stored), spec.resampling.draws()
    if any(len(shards.shards()) >= MIN_SHARDS for shards in stored.kinds.values()):
        return True
    at_once = [run.evidence[0] for run in runs if not run.request.metric.streams]
    return any(
        min(len(shards), resampling.most_pooled) * _count_values(shards.first()) >= MIN_VALUES
        for shards in at_once
    )


def rehearse_stored(spec: RunSpec, stored: StoredBundles, pool: WorkerPool) -> RunCost:
    """Rehearse a run of stored evidence."""
    runs, resampling = _list_runs(spec, stored), spec.resampling.draws()
    rehearsal = Rehearsal(pool)
    rehearsal.wake()
    evaluate_all(
        [run for run in runs if run.request.metric.streams], resampling, rehearsal, failures=[]
    )
    if stored.count_samples() <= MAX_SAMPLES:
        stored.per_sample([run.request for run in runs], rehearsal)
    estimate = rehearsal.price(subsample_notes(runs, resampling))
    at_once = [run for run in runs if not run.request.metric.streams]
    return _add_pooled_scores(estimate, at_once, resampling, pool) if at_once else estimate


def rehearse_pipeline(make: Callable[[Workers], Any], pool: WorkerPool) -> RunCost:
    """Rehearse a pipeline that works in tasks."""
    rehearsal = Rehearsal(pool)
    rehearsal.wake()
    make(rehearsal)
    return rehearsal.price(["Scores of the evidence that is made are not counted."])


def _list_runs(spec: RunSpec, stored: StoredBundles) -> list[MetricRun]:
    requests: Sequence[MetricRequest] = build_requests(spec.metrics)
    if not requests:
        some = {kind: shards.shards()[0].evidence() for kind, shards in stored.kinds.items()}
        requests, _ = requests_for(some, [])
    return [MetricRun(request, [stored.kinds[request.metric.needs]]) for request in requests]


def _add_pooled_scores(
    estimate: RunCost, runs: Sequence[MetricRun], resampling: Resampling, pool: WorkerPool
) -> RunCost:
    """And scores that need all samples at once: timed with few samples, reckoned for all."""
    sources = {id(run.evidence[0]): run.evidence[0] for run in runs}
    for key, shards in sources.items():
        n = min(len(shards), resampling.most_pooled)
        sizes = [
            min(max(round(share * n), few), n)
            for share, few in zip(SAMPLE_FRACTIONS, MIN_SAMPLES, strict=True)
        ]
        bundle = _take_rows(shards, sizes[-1])
        requests = [run.request for run in runs if id(run.evidence[0]) == key]
        few = first = _rehearse_pooled(requests, bundle[: sizes[0]], resampling, pool)
        if few.seconds <= LONG_SECONDS:  # the first time compiles
            few = _rehearse_pooled(requests, bundle[: sizes[0]], resampling, pool)
        more = _rehearse_pooled(requests, bundle, resampling, pool)
        shares = sizes[0] / len(bundle), len(bundle) / n
        estimate = replace(
            estimate,
            passes=[
                *estimate.passes,
                _time_drawing(shards),
                *(
                    replace(last, seconds=(_extrapolate_seconds(seconds, last.seconds, shares),))
                    for seconds, last in zip(
                        _choose_timings(first, few, more), more.passes, strict=True
                    )
                ),
            ],
            driver_seconds=estimate.driver_seconds
            + _extrapolate_seconds([few.driver_seconds], [more.driver_seconds], shares),
            start_seconds=estimate.start_seconds
            + first.start_seconds
            + max(first.driver_seconds - few.driver_seconds, 0.0),
            peak_bytes=max(
                estimate.peak_bytes,
                measure_peak_memory() + 2 * n * count_array_bytes(bundle) // len(bundle),
            ),
        )
    return estimate


def _choose_timings(first: Rehearsal, again: Rehearsal, more: Rehearsal) -> list[tuple[float, ...]]:
    """Times of the smaller part, pass by pass: of the second time, or of the first where pieces
    were there already; none if the larger part has other passes."""
    if not len(first.passes) == len(again.passes) == len(more.passes):
        return [()] * len(more.passes)
    pairs = zip(first.passes, again.passes, strict=True)
    return [warm.seconds or cold.seconds for cold, warm in pairs]


def _rehearse_pooled(
    requests: Sequence[MetricRequest], bundle: Any, resampling: Resampling, pool: WorkerPool
) -> Rehearsal:
    runs = [MetricRun(request, [InMemoryShards(bundle)]) for request in requests]
    rehearsal = Rehearsal(pool)
    evaluate_all(runs, resampling, rehearsal, failures=[])
    rehearsal.stop()
    return rehearsal


def _extrapolate_seconds(
    few: Sequence[float], more: Sequence[float], shares: tuple[float, float]
) -> float:
    """The time of all, from the times of two parts: it grows by a power, up to the square.

    Args:
        few: Times of the smaller part.
        more: Times of the larger part.
        shares: Of the smaller in the larger, of the larger in all.
    """
    times = [sum(part) / max(len(part), 1) for part in (few, more)]
    if min(times) <= 0 or shares[0] >= 1:
        return times[1] / shares[1]
    power = math.log(times[0] / times[1]) / math.log(shares[0])
    return float(times[1] * shares[1] ** -np.clip(power, 0.0, 2.0))


def _time_drawing(shards: Shards) -> PassCost:
    """Samples are drawn from all pieces, which are read for it."""
    pieces = shards.shards()
    for _ in range(2):  # the first time may read what all pieces share
        started, before = time.perf_counter(), get_traffic()
        pieces[0].evidence()
    seconds = time.perf_counter() - started
    read = get_traffic().since(before)
    return PassCost("drawing", len(pieces), len(pieces), (seconds,), read)


def _take_rows(shards: Shards, n: int) -> Any:
    """The first samples, as many as asked for or all."""
    parts, rows = [], 0
    for piece in shards.shards():
        parts.append(piece.evidence())
        rows += len(parts[-1])
        if rows >= n:
            break
    return (parts[0] if len(parts) == 1 else type(parts[0]).joined(parts))[:n]


def _count_values(first: Evidence) -> int:
    """Numbers of one sample."""
    return max(
        (flatten_entries(getattr(first, name)).size for name, _ in first.layouts()
         if getattr(first, name) is not None),
        default=1,
    )  # fmt: skip
