import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theodolite.errors import EvidenceError
from theodolite_study.rate_limits import Limiter

steps = st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0, 60.0]), min_size=1, max_size=60)


@given(steps, st.sampled_from([0.25, 1.0, 4.0]), st.integers(1, 5))
def test_no_window_has_more_than_its_share(waits: list[float], rate: float, burst: int) -> None:
    limiter, now, allowed = Limiter(rate, burst), 100.0, []
    for wait in waits:
        now += wait
        if limiter.allow("a", now) == 0:
            allowed.append(now)
    for i, start in enumerate(allowed):
        for j in range(i, len(allowed)):
            assert j - i + 1 <= burst + rate * (allowed[j] - start) + 1e-6


@given(steps, st.sampled_from([0.25, 1.0, 4.0]), st.integers(1, 5))
def test_the_wait_is_exact(waits: list[float], rate: float, burst: int) -> None:
    limiter, now = Limiter(rate, burst), 0.0
    for wait in waits:
        now += wait
        told = limiter.allow("a", now)
        assert 0 <= told <= 1 / rate
        if told:
            assert limiter.allow("a", now + told * 0.99) > 0
            now += told
            assert limiter.allow("a", now) == 0


@given(steps, st.integers(1, 4))
def test_as_a_slow_bucket(waits: list[float], burst: int) -> None:
    limiter, now, level = Limiter(2.0, burst), 0.0, float(burst)
    for wait in waits:
        now, level = now + wait, min(burst, level + 2.0 * wait)
        if abs(level - 1) < 1e-6:
            continue  # either is right
        right = level >= 1
        assert (limiter.allow("a", now) == 0) is right
        level -= right


def test_keys_do_not_share() -> None:
    limiter = Limiter(0.01, 1)
    assert limiter.allow("a", 0.0) == 0
    assert limiter.allow("a", 0.0) == pytest.approx(100)
    assert limiter.allow("b", 0.0) == 0


def test_refusals_cost_nothing() -> None:
    limiter = Limiter(1.0, 1)
    assert limiter.allow("a", 0.0) == 0
    for i in range(50):
        assert limiter.allow("a", i / 100) > 0
    assert limiter.allow("a", 1.0) == 0


def test_memory_is_bounded_and_the_busy_are_remembered() -> None:
    limiter = Limiter(0.001, 1, most_keys=10)
    assert limiter.allow("busy", 0.0) == 0
    for i in range(1000):
        limiter.allow(f"name {i}", float(i) / 1000)
        assert limiter.allow("busy", float(i) / 1000) > 0  # asking keeps it in mind
    assert len(limiter) == 10


def test_the_one_forgotten_is_the_one_unseen_for_longest() -> None:
    limiter = Limiter(0.001, 1, most_keys=2)
    assert [limiter.allow(key, 0.0) for key in "abc"] == [0, 0, 0]
    assert limiter.allow("c", 0.0) > 0 and limiter.allow("b", 0.0) > 0
    assert limiter.allow("a", 0.0) == 0


def test_a_clock_that_goes_back_gives_nothing() -> None:
    limiter = Limiter(1.0, 1)
    assert limiter.allow("a", 100.0) == 0
    assert limiter.allow("a", 50.0) > 0
    assert limiter.allow("a", 100.5) > 0
    assert limiter.allow("a", 101.0) == 0


def test_threads_together_get_one_burst() -> None:
    limiter, allowed = Limiter(1e-9, 20), []
    start = threading.Barrier(8)

    def ask() -> None:
        start.wait()
        allowed.extend(1 for _ in range(50) if limiter.allow("a", 0.0) == 0)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(allowed) == 20


def test_without_a_clock_time_passes() -> None:
    limiter = Limiter(1e-6, 1)
    assert limiter.allow("a") == 0 and limiter.allow("a") > 0


@pytest.mark.parametrize(
    ("rate", "burst", "keys"), [(0, 1, 1), (-1, 1, 1), (float("inf"), 1, 1), (1, 0, 1), (1, 1, 0)]
)
def test_limits_that_are_none(rate: float, burst: int, keys: int) -> None:
    with pytest.raises(EvidenceError):
        Limiter(float(rate), burst, keys)
