"""Promised intervals: closed forms against simulation, coverage, and what grows with what."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm, ttest_1samp

from theodolite.errors import EvidenceError
from theodolite_study.planning.agreement_size import (
    SimulatedRaters,
    StudySize,
    compute_agreement,
    simulate_agreement,
    simulate_agreement_grid,
    simulate_ratings,
)
from theodolite_study.planning.plan_description import ExpectedRatings, describe_plan
from theodolite_study.planning.sample_size import (
    PeopleNeeded,
    Raters,
    compute_half_width,
    compute_instances,
    compute_people,
    compute_power,
    compute_votes,
)

SPREAD = {"spread_between": 0.6, "spread_within": 0.9}


def studies(n: int, instances: int, votes: int, raters: Raters | None = None) -> np.ndarray:
    """Studies by instances: mean ratings around 0, people dealt round."""
    random = np.random.default_rng(8)
    own = random.normal(0, 0.6, (n, instances, 1))
    noise = random.normal(0, 0.9, (n, instances, votes))
    habits = 0.0
    if raters is not None:
        who = np.arange(instances * votes).reshape(instances, votes) % raters.number
        habits = random.normal(0, raters.spread, (n, raters.number))[:, who]
    return np.asarray((own + noise + habits).mean(axis=2))


@pytest.mark.parametrize(("instances", "votes"), [(6, 3), (24, 5), (100, 1)])
def test_the_promised_interval_covers_as_often_as_it_says(instances: int, votes: int) -> None:
    found = studies(4000, instances, votes)
    promised = compute_half_width(votes, instances, **SPREAD)
    # what an analysis reports: Student's interval of the study's own means
    reported = promised / math.sqrt(0.36 + 0.81 / votes) * found.std(axis=1, ddof=1)
    mean = found.mean(axis=1)
    assert 0.94 < (np.abs(mean) <= reported).mean() < 0.96
    assert reported.mean() == pytest.approx(promised, rel=0.06)
    own = ttest_1samp(found[0], 0.0).confidence_interval()
    assert (own.high - own.low) / 2 == pytest.approx(reported[0])


def test_people_with_habits_need_more_room() -> None:
    raters = Raters(6, 0.4)
    mean = studies(4000, 24, 5, raters).mean(axis=1)
    without = compute_half_width(5, 24, **SPREAD)
    promised = compute_half_width(5, 24, raters=raters, **SPREAD)
    spread = math.sqrt((0.36 + 0.81 / 5) / 24 + 0.16 / 6)
    assert mean.std() == pytest.approx(spread, rel=0.04)
    assert (np.abs(mean) <= without).mean() < 0.9, "not told, it would be promised too much"
    assert 0.94 < (np.abs(mean) <= promised).mean() < 0.99
    assert compute_half_width(5, 24, raters=Raters(10**9, 0.4), **SPREAD) == pytest.approx(
        without, rel=1e-3
    )
    assert math.isnan(compute_half_width(5, 24, raters=Raters(1, 0.4), **SPREAD))


def test_worked_numbers() -> None:
    assert compute_half_width(5, 24, **SPREAD) == pytest.approx(
        2.068658 * math.sqrt(0.522 / 24), abs=1e-6
    )
    alone = compute_half_width(5, 1, quantity="one explanation", **SPREAD)
    assert alone == pytest.approx(2.776445 * 0.9 / math.sqrt(5), abs=1e-6)
    paired = compute_half_width(5, 24, quantity="difference", **SPREAD)
    assert paired == pytest.approx(2.068658 * math.sqrt((0.36 + 0.324) / 24), abs=1e-6)
    assert compute_half_width(3, 9, spread_between=0, spread_within=0) == 0
    assert math.isnan(compute_half_width(5, 1, **SPREAD))
    assert math.isnan(compute_half_width(1, 1, quantity="one explanation", **SPREAD))


@given(
    st.integers(1, 20), st.integers(2, 500), st.floats(0, 2), st.floats(0.01, 2),
    st.sampled_from(["mean rating", "difference"]),
)  # fmt: skip
def test_more_is_never_worse(n: int, many: int, between: float, within: float, what: str) -> None:
    spread = {"spread_between": between, "spread_within": within, "quantity": what}
    here = compute_half_width(n, many, **spread)  # type: ignore[arg-type]
    assert compute_half_width(n + 1, many, **spread) <= here  # type: ignore[arg-type]
    assert compute_half_width(n, many + 1, **spread) < here  # type: ignore[arg-type]


@given(st.floats(0.1, 1), st.integers(2, 200))
@settings(max_examples=40)
def test_the_fewest_are_the_fewest(wanted: float, number: int) -> None:
    try:
        votes = compute_votes(wanted, number, **SPREAD)
    except EvidenceError as refusal:
        assert compute_half_width(1000, number, **SPREAD) > wanted
        assert "more explanations" in str(refusal)
    else:
        assert compute_half_width(votes, number, **SPREAD) <= wanted
        assert votes == 1 or compute_half_width(votes - 1, number, **SPREAD) > wanted
    many = compute_instances(wanted, number, **SPREAD)
    assert (
        compute_half_width(number, many, **SPREAD)
        <= wanted
        < compute_half_width(number, many - 1, **SPREAD)
        or many == 2
    )


def test_people() -> None:
    assert compute_people(24, 5, 20, 0.1) == PeopleNeeded(120, 6, 7)
    assert compute_people(2200, 5, 147) == PeopleNeeded(11_000, 75, 75)
    assert compute_people(3, 5, 100) == PeopleNeeded(15, 5, 5), "five votes are of five people"
    assert compute_people(90, 1, 10, 0.1).invited == 10
    for wrong in ({"dropout": 1.0}, {"dropout": -0.1}, {"quota": 0}):
        with pytest.raises(EvidenceError):
            compute_people(**({"instances": 2, "votes": 2, "quota": 2} | wrong))  # type: ignore[arg-type]


@pytest.mark.parametrize("difference", [0.0, 0.2, 0.5])
def test_power_against_simulation(difference: float) -> None:
    random = np.random.default_rng(1)
    true = difference + random.normal(0, 0.6, (4000, 20, 1))
    seen = (
        true + random.normal(0, 0.9, (4000, 20, 5)) - random.normal(0, 0.9, (4000, 20, 5))
    ).mean(2)
    found = (ttest_1samp(seen, 0.0, axis=1).pvalue < 0.05).mean()
    assert compute_power(difference, 5, 20, **SPREAD) == pytest.approx(found, abs=0.02)
    assert compute_power(-difference, 5, 20, **SPREAD) == pytest.approx(
        compute_power(difference, 5, 20, **SPREAD)
    )


def test_power_at_its_ends() -> None:
    assert compute_power(0.0, 5, 20, **SPREAD) == pytest.approx(0.05)
    assert compute_power(1e6, 5, 20, **SPREAD) == 1.0
    assert compute_power(0.1, 5, 20, spread_between=0, spread_within=0) == 1.0
    assert math.isnan(compute_power(0.5, 5, 1, **SPREAD))
    grows = [compute_power(0.3, 5, n, **SPREAD) for n in (5, 20, 80, 400, 40_000)]
    assert all(a < b or b == 1 for a, b in pairwise(grows)) and grows[-1] == pytest.approx(1)


def test_said_in_plain_words() -> None:
    told = describe_plan(instances=24, votes=5, quota=20, expected=ExpectedRatings(people=0))
    assert told.startswith(
        "24 explanations × 5 votes = 120 votes; with 20 a person that is 6 people, 7 with 10 % who "
        "leave.\nThe mean rating of the technique will be known to ± 0.31, that of a single "
        "explanation to ± 1.12.\n"
    )
    two = describe_plan(instances=48, votes=5, quota=20, techniques=2, dropout=0)
    assert "that is 12 people.\n" in two
    assert "on the same 24 images will be known to ± 0.32" in two and "probability of 87 %" in two
    assert "cannot be compared" in describe_plan(instances=2, votes=5, quota=20, techniques=2)
    with pytest.raises(EvidenceError, match="techniques"):
        describe_plan(instances=2, votes=5, quota=20, techniques=3)


def rounded_correlation(like: SimulatedRaters) -> float:
    """Of two people's answers, from the bivariate normal distribution of what they feel."""
    cuts = np.array([-9, *like.thresholds(), 9])
    r = like.alike
    joint = multivariate_normal([0, 0], [[1, r], [r, 1]])
    corners = joint.cdf(np.stack(np.meshgrid(cuts, cuts, indexing="ij"), axis=-1).reshape(-1, 2))
    cells = np.diff(np.diff(corners.reshape(6, 6), axis=0), axis=1)
    levels, share = np.arange(1, 6), np.diff(norm.cdf(cuts))
    mean = (share * levels).sum()
    variance = (share * (levels - mean) ** 2).sum()
    return float((cells * np.outer(levels - mean, levels - mean)).sum() / variance)


