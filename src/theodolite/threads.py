"""How many threads a compiled loop may use, put back afterwards."""

from collections.abc import Iterator
from contextlib import contextmanager


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
