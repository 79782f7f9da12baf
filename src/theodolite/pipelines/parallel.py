"""Run several fits at once, one core each, which is faster than all cores for each fit."""

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from threadpoolctl import threadpool_limits

from theodolite.evidence.pipeline_output import WorkContext

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_in_parallel(do: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Yield results in the order of the items; they do not depend on the number of cores."""
    with threadpool_limits(1), _fits_quiet(), ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        yield from pool.map(do, items)


@contextmanager
def _fits_quiet() -> Iterator[None]:
    """Silence fits around all threads.

    Filters of warnings belong to the process: a fit that ends puts back those from before it, also
    for the fits beside it, and the last to end may leave its own for good.
    """
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415  only when needed

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def report_progress(
    results: Iterator[Result], what: str, total: int, context: WorkContext
) -> Iterator[Result]:
    """Yield the results and advance the progress bar."""
    context.progress(what, 0, total)
    for number, result in enumerate(results, start=1):
        context.progress(what, number, total)
        yield result