@pytest.mark.parametrize("like", [
    SimulatedRaters(alike=0.5, habit=0), SimulatedRaters(alike=0.2, habit=0, shares=(0.1, 0.2, 0.2, 0.3, 0.2)),
])  # fmt: skip
def test_agreement_against_its_closed_form(like: SimulatedRaters) -> None:
    """With equal habits the quadratic kappa of two people is the correlation of their answers."""
    ratings = simulate_ratings(StudySize(8000, 2, 2), like, np.random.default_rng(3))
    assert compute_agreement(ratings, "kappa") == pytest.approx(rounded_correlation(like), abs=0.03)
    shares = [(ratings == level).mean() for level in range(1, 6)]
    assert np.allclose(shares, like.shares, atol=0.015)


def test_simulated_studies_are_even_and_repeatable() -> None:
    ratings = simulate_ratings(StudySize(30, 4, 7), SimulatedRaters(), np.random.default_rng(5))
    asked = ~np.isnan(ratings)
    assert (asked.sum(axis=1) == 4).all() and np.ptp(asked.sum(axis=0)) <= 1
    assert len({tuple(row) for row in asked}) > 15, "not always the same people together"
    again = simulate_ratings(StudySize(30, 4, 7), SimulatedRaters(), np.random.default_rng(5))
    assert np.array_equal(ratings, again, equal_nan=True)


