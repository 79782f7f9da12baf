"""How many threads compiled loops and matrix products may use, put back afterwards."""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext


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


def for_each(count: int, work: Callable[[int], None], worth_threads: int) -> None:
    """Call ``work`` with 0, 1, 2, …, in as many threads as compiled loops may use.

    For compiled functions that release Python's lock. A parallel loop around them would do the
    same, but compile each of them a second time: half a minute for the largest.
    """
    import numba  # noqa: PLC0415  only when needed

    threads = numba.get_num_threads() if count >= worth_threads else 1
    if threads == 1:
        for i in range(count):
            work(i)
        return
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, range(count)):
            pass


@contextmanager
def one_thread() -> Iterator[None]:
    """One core, where there are as many processes as cores."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415  only when needed

    loaded = "numba" in sys.modules  # it is not loaded just to be told
    with threadpool_limits(1), one_thread_if(loaded) if loaded else nullcontext():
        yield
