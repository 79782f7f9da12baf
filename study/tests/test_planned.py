"""Plans for a known panel: every limit is kept, or it is said why not."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, permutations, product
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theodolite.errors import EvidenceError
from theodolite_study.planning.assignment_search import PlanLimits, search_assignment
from theodolite_study.planning.item_order import can_keep_gap, compute_largest_gap, order_with_gap
from theodolite_study.planning.rating_plan import PlannedExplanation, RatingPlan, plan_ratings

LIMITS = ("votes", "panel", "quota", "gap", "most")


def seats(images: Sequence[int], techniques: Sequence[int]) -> list[PlannedExplanation]:
    return [
        PlannedExplanation(f"e{i}", f"image {p}", f"technique {t}")
        for i, (p, t) in enumerate(zip(images, techniques, strict=True))
    ]


def keeps(row: Sequence[str], gap: int, most: int | None) -> bool:
    """The limits on one row of images, naively."""
    near = any(row[i] == row[j] for i in range(len(row)) for j in range(i) if i - j <= gap)
    return not near and (most is None or max(Counter(row).values(), default=0) <= most)


def spread(numbers: Sequence[int]) -> int:
    return max(numbers) - min(numbers)


def check(
    plan: RatingPlan,
    given: Sequence[PlannedExplanation],
    votes: int,
    panel: int,
    quota: int,
    gap: int,
    most: int | None,
) -> None:
    about = {seat.key: seat for seat in given}
    assert len(plan.rows) == panel
    assert Counter(key for row in plan.rows for key in row) == dict.fromkeys(about, votes)
    for row in plan.rows:
        assert len(set(row)) == len(row) <= quota
        assert keeps([about[key].image_key for key in row], gap, most)
    if plan.even:
        assert spread([len(row) for row in plan.rows]) <= 1
        for trait in ("technique", "image_key"):
            counts = [Counter(getattr(about[key], trait) for key in row) for row in plan.rows]
            for name in {getattr(seat, trait) for seat in given}:
                assert spread([count[name] for count in counts]) <= 1


def exists(
    given: Sequence[PlannedExplanation],
    votes: int,
    panel: int,
    quota: int,
    gap: int,
    most: int | None,
) -> bool:
    """All ways to give each explanation to so many people, and all orders of each row."""
    ways = list(combinations(range(panel), votes))
    known: dict[tuple[str, ...], bool] = {}

    def orderable(row: tuple[str, ...]) -> bool:
        if row not in known:
            known[row] = any(keeps(order, gap, most) for order in permutations(row))
        return known[row]

    for choice in product(ways, repeat=len(given)):
        rows = [
            tuple(sorted(s.image_key for s, who in zip(given, choice, strict=True) if r in who))
            for r in range(panel)
        ]
        if all(len(row) <= quota for row in rows) and all(orderable(row) for row in rows):
            return True
    return False


@st.composite
def studies(
    draw: st.DrawFn, largest: int, people: int
) -> tuple[list[PlannedExplanation], dict[str, int | None]]:
    n = draw(st.integers(1, largest))
    numbers = st.lists(st.integers(0, 2), min_size=n, max_size=n)
    panel = draw(st.integers(1, people))
    limits = {
        "votes": draw(st.integers(1, panel)),
        "panel": panel,
        "quota": draw(st.integers(1, n)),
        "gap": draw(st.integers(0, 3)),
        "most": draw(st.one_of(st.none(), st.integers(1, 3))),
    }
    return seats(draw(numbers), draw(numbers)), limits


@settings(max_examples=250)
@given(studies(5, 3), st.integers(0, 5))
def test_a_plan_is_found_exactly_where_one_exists(
    study: tuple[list[PlannedExplanation], dict[str, int | None]], seed: int
) -> None:
    given, limits = study
    try:
        plan = plan_ratings(given, seed=seed, **limits)  # type: ignore[arg-type]
    except EvidenceError as refusal:
        assert not exists(given, **limits), refusal  # type: ignore[arg-type]
        assert "was found" not in str(refusal)
        return
    check(plan, given, **limits)  # type: ignore[arg-type]


@settings(max_examples=60)
@given(studies(40, 9), st.integers(0, 5))
def test_larger_plans_keep_all_limits(
    study: tuple[list[PlannedExplanation], dict[str, int | None]], seed: int
) -> None:
    given, limits = study
    limits |= {"quota": len(given), "gap": limits["gap"] and 1}
    try:
        plan = plan_ratings(given, seed=seed, **limits)  # type: ignore[arg-type]
    except EvidenceError as refusal:
        assert refusal.what in {"same_image_most", "same_image_gap"}
        return
    check(plan, given, **limits)  # type: ignore[arg-type]
    assert plan.rows == plan_ratings(given, seed=seed, **limits).rows  # type: ignore[arg-type]


@settings(max_examples=120)
@given(studies(4, 3))
def test_the_search_finds_shares_exactly_where_they_exist(
    study: tuple[list[PlannedExplanation], dict[str, int | None]],
) -> None:
    """Asked for everything, also what even shares would do."""
    given, limits = study
    images, techniques = ([getattr(s, n) for s in given] for n in ("image_key", "technique"))
    random = np.random.default_rng(0)
    shares, proven = search_assignment(images, techniques, PlanLimits(**limits), random)  # type: ignore[arg-type]
    assert (shares is not None) == exists(given, **limits)  # type: ignore[arg-type]
    assert proven
    if shares is not None:
        gap, most = limits["gap"], limits["most"]
        assert isinstance(gap, int)
        rows = [order_with_gap([images[i] for i in row], gap, random) for row in shares]
        assert all(
            keeps([images[row[i]] for i in order], gap, most)
            for row, order in zip(shares, rows, strict=True)
        )
        assert all(len(set(row)) == len(row) <= limits["quota"] for row in shares)  # type: ignore[operator]
        votes = Counter(i for row in shares for i in row)
        assert votes == dict.fromkeys(range(len(given)), limits["votes"])


def test_the_search_gives_nobody_the_same_explanation_twice() -> None:
    """Two votes of two people: both get all, though two of one image would be as even."""
    images = ["a", "b", "c", "c", "c"]
    limits = PlanLimits(votes=2, panel=2, quota=5, gap=0, most=None)
    shares, _ = search_assignment(images, ["t"] * 5, limits, np.random.default_rng(0))
    assert shares is not None and [sorted(row) for row in shares] == [[0, 1, 2, 3, 4]] * 2


@pytest.mark.parametrize("seed", range(5))
def test_nobody_gets_all_the_images_that_come_once_more(seed: int) -> None:
    """Ten images that come one and a half times, ten that come half a time."""
    given = seats([*np.repeat(np.arange(10), 3), *range(10, 20)], [0] * 40)
    plan = plan_ratings(given, votes=1, panel=2, quota=20, gap=14, seed=seed)
    assert plan.even
    check(plan, given, 1, 2, 20, 14, None)


def test_uneven_shares_where_only_they_keep_the_gap() -> None:
    given = seats([0, 0, 0, 1], [0, 1, 2, 0])
    plan = plan_ratings(given, votes=1, panel=2, quota=3, gap=1, seed=0)
    assert not plan.even and sorted(map(len, plan.rows)) == [1, 3]
    check(plan, given, 1, 2, 3, 1, None)


def test_techniques_are_exchanged_where_shares_are_uneven() -> None:
    images, techniques = [0] * 6 + [1, 2], [0, 1, 2, 0, 1, 2, 0, 1]
    given = seats(images, techniques)
    plan = plan_ratings(given, votes=1, panel=4, quota=5, gap=1, seed=3)
    assert not plan.even
    check(plan, given, 1, 4, 5, 1, None)
    of = {seat.key: seat.technique for seat in given}
    counts = [Counter(of[key] for key in row) for row in plan.rows]
    assert all(spread([count[name] for count in counts]) <= 1 for name in set(of.values()))


def test_the_published_study_in_seconds() -> None:
    given = seats([i // 22 for i in range(2200)], [i % 22 for i in range(2200)])
    before = perf_counter()
    plan = plan_ratings(given, votes=5, panel=15, quota=734, gap=90, most=8, seed=4)
    assert perf_counter() - before < 10
    check(plan, given, 5, 15, 734, 90, 8)
    assert plan.even and plan.needed.surplus == 10
    assert str(plan) == "11,000 votes, 733.3 of each of 15 raters; 10 more could be given"
    table = plan.table()
    assert list(table) == ["row", "position", "instance"] and len(table["row"]) == 11_000
    assert table["row"][:2] == [1, 1] and table["position"][732:735] in ([733, 1, 2], [733, 734, 1])
    assert table["instance"][0] == plan.rows[0][0]
    other = plan_ratings(given, votes=5, panel=15, quota=734, gap=90, most=8, seed=5)
    assert other.rows != plan.rows


@pytest.mark.parametrize(
    ("changes", "what", "said"),
    [
        ({"quota": 733}, "votes", "Ask each for 734"),
        ({"panel": 4}, "annotators", "5 or more"),
        ({"most": 7}, "same_image_most", "8 or more"),
        ({"gap": 200}, "same_image_gap", "no plan keeps it. 99 can be kept"),
        ({"gap": -1}, "same_image_gap", "0 or more"),
        ({"most": 0}, "same_image_most", "1 or more"),
    ],
)
def test_what_is_impossible_is_refused_by_name(
    changes: dict[str, int], what: str, said: str
) -> None:
    given = seats([i // 22 for i in range(2200)], [i % 22 for i in range(2200)])
    limits = {"votes": 5, "panel": 15, "quota": 734, "gap": 0, "most": 8, "seed": 0} | changes
    with pytest.raises(EvidenceError) as refusal:
        plan_ratings(given, **limits)
    assert refusal.value.what == what and said in str(refusal.value)


def test_the_gap_that_is_offered_can_be_kept() -> None:
    given = seats([i // 22 for i in range(2200)], [i % 22 for i in range(2200)])
    plan = plan_ratings(given, votes=5, panel=15, quota=734, gap=99, seed=0)
    check(plan, given, 5, 15, 734, 99, None)
    with pytest.raises(EvidenceError, match="no plan that keeps it was found"):
        plan_ratings(given, votes=5, panel=15, quota=734, gap=102, seed=0)


def test_keys_are_distinct() -> None:
    with pytest.raises(EvidenceError, match="a key twice"):
        plan_ratings([PlannedExplanation("a", "p", "t")] * 2, votes=1, panel=1, quota=9, seed=0)


@settings(max_examples=200)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(0, 3), st.integers(0, 9))
def test_orders_against_all_orders(counts: list[int], gap: int, seed: int) -> None:
    row = [name for name, count in zip("abcd", counts, strict=False) for _ in range(count)][:7]
    found = Counter(row)
    possible = any(keeps(order, gap, None) for order in set(permutations(row)))
    assert can_keep_gap(found, gap) == possible
    assert can_keep_gap(found, compute_largest_gap(found)) and (
        max(found.values()) == 1 or not can_keep_gap(found, compute_largest_gap(found) + 1)
    )
    if possible:
        order = order_with_gap(row, gap, np.random.default_rng(seed))
        assert sorted(order) == list(range(len(row)))
        assert keeps([row[i] for i in order], gap, None)


def test_most_first_finds_every_order_that_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("theodolite_study.planning.item_order.MAX_ATTEMPTS", 0)
    for counts in product(range(1, 4), repeat=3):
        row = [name for name, count in zip("abc", counts, strict=True) for _ in range(count)]
        for gap in range(3):
            if can_keep_gap(Counter(row), gap):
                order = order_with_gap(row, gap, np.random.default_rng(0))
                assert keeps([row[i] for i in order], gap, None)


def test_a_person_is_no_more_likely_to_begin_with_any_image() -> None:
    """Orders are random: each image comes first in about its share of plans."""
    row = ["a"] * 2 + ["b"] * 2 + ["c"] * 2 + ["d"] * 2
    random = np.random.default_rng(0)
    first = Counter(row[order_with_gap(row, 1, random)[0]] for _ in range(800))
    assert all(140 < first[name] < 260 for name in "abcd")
