"""Methods are compared by ratings with intervals over raters and images."""

import numpy as np
import pytest

from theodolite import compare_ratings
from theodolite.datasets.votes.method_comparison import ComparisonPlan, _estimate, _Ratings
from theodolite.errors import EvidenceError

WORKED = "0a2 1b4 2a3 3b5 0b3 1a2 2b4 3a2 0a1 1b3 2b4 3a3 0b5 1a4 2a3 3b4 0a2 1a3 2b3 3b4 0b4 1b5 2a4 3a3"


def worked_example() -> dict[str, list[object]]:
    rows = WORKED.split()
    return {
        "participant": [f"r{i // 4}" for i in range(24)], "image_key": [row[0] for row in rows],
        "technique": [row[1] for row in rows], "q1": [int(row[2]) for row in rows],
    }  # fmt: skip


def simulate(
    seed: int, images: int, raters: int, effect: float, votes: int = 5
) -> dict[str, list[object]]:
    """Ratings of two methods on the same images, with habits of raters and tastes."""
    rng = np.random.default_rng(seed)
    habit, taste = rng.normal(0, 0.6, raters), rng.normal(0, 0.2, (raters, 2))
    quality, fit = rng.normal(0, 0.6, images), rng.normal(0, 0.35, (images, 2))
    columns: dict[str, list[object]] = {
        k: [] for k in ("participant", "image_key", "technique", "q1")
    }
    for image in range(images):
        for method in range(2):
            for rater in rng.permutation(raters)[:votes]:
                value = 3 + habit[rater] + taste[rater, method] + quality[image]
                value += fit[image, method] + effect * method + rng.normal(0, 0.9)
                row = (f"r{rater}", f"i{image}", "ab"[method], int(np.clip(round(value), 1, 5)))
                for column, cell in zip(columns.values(), row, strict=True):
                    column.append(cell)
    return columns


def test_compare_ratings_worked_example() -> None:
    columns = {name: np.asarray(cells, object) for name, cells in worked_example().items()}
    table = _Ratings.of(columns, "q1")
    short = table.difference(1, 0)
    assert short is not None and short.value == pytest.approx(4 / 3)
    assert short.low is None, "four images are too few for an interval"
    n = np.bincount(table.raters)[table.raters]
    design = (table.methods == 1) - np.bincount(table.raters, table.methods)[table.raters] / n
    rating = table.ratings - np.bincount(table.raters, table.ratings)[table.raters] / n
    slope = design @ rating / (design @ design)
    influence = design / (design @ design) * (rating - design * slope)
    result = _estimate(slope, influence, table.raters, table.images, enough=2)
    assert result.variance == pytest.approx(0.041667, abs=1e-6)
    assert result.df == pytest.approx(1.831670, abs=1e-6)
    assert (result.low, result.high) == pytest.approx((0.372991, 2.293676), abs=1e-6)
    assert result.p == pytest.approx(0.028120, abs=1e-6)


def test_compare_ratings_finds_planted_difference() -> None:
    result = compare_ratings(simulate(1, 24, 12, 1.5), ["q1"])
    (one,) = result.differences
    assert (one.first, one.second, one.answer) == ("a", "b", "lower")
    assert one.adjusted_p is not None and one.adjusted_p < 0.001
    assert "b higher" in "\n".join(result.to_lines())


def test_compare_ratings_no_difference_not_called() -> None:
    called = [compare_ratings(simulate(s, 24, 12, 0.0), ["q1"]).differences[0] for s in range(40)]
    assert sum(one.answer in ("higher", "lower") for one in called) <= 5
    covered = sum(
        one.difference.low <= 0 <= one.difference.high  # type: ignore[operator]
        for one in called
    )
    assert covered >= 35
    assert any(one.answer == "inconclusive" and (one.factor or 0) > 1 for one in called)


def test_compare_ratings_each_rater_one_method() -> None:
    votes = simulate(3, 30, 40, 1.5, votes=10)
    keep = [int(str(r)[1:]) % 2 == "ab".index(str(m))
            for r, m in zip(votes["participant"], votes["technique"], strict=True)]  # fmt: skip
    votes = {
        name: [c for c, k in zip(cells, keep, strict=True) if k] for name, cells in votes.items()
    }
    (one,) = compare_ratings(votes, ["q1"]).differences
    means = {
        method: np.mean(
            [v for v, m in zip(votes["q1"], votes["technique"], strict=True) if m == method]
        )
        for method in "ab"
    }
    assert one.difference.value == pytest.approx(means["a"] - means["b"])
    assert one.answer == "lower"


def test_compare_ratings_family_is_the_plan() -> None:
    votes = simulate(4, 24, 12, 0.0)
    votes["q2"] = list(reversed(votes["q1"]))
    plan = ComparisonPlan(primary=("q2",), smallest=2.0)
    result = compare_ratings(votes, ["q1", "q2"], plan)
    assert [(one.question, one.planned, one.answer) for one in result.differences] == [
        ("q1", False, None), ("q2", True, "same"),
    ]  # fmt: skip
    assert "Exploratory" in "\n".join(result.to_lines())


def test_compare_ratings_counts_counted_votes_only() -> None:
    votes = simulate(5, 12, 8, 0.5)
    n = len(votes["q1"])
    doubled = {name: cells * 2 for name, cells in votes.items()}
    doubled["counted"] = [True] * n + [False] * n
    assert compare_ratings(doubled, ["q1"]) == compare_ratings(votes, ["q1"])
    with pytest.raises(EvidenceError, match="technique"):
        compare_ratings({"participant": []}, ["q1"])


def test_compare_ratings_all_pairs_whatever_the_assignment() -> None:
    """Rounding must not make an estimable difference look as if it were not."""
    for seed in range(60):
        random = np.random.default_rng(seed)
        rows = [
            (f"p{rater}", f"i{item // 4}", "abcd"[item % 4], int(random.integers(1, 6)))
            for rater in range(7) for item in random.permutation(48)[: 40 if rater < 6 else 5]
        ]  # fmt: skip
        names = ("participant", "image_key", "technique", "q1")
        table = {name: [row[at] for row in rows] for at, name in enumerate(names)}
        assert len(compare_ratings(table, ["q1"]).differences) == 6, seed
