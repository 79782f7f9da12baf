"""Work shared out to threads: all of it, once, and what goes wrong is said."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theodolite._stats.threads import (
    THREADS_VARIABLE,
    count_cores,
    count_threads,
    limit_to_one_core,
    run_in_slices,
    run_in_threads,
)

several = pytest.mark.skipif(count_cores() < 2, reason="one core")


@given(st.integers(0, 40), st.booleans())
@settings(max_examples=30)
def test_every_row_is_done_once(count: int, small: bool) -> None:
    done = np.zeros(count, int)

    def add(some: slice) -> None:
        done[some] += 1

    run_in_slices(count, add, small=small)
    run_in_threads(range(count), lambda i: add(slice(i, i + 1)), small=small)
    assert (done == 2).all()


@several
def test_small_work_stays_in_its_thread_and_other_work_leaves_it() -> None:
    used: set[int] = set()
    run_in_threads(range(9), lambda _: used.add(threading.get_ident()), small=True)
    assert used == {threading.get_ident()}
    run_in_threads(range(9), lambda _: used.add(threading.get_ident()), small=False)
    assert len(used) > 1


@pytest.mark.parametrize(
    ("chosen", "n"), [("3", 3), ("0", 1), ("", count_cores()), ("many", count_cores())]
)
def test_the_number_can_be_chosen(chosen: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS_VARIABLE, chosen)
    assert count_threads() == n


def test_where_there_are_other_processes_this_thread_does_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(THREADS_VARIABLE, "4")
    used: set[int] = set()
    with limit_to_one_core():
        run_in_threads(range(9), lambda _: used.add(threading.get_ident()), small=False)
    assert used == {threading.get_ident()}
    assert count_threads() == 4


def test_an_error_reaches_the_caller() -> None:
    def fail(_: int) -> None:
        raise ZeroDivisionError

    for small in (True, False):
        with pytest.raises(ZeroDivisionError):
            run_in_threads([1, 0], fail, small=small)
