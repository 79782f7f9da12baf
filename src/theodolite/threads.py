"""How many threads compiled loops and matrix products may use, put back afterwards."""

import sys
from collections.abc import Iterator
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


@contextmanager
def one_thread() -> Iterator[None]:
    """One core, where there are as many processes as cores."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415  only when needed

    loaded = "numba" in sys.modules  # it is not loaded just to be told
    with threadpool_limits(1), one_thread_if(loaded) if loaded else nullcontext():
        yield
