"""What a finding may be called, held against planted effects and a naive reader."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from theodolite_reproductions.findings.criterion import Criterion, difference, leakage_criterion
from theodolite_reproductions.findings.decision import (
    decide,
    decide_correlation,
    decide_mean,
    decision_record,
)
from theodolite_reproductions.findings.leakage import pairs_answer, pairs_decision


def naive(value: float, error: float, df: float, effect: float, sign: int) -> str:
    """As the rule reads, with scipy's own distributions."""
    low, high = stats.t.interval(0.95, df, sign * value, error)
    if low > 0 or high < 0:
        return "confirmed" if low > 0 else "contradicted"
    if -effect < low and high < effect:
        return "not there"
    seen = error * (stats.t.ppf(0.975, df) + stats.t.ppf(0.8, df))
    return "too few repeats" if seen > effect else "inconclusive"


@given(
    st.floats(-1, 1), st.floats(0.001, 0.5), st.floats(1, 200), st.floats(0.005, 1),
    st.sampled_from([1, -1]),
)  # fmt: skip
def test_each_answer_is_what_a_naive_reader_says(
    value: float, error: float, df: float, effect: float, sign: int
) -> None:
    result = decide(value, error, df, effect, sign)
    assert result.answer == naive(value, error, df, effect, sign)
    assert result.p == pytest.approx(2 * stats.t.sf(abs(value) / error, df))


@pytest.mark.parametrize(
    ("value", "error", "answer", "low", "high"),
    [
        (0.05, 0.01, "confirmed", 0.026940, 0.073060),
        (-0.05, 0.01, "contradicted", -0.073060, -0.026940),
        (0.002, 0.004, "not there", -0.007224, 0.011224),
        (0.004, 0.011, "too few repeats", -0.021366, 0.029366),
        (0.011, 0.006, "inconclusive", -0.002836, 0.024836),
    ],
)
def test_worked_numbers(value: float, error: float, answer: str, low: float, high: float) -> None:
    """Eight degrees of freedom: t is 2.306004, and 0.888890 for four of five."""
    result = decide(value, error, 8, 0.02, repeats=5)
    assert result.answer == answer
    assert (result.low, result.high) == pytest.approx((low, high), abs=5e-7)
    assert result.min_detectable_effect == pytest.approx(3.194894 * error, abs=1e-6)
    assert decide(-value, error, 8, 0.02, -1, repeats=5).answer == answer, "the mirrored claim"


def test_bounds_that_just_touch_decide_nothing() -> None:
    t = stats.t.ppf(0.975, 8)
    assert decide(t * 0.01, 0.01, 8, 0.005).answer != "confirmed"
    assert decide(0.0, 0.02 / t, 8, 0.02).answer == "too few repeats"


def test_sure_but_smaller_than_the_claim_is_said_so() -> None:
    small = decide(0.005, 0.001, 50, 0.02)
    assert small.answer == "confirmed" and small.smaller
    assert decision_record(small).smaller
    assert not decide(0.05, 0.001, 50, 0.02).smaller


def test_the_number_that_would_do_would_do() -> None:
    few = decide(0.0, 0.05, 4, 0.02, repeats=3)
    assert few.answer == "too few repeats"

    def seen(n: int) -> float:
        df = 4 * (n - 1) / 2
        error = 0.05 * math.sqrt(3 / n)
        return float(error * (stats.t.ppf(0.975, df) + stats.t.ppf(0.8, df)))

    assert few.n_required is not None
    assert seen(few.n_required) <= 0.02 < seen(few.n_required - 1)


def test_one_repeat_is_too_few_and_none_cannot_tell() -> None:
    single = decide_mean(np.array([0.3]), 0.02)
    assert (single.answer, single.repeats, single.n_required) == ("too few repeats", 1, None)
    assert (
        math.isnan(single.min_detectable_effect)
        and decision_record(single).min_detectable_effect is None
    )
    assert decide_mean(np.array([np.nan]), 0.02).answer == "inconclusive"
    assert difference(np.array([0.1]), np.array([0.3, 0.2])).answer == "too few repeats"
    assert difference(np.array([]), np.array([0.3])).answer == "inconclusive"


