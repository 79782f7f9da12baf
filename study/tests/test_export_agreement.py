"""Agreement in an export: the house's numbers, an independent script's, and the traps."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.vote_columns import QUESTIONS
from theodolite.metrics.catalogue import find_metric
from theodolite.scoring.evaluate import MetricRequest, Resampling, evaluate
from theodolite_study import export_agreement
from theodolite_study.export_aggregates import _summed
from theodolite_study.export_agreement import HEADLINE, SCORES, agreement, scored
from theodolite_study.export_people import banded
from theodolite_study.vote_tables import rating_evidence

SCALE = [1, 2, 3, 4, 5]
NOBODY = banded({}, [])


def table(ratings: np.ndarray, *, pictures: int = 10**6) -> dict[str, list[Any]]:
    """Ratings of q1 as a table of votes; NaN is no vote."""
    found = [
        (f"i{i}", f"p{r}", int(ratings[i, r]), f"picture{i % pictures}")
        for i, r in zip(*np.nonzero(~np.isnan(ratings)), strict=True)
    ]
    n = len(found)
    return {
        "instance": [row[0] for row in found], "technique": ["t"] * n,
        "picture_key": [row[3] for row in found], "participant": [row[1] for row in found],
        "q1": [row[2] for row in found], **{name: [None] * n for name in QUESTIONS[1:]},
        "counted": [True] * n, "position": [1] * n, "image_exposure_index": [1] * n,
        "seconds_before": [1.0] * n, "seconds_after": [1.0] * n, "at_order": list(range(1, n + 1)),
    }  # fmt: skip


def some(items: int, raters: int, votes: int, *, seed: int = 0, noise: float = 1.0) -> np.ndarray:
    random = np.random.default_rng(seed)
    ratings = np.full((items, raters), np.nan)
    for row in ratings:
        good = random.normal()
        who = random.choice(raters, votes, replace=False)
        row[who] = np.clip(np.round(3 + good + noise * random.normal(size=votes)), 1, 5)
    return ratings


def mode(votes: Sequence[float]) -> float:
    most = max(list(votes).count(v) for v in votes)
    return min(v for v in votes if list(votes).count(v) == most)


def qwk(pairs: Sequence[tuple[float, float]]) -> float:
    first, second = ([int(x) for x in side] for side in zip(*pairs, strict=True))
    return float(cohen_kappa_score(first, second, labels=SCALE, weights="quadratic"))


def by_hand(ratings: np.ndarray) -> dict[str, float]:
    """An independent script: loops, scikit-learn, the textbook's alpha."""
    votes = [row[~np.isnan(row)].tolist() for row in ratings]
    left_out = [
        (v, mode(row[:i] + row[i + 1 :]))
        for row in votes
        for i, v in enumerate(row)
        if len(row) > 1
    ]
    included = [(v, mode(row)) for row in votes for v in row]
    pairs = []
    for a, b in itertools.combinations(range(ratings.shape[1]), 2):
        both = ~np.isnan(ratings[:, a]) & ~np.isnan(ratings[:, b])
        if both.any():
            pairs.append(qwk(list(zip(ratings[both, a], ratings[both, b], strict=True))))
    return {
        "qwk_vs_mode_loo": qwk(left_out),
        "qwk_vs_mode_incl": qwk(included),
        "qwk_pairwise": float(np.mean([k for k in pairs if not np.isnan(k)])),
        "krippendorff_alpha": alpha([row for row in votes if len(row) > 1]),
    }


def alpha(votes: Sequence[Sequence[float]]) -> float:
    together = np.zeros((5, 5))
    for row in votes:
        for a, b in itertools.permutations(range(len(row)), 2):
            together[int(row[a]) - 1, int(row[b]) - 1] += 1 / (len(row) - 1)
    n = together.sum(axis=1)
    far = np.zeros((5, 5))
    for a, b in itertools.product(range(5), repeat=2):
        low, high = min(a, b), max(a, b)
        far[a, b] = (n[low : high + 1].sum() - (n[a] + n[b]) / 2) ** 2
    expected = sum(n[a] * n[b] * far[a, b] for a, b in itertools.product(range(5), repeat=2))
    return float(1 - (n.sum() - 1) * (together * far).sum() / expected)


@pytest.mark.parametrize("seed", [0, 1])
def test_agreement_equals_an_independent_script(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_agreement, "RESAMPLES", 20)
    monkeypatch.setattr(export_agreement, "MOST_DRAWS", 1)
    ratings = some(40, 7, 4, seed=seed)
    found = agreement(table(ratings), {"q1": 0}, NOBODY)["questions"]["q1"]
    for name, expected in by_hand(ratings).items():
        assert found["scores"][name]["value"] == pytest.approx(expected, abs=1e-9), name
    assert found["votes"] == 160 and found["raters"] == 7 and found["instances"] == 40


