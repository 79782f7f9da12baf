"""How many threads compiled loops and matrix products may use; work shared out among them."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import TypeVar

Item = TypeVar("Item")
CHOICE = "THEODOLITE_THREADS"
_alone: ContextVar[bool] = ContextVar("_alone", default=False)


def count_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads() -> int:
    """How many threads share work: `THEODOLITE_THREADS`, else as many as there are cores."""
    if _alone.get():
        return 1
    chosen = os.environ.get(CHOICE, "")
    return max(int(chosen), 1) if chosen.isdecimal() else count_cores()


def run_in_threads(items: Sequence[Item], work: Callable[[Item], None], *, small: bool) -> None:
    """Call ``work`` with each of them, in several threads; in this one if there is little to do.

    For compiled functions that release Python's lock.
    """
    n = 1 if small else min(threads(), len(items))
    if n <= 1:
        for item in items:
            work(item)
        return
    with ThreadPoolExecutor(n) as pool:
        for _ in pool.map(work, items):
            pass


def run_in_slices(count: int, work: Callable[[slice], None], *, small: bool) -> None:
    """The same for so many rows, each thread taking a few at a time."""
    n_threads = 1 if small else threads()
    n = max(min(4 * n_threads if n_threads > 1 else 1, count), 1)
    cuts = [count * i // n for i in range(n + 1)]
    run_in_threads([slice(*part) for part in pairwise(cuts)], work, small=small)


@contextmanager
def limit_to_one_thread() -> Iterator[None]:
    """Work is not shared out among threads meanwhile."""
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


@contextmanager
def limit_to_one_core() -> Iterator[None]:
    """One core, matrix products included, where there are as many processes as cores."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415  only when needed

    with threadpool_limits(1), limit_to_one_thread():
        yield
