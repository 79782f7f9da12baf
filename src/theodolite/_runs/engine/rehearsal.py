"""A run in small: of every pass two pieces are done, timed and kept, and none else."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from theodolite._runs.engine.run_cost import PassCost, RunCost
from theodolite._runs.engine.tasks import TaskOutcome, measure_peak_memory
from theodolite._runs.engine.worker_pool import WorkerPool
from theodolite._storage.traffic import Traffic, get_traffic
from theodolite.evidence.workers import Arrays, Entry, Merge, Work


class Rehearsal:
    """Workers for an estimate.

    Their results come from two tasks only: enough to start the next pass, and nothing else.
    """

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool
        self._started, self._ended, self._apart = time.perf_counter(), 0.0, 0.0
        self._done: set[str] | None = None
        self.passes: list[PassCost] = []
        self.start_seconds = 0.0
        """What is over once: processes that start, modules that are loaded, loops that compile."""
        self.peak_bytes = 0

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return (self._ended or time.perf_counter()) - self._started

    @property
    def driver_seconds(self) -> float:
        """Seconds that the driver worked beside the passes."""
        return self.seconds - self._apart

    def stop(self) -> None:
        """Nothing that comes later is counted."""
        self._ended = time.perf_counter()

    def price(self, notes: Sequence[str]) -> RunCost:
        """Return what the whole run will cost."""
        self.stop()
        return RunCost(
            self.passes, self._pool.pool.size, self.driver_seconds, self.peak_bytes, notes,
            self.start_seconds,
        )  # fmt: skip

    def wake(self) -> None:
        """Have all processes start, so that it is not taken for work."""
        n = self._pool.pool.size
        digests = [f"{i}" for i in range(n)]
        nothing = Work(
            what="start", do=_return_number, items=[0] * n, digests=digests, about={}, kept=False
        )
        with self._out_of_the_driver():
            started = time.perf_counter()
            self._pool.tried(nothing, range(n))
            self.start_seconds += time.perf_counter() - started

    def each(self, work: Work) -> Iterator[Arrays | None]:
        with self._out_of_the_driver():
            parts = self._timed(work, None)
        some = next((part for part in parts.values() if part is not None), None)
        yield from (some for _ in work.items)  # all equal, so that later passes fit together

    def reduced(self, work: Work, merge: Merge) -> Arrays | None:
        with self._out_of_the_driver():
            parts = [part for part in self._timed(work, merge).values() if part is not None]
        return merge(*parts) if len(parts) > 1 else next(iter(parts), None)

    def entries(self, work: Work) -> list[Entry | None]:
        """All of them, and for good: the pieces of later passes read them, each its own."""
        with self._out_of_the_driver():
            left = len(set(self._pool.keys_of(work)) - self._pool.checkpoints.done())
            before, started = self._pool.watch.snapshot(), time.perf_counter()
            entries = self._pool.entries(work)
            seconds, after = time.perf_counter() - started, self._pool.watch.snapshot()
            n = max(left, 1)
            read = Traffic(*((after[name] - before[name]) // n for name in ("bytes", "requests")))
            each = (seconds * min(self._pool.pool.size, n) / n,) * bool(left)
            self.passes.append(PassCost(work.what, len(entries), left, each, read))
            return entries

    def missing(self) -> frozenset[int]:
        return frozenset()

    def once(self, description: Mapping[str, Any], digest: str, do: Callable[[], Arrays]) -> Arrays:
        with self._out_of_the_driver():
            known = self._pool.checkpoints.read(self._pool.name_of(description, digest, do).key)
            left, started, before = int(known is None), time.perf_counter(), get_traffic()
            arrays = do() if known is None else known[0]
            seconds = (time.perf_counter() - started,) * left
            read = get_traffic().since(before)
            self.passes.append(PassCost("at once", 1, left, seconds, read, in_driver=True))
            return arrays

    @contextmanager
    def _out_of_the_driver(self) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self._apart += time.perf_counter() - started

    def _timed(self, work: Work, merge: Merge | None) -> dict[int, Arrays | None]:
        """What two pieces give, by their numbers: the first that is left, and one drawn."""
        keys = self._pool.keys_of(work)
        if self._done is None:
            self._done = self._pool.checkpoints.done()
        left = [n for n, key in enumerate(keys) if key not in self._done or not work.kept]
        chosen = _choose_two(left or range(len(keys)), seed=len(self.passes))
        started = time.perf_counter()
        ended: list[TaskOutcome] = self._pool.tried(work, chosen)
        warm = sum(second for done in ended for second in done.piece_seconds)
        # each was computed twice, side by side: what it took beyond that is over now
        twice = 2 * warm / min(self._pool.pool.size, max(len(chosen), 1))
        self.start_seconds += max(time.perf_counter() - started - twice, 0.0) * bool(left)
        parts = dict(zip(chosen, (done.parts[0] for done in ended), strict=True))
        some = [part for part in parts.values() if part is not None]
        merging = _time_merge(merge, some) if merge is not None else 0.0
        self.peak_bytes = max(
            [self.peak_bytes, measure_peak_memory(), *(d.peak_bytes for d in ended)]
        )
        n = max(len(ended), 1)
        self.passes.append(
            PassCost(
                work.what,
                len(keys),
                len(left),
                tuple(second + merging for done in ended for second in done.piece_seconds),
                Traffic(
                    sum(done.traffic.bytes for done in ended) // n,
                    sum(done.traffic.requests for done in ended) // n,
                ),
                sum(_count_bytes(part) for part in some) // max(len(some), 1) if work.kept else 0,
            )
        )
        return parts


def _return_number(item: int) -> Arrays:
    return {"nothing": np.array(item)}


def _choose_two(numbers: Sequence[int], seed: int) -> list[int]:
    """The first, and another that is drawn."""
    others = numbers[1:]
    drawn_too = [others[int(np.random.default_rng(seed).integers(len(others)))]] if others else []
    return [*numbers[:1], *drawn_too]


def _time_merge(merge: Merge, parts: Sequence[Arrays]) -> float:
    started = time.perf_counter()
    if len(parts) > 1:
        merge(*parts)
    return time.perf_counter() - started


def _count_bytes(arrays: Arrays) -> int:
    return sum(np.asarray(array).nbytes for array in arrays.values())
