"""How many threads compiled loops and matrix products may use; work shared out among them."""

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from itertools import pairwise
from typing import TypeVar

Item = TypeVar("Item")


@contextmanager
def one_thread_if(small: bool) -> Iterator[None]:  # noqa: FBT001  reads as a sentence
    """Threads wait for each other: not worth it for little work."""
    import numba  # noqa: PLC0415  only when needed

    threads = numba.get_num_threads()
    numba.set_num_threads(1 if small else threads)
    try:
        yield
    finally:
        numba.set_num_threads(threads)


def for_each(items: Sequence[Item], work: Callable[[Item], None], *, small: bool) -> None:
    """Call ``work`` with each of them, in as many threads as compiled loops may use.

    For compiled functions that release Python's lock. A parallel loop around them would do the
    same, but compile each of them a second time: half a minute for the largest.
    """
    threads = _threads(small)
    if threads == 1:
        for item in items:
            work(item)
        return
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, items):
            pass


def in_slices(count: int, work: Callable[[slice], None], *, small: bool) -> None:
    """The same for so many rows, each thread taking a few at a time."""
    threads = _threads(small)
    n = max(min(4 * threads if threads > 1 else 1, count), 1)
    cuts = [count * i // n for i in range(n + 1)]
    for_each([slice(*part) for part in pairwise(cuts)], work, small=small)


def _threads(small: bool) -> int:  # noqa: FBT001
    import numba  # noqa: PLC0415  only when needed

    return 1 if small else numba.get_num_threads()


@contextmanager
def one_thread() -> Iterator[None]:
    """One core, where there are as many processes as cores."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415  only when needed

    loaded = "numba" in sys.modules  # it is not loaded just to be told
    with threadpool_limits(1), one_thread_if(loaded) if loaded else nullcontext():
        yield