def test_intervals_and_nulls_are_those_of_every_other_score() -> None:
    evidence = rating_evidence(table(some(30, 6, 4), pictures=10), "q1")
    for name in (HEADLINE, "icc1"):
        metric, options = SCORES[name]
        expected = evaluate(MetricRequest(find_metric(metric), options), [evidence], Resampling())[
            0
        ]
        found = scored(evidence, name)
        assert found["value"] == pytest.approx(expected.value, abs=1e-9)
        assert expected.interval is not None and expected.null is not None
        assert found["interval"]["over"] == expected.interval.over == "clusters"
        for end in ("low", "high"):
            assert found["interval"][end] == pytest.approx(
                getattr(expected.interval, end), abs=1e-9
            )
            far = getattr(expected.null.difference, end)
            assert found["null"]["difference"][end] == pytest.approx(far, abs=1e-9)
        assert found["null"]["value"] == pytest.approx(expected.null.value, abs=1e-9)
        assert (found["n"], found["n_undefined"]) == (expected.n, expected.n_undefined)


def test_a_third_of_all_patterns_tie_and_the_table_says_so() -> None:
    """Trap T2."""
    patterns = np.array(list(itertools.combinations_with_replacement(SCALE, 5)), float)
    found = _summed(table(patterns), "q1")
    tied = 0
    for i, votes in enumerate(patterns.tolist()):
        n, most, tie, middle, mean, *often = found[f"i{i}"]
        assert (n, most, middle, mean) == (5, mode(votes), np.median(votes), np.mean(votes))
        assert tie == (often.count(max(often)) > 1) and often == [votes.count(s) for s in SCALE]
        orders = math.factorial(5) // math.prod(math.factorial(one) for one in often)
        tied += tie * orders
    assert tied == 1020, "of 3125"


def test_ones_own_vote_in_the_mode_is_agreement_of_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trap T3: votes at random."""
    monkeypatch.setattr(export_agreement, "RESAMPLES", 20)
    random = np.random.default_rng(0).integers(1, 6, (4000, 5)).astype(float)
    evidence = RatingEvidence(ratings=random, scale=np.arange(1.0, 6))
    included = scored(evidence, "qwk_vs_mode_incl")
    assert included["value"] == pytest.approx(0.31, abs=0.015)
    assert included["null"]["value"] == pytest.approx(included["value"], abs=0.03)
    assert abs(scored(evidence, HEADLINE)["value"]) < 0.02
    assert abs(scored(evidence, "qwk_pairwise", null=False)["value"]) < 0.02
    assert abs(scored(evidence, "krippendorff_alpha", null=False)["value"]) < 0.02


def test_distances_are_those_of_the_whole_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trap T4: answers that nobody gave keep their place."""
    monkeypatch.setattr(export_agreement, "RESAMPLES", 20)
    ratings = np.array([[1, 2], [2, 1], [2, 2], [5, 5], [5, 5], [1, 1.0]])
    found = scored(rating_evidence(table(ratings), "q1"), "qwk_pairwise", null=False)["value"]
    first, second = ratings.astype(int).T
    assert found == pytest.approx(qwk(ratings.tolist()), abs=1e-9)
    renumbered = cohen_kappa_score(first, second, weights="quadratic")
    assert abs(found - renumbered) > 0.05, "the example tells the two apart"


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        (np.full((4, 3), 3.0), "the answer 3 throughout"),
        (np.array([[1.0, np.nan], [np.nan, 2.0]]), "No explanation has two votes"),
    ],
)
def test_undefined_is_nothing_with_a_reason(ratings: np.ndarray, reason: str) -> None:
    found = agreement(table(ratings), {"q1": 0, "q2": 0}, NOBODY)["questions"]
    for score in found["q1"]["scores"].values():
        assert score["value"] is None and reason in score["reason"]
    assert found["q2"] == {"instances": 0, "votes": 0, "raters": 0, "reason": "Nobody voted."}


def test_icc2_needs_people_who_rated_everything() -> None:
    ratings = some(12, 4, 4)
    full = scored(rating_evidence(table(ratings), "q1"), "icc2", null=False)
    assert full["value"] is not None
    ratings[1:, 0] = np.nan
    one = scored(rating_evidence(table(ratings), "q1"), "icc2", null=False)
    assert one == {
        "value": None, "reason": "1 explanations were rated by everybody; two or more are needed.",
    }  # fmt: skip


def test_groups_only_where_enough_people_share_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_agreement, "RESAMPLES", 20)
    monkeypatch.setattr(export_agreement, "MOST_DRAWS", 1)
    ratings = some(30, 8, 8, noise=0.6)
    old, young = ("55–64", "man", None), ("18–24", "woman", None)
    about = {f"p{i}": young if i < 6 else old for i in range(8)}
    bands = banded(about, about)
    found = agreement(table(ratings), {"q1": 0}, bands)["questions"]["q1"]["by_group"]
    assert list(found["age_band"]) == ["18–24"] and list(found["gender"]) == ["woman"]
    of_young = found["age_band"]["18–24"]
    assert of_young["raters"] == 6
    value = of_young["scores"][HEADLINE]["value"]
    assert value == pytest.approx(by_hand(ratings[:, :6])["qwk_vs_mode_loo"], abs=1e-9)