def test_what_does_not_vary_is_sure() -> None:
    assert decide_mean(np.full(3, 0.5), 0.02).answer == "confirmed"
    assert decide_mean(np.full(3, 1e-15), 0.02).answer == "not there"
    assert decide_mean(np.full(3, -0.001), 0.02).smaller


def test_a_correlation_is_decided_on_fishers_scale() -> None:
    r, n = 0.6, 40
    result = decide_correlation(math.atanh(r), 1 / math.sqrt(n - 3), 1e9, 0.3, repeats=n)
    assert result.answer == "confirmed" and result.value == pytest.approx(r)
    assert (result.low, result.high) == pytest.approx((0.354806, 0.767971), abs=1e-6)
    assert math.atanh(result.min_detectable_effect) == pytest.approx(
        2.801585 / math.sqrt(37), abs=1e-6
    )
    few = decide_correlation(0.1, 1 / math.sqrt(9), 1e9, 0.36, repeats=12)
    assert few.n_required == math.ceil((2.801585 / math.atanh(0.36)) ** 2 + 3)
    against = decide_correlation(math.atanh(r), 1 / math.sqrt(n - 3), 1e9, 0.3, -1)
    assert against.answer == "contradicted"


DRAWS = 300
SLACK = 3 * math.sqrt(0.05 * 0.95 / DRAWS)


@pytest.mark.parametrize(("repeats", "sd"), [(3, 0.02), (5, 0.01), (30, 0.02)])
@pytest.mark.parametrize("true", [0.0, 0.02])
def test_false_answers_are_rare(repeats: int, sd: float, true: float) -> None:
    """Confirmed without an effect, and not there at exactly the effect: each in 5 % at most."""
    random = np.random.default_rng([repeats, round(1000 * true)])
    answers = [
        difference(random.normal(true, sd, repeats), random.normal(0, sd, repeats)).answer
        for _ in range(DRAWS)
    ]
    false = {"confirmed", "contradicted"} if true == 0 else {"not there", "contradicted"}
    assert np.mean([answer in false for answer in answers]) <= 0.05 + SLACK


def test_planted_effects_get_their_words() -> None:
    random = np.random.default_rng(0)

    def answers(true: float, repeats: int) -> list[str]:
        return [
            difference(random.normal(true, 0.02, repeats), random.normal(0, 0.02, repeats)).answer
            for _ in range(50)
        ]

    assert answers(0.2, 5).count("confirmed") == 50
    assert answers(-0.2, 5).count("contradicted") == 50
    assert answers(0.0, 60).count("not there") >= 45
    assert answers(0.0, 3).count("too few repeats") >= 44


def test_a_finding_is_what_most_pairs_say_and_none_denies() -> None:
    few, none = "too few repeats", "not there"
    assert pairs_answer(["more", "more", few]) == "confirmed"
    assert pairs_answer(["more", "more", "less"]) == "inconclusive", "pairs deny each other"
    assert pairs_answer(["more", few, few]) == few, "they could still say more"
    assert pairs_answer(["more", none, none]) == "inconclusive", "repeats do not change that"
    assert pairs_answer(["less", "less", "more"]) == "inconclusive"
    assert pairs_answer(["less", "less", none]) == "contradicted"
    assert pairs_answer([none, none, few]) == none
    assert pairs_answer([none, few, "inconclusive"]) == few
    assert pairs_answer([none, "inconclusive", "inconclusive"]) == "inconclusive"
    assert pairs_answer(["contradictory", "contradictory"]) == "inconclusive"
    assert pairs_answer(["undefined"]) == "inconclusive"


def test_the_power_of_a_finding_is_that_of_most_of_its_pairs() -> None:
    tests = [
        leakage_criterion(
            [np.array([0.1, 0.1 + spread, 0.1 - spread])], [np.array([0.1, 0.1, 0.1])], effect=0.02
        )
        for spread in (0.001, 0.003, 0.3)
    ]
    result = pairs_decision([*tests, Criterion("undefined", ())], 0.02)
    assert result.min_detectable_effect == pytest.approx(
        tests[1].differences[0].min_detectable_effect
    )
    assert (result.repeats, result.effect) == (3, 0.02)