@pytest.mark.parametrize("what", ["alpha", "kappa"])
def test_the_range_of_agreement_covers_other_studies(what: str) -> None:
    like, size = SimulatedRaters(), StudySize(40, 5, 10)
    told = simulate_agreement(size, like=like, seed=1, what=what, repeats=120)  # type: ignore[arg-type]
    random = np.random.default_rng(99)
    others = np.array(
        [compute_agreement(simulate_ratings(size, like, random), what) for _ in range(200)]
    )  # type: ignore[arg-type]
    covered = (np.abs(others - told.value) <= told.half_width).mean()
    assert 0.89 < covered <= 0.99
    assert told == simulate_agreement(size, like=like, seed=1, what=what, repeats=120)  # type: ignore[arg-type]


def test_agreement_is_known_better_in_larger_studies() -> None:
    grid = simulate_agreement_grid(
        [20, 80], [3, 6], quota=20, like=SimulatedRaters(habit=0), seed=0
    )
    assert [(g.size.instances, g.size.votes, g.size.people) for g in grid] == [
        (20, 3, 3), (20, 6, 6), (80, 3, 12), (80, 6, 24),
    ]  # fmt: skip
    width = {(g.size.instances, g.size.votes): g.half_width for g in grid}
    assert width[20, 3] > width[80, 3] and width[20, 3] > width[20, 6]
    assert width[80, 6] == min(width.values())
    # four times the explanations: half the range
    assert width[80, 3] == pytest.approx(width[20, 3] / 2, rel=0.25)


def test_what_people_agree_on_and_what_not() -> None:
    size = StudySize(60, 4, 8)
    none = simulate_agreement(size, like=SimulatedRaters(alike=0, habit=0), seed=0, repeats=60)
    full = simulate_agreement(size, like=SimulatedRaters(alike=1, habit=0), seed=0, repeats=60)
    assert abs(none.value) < 0.03 and full.value == 1 and full.half_width == 0
    habits = simulate_agreement(
        size, like=SimulatedRaters(alike=0.4, habit=0.5), seed=0, repeats=60
    )
    plain = simulate_agreement(size, like=SimulatedRaters(alike=0.4, habit=0), seed=0, repeats=60)
    assert habits.value < plain.value + 0.05
    one = simulate_agreement(StudySize(60, 1, 3), like=SimulatedRaters(), seed=0, repeats=40)
    assert math.isnan(one.value) and math.isnan(one.half_width)


def test_refusals() -> None:
    with pytest.raises(EvidenceError, match="40 or more"):
        simulate_agreement(StudySize(9, 2, 3), like=SimulatedRaters(), seed=0, repeats=5)
    with pytest.raises(EvidenceError, match="1 at most together"):
        SimulatedRaters(alike=0.7, habit=0.6)
    with pytest.raises(EvidenceError, match="5 numbers"):
        SimulatedRaters(shares=(1, 2))
    with pytest.raises(EvidenceError, match="annotators"):
        StudySize(9, 4, 3)
    for wrong in (
        {"votes": 0},
        {"instances": 0},
        {"spread_within": -1.0},
        {"spread_between": math.nan},
    ):
        with pytest.raises(EvidenceError):
            compute_half_width(**({"votes": 1, "instances": 1} | SPREAD | wrong))  # type: ignore[arg-type]
    with pytest.raises(EvidenceError, match="above 0"):
        compute_votes(0.0, 5, **SPREAD)
    with pytest.raises(EvidenceError):
        Raters(0, 1.0)
