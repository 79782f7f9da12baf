"""Several fits at once."""

import threading
import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning

from theodolite.pipelines import parallel
from theodolite.pipelines.parallel import run_in_parallel


def test_results_come_in_order() -> None:
    assert list(run_in_parallel(lambda item: 2 * item, range(20))) == list(range(0, 40, 2))


def test_fits_beside_each_other_stay_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first ends while the second is at it, and the second ends last."""
    monkeypatch.setattr(parallel.os, "cpu_count", lambda: 2)
    first_in, second_in, first_out = (threading.Event() for _ in range(3))
    before = list(warnings.filters)

    def fit(number: int) -> None:
        if number:
            first_in.wait(10)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            (second_in if number else first_in).set()
            (first_out if number else second_in).wait(10)
            if number:
                warnings.warn("stopped by its iterations", ConvergenceWarning, stacklevel=1)
        if not number:
            first_out.set()

    list(run_in_parallel(fit, range(2)))
    assert warnings.filters == before
