"""Limit the number of threads, and run compiled functions in several threads.

Used by `_stats`, dissection, SAE counting and the execution engines.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import TypeVar

Item = TypeVar("Item")
THREADS_VARIABLE = "THEODOLITE_THREADS"
_is_limited: ContextVar[bool] = ContextVar("_is_limited", default=False)


def count_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def count_threads() -> int:
    """Return the number of threads to use: `THEODOLITE_THREADS`, or the number of cores."""
    if _is_limited.get():
        return 1
    chosen = os.environ.get(THREADS_VARIABLE, "")
    return max(int(chosen), 1) if chosen.isdecimal() else count_cores()


def run_in_threads(items: Sequence[Item], work: Callable[[Item], None], *, small: bool) -> None:
    """Call ``work`` with each item in several threads, or in this thread if ``small``.

    For compiled functions that release the global interpreter lock.
    """
    n = 1 if small else min(count_threads(), len(items))
    if n <= 1:
        for item in items:
            work(item)
        return
    with ThreadPoolExecutor(n) as pool:
        for _ in pool.map(work, items):
            pass


def run_in_slices(count: int, work: Callable[[slice], None], *, small: bool) -> None:
    """Call ``work`` with slices of ``count`` rows in several threads."""
    n_threads = 1 if small else count_threads()
    n = max(min(4 * n_threads if n_threads > 1 else 1, count), 1)
    cuts = [count * i // n for i in range(n + 1)]
    run_in_threads([slice(*part) for part in pairwise(cuts)], work, small=small)


@contextmanager
def limit_to_one_thread() -> Iterator[None]:
    """Keep `run_in_threads` in one thread while the context is active."""
    token = _is_limited.set(True)
    try:
        yield
    finally:
        _is_limited.reset(token)


@contextmanager
def limit_to_one_core() -> Iterator[None]:
    """Use one core, matrix products included, for processes that share the cores."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415  only when needed

    with threadpool_limits(1), limit_to_one_thread():
        yield
