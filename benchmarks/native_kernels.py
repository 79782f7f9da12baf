"""Compiled loops against their form in numpy: CPU seconds and bits.

    python benchmarks/native_kernels.py [--short]

Six data sets, as in `design/native.md`, where the ratio to the numba loops of 0.1.0 stands. Of the
larger ones only the library is timed. Ends with another code than 0 where bits differ.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from theodolite._stats.information import Columns, pair_terms, ross_columns
from theodolite._stats.native.library import KERNELS_VARIABLE
from theodolite._stats.neighbors import stratified_pair_terms

MOST_FOR_NUMPY = 1_000
"""Samples."""


def data_sets() -> Iterator[tuple[str, np.ndarray]]:
    """With and without ties, unrelated and related."""
    random = np.random.default_rng(0)
    yield "1,000 x 30", random.normal(size=(1000, 30))
    yield "1,000 x 30, related", random.random((1000, 30)) @ random.random((30, 30))
    yield "997 x 30, ties", random.normal(size=(997, 30)).round(1)
    if "--short" not in sys.argv:
        yield "5,000 x 60", random.normal(size=(5000, 60))
        yield "20,000 x 12", random.normal(size=(20000, 12))
        yield "20,000 x 12, ties", random.normal(size=(20000, 12)).round(2)


def timed(kind: str, work: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    """CPU seconds, and what came out."""
    os.environ[KERNELS_VARIABLE] = kind
    before = time.process_time()
    result = work()
    return time.process_time() - before, result


def _pairs(pairs: np.ndarray, values: np.ndarray) -> np.ndarray:
    return np.concatenate([terms for _, terms in pair_terms(Columns(values), pairs)])


def _stratified(pairs: np.ndarray, values: np.ndarray, strata: np.ndarray) -> np.ndarray:
    return np.concatenate([terms for _, terms in stratified_pair_terms(values, pairs, strata)])


def main() -> int:
    """Time all."""
    os.environ["THEODOLITE_THREADS"] = "1"
    print(f"CPU seconds; load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    different = 0
    for name, values in data_sets():
        random = np.random.default_rng(1)
        n, k = values.shape
        pairs = np.stack(np.triu_indices(k, 1), axis=1)
        labels = random.integers(0, 10, size=(n,))
        strata = random.integers(0, 2, size=(k, n))
        loops: dict[str, Callable[[], np.ndarray]] = {
            "ksg_pair_terms": partial(_pairs, pairs, values),
            "ross_column_terms": partial(ross_columns, values, labels),
            "stratified_pair_terms": partial(_stratified, pairs, values, strata),
        }
        for loop, work in loops.items():
            seconds, result = timed("native", work)
            line = f"{name:22} {loop:22} native {seconds:7.3f}"
            if n <= MOST_FOR_NUMPY:
                other, expected = timed("numpy", work)
                same = np.array_equal(result, expected, equal_nan=True)
                different += not same
                line += f"   numpy {other:7.3f}   {'same bits' if same else 'OTHER BITS'}"
            print(line, flush=True)
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
