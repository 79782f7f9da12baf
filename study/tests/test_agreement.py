"""Agreement in an export: an independent script's numbers, counts alone, and the traps."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import cohen_kappa_score

from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite_study.export import agreement as module
from theodolite_study.export.agreement import (
    HEADLINE,
    SCORES,
    compute_agreement,
    compute_score,
    select_votes,
    tabulate_by_pattern,
)
from theodolite_study.export.vote_counts import VoteCounts, iterate_summaries

SCALE = [1, 2, 3, 4, 5]
EXACT = 1e-9


def some(items: int, raters: int, votes: int, *, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    ratings = np.full((items, raters), np.nan)
    for row in ratings:
        good = random.normal()
        who = random.choice(raters, votes, replace=False)
        row[who] = np.clip(np.round(3 + good + random.normal(size=votes)), 1, 5)
    return ratings


def counted(ratings: np.ndarray) -> VoteCounts:
    """The same as a table of votes gives them."""
    counts = VoteCounts({"q1": 5}, *ratings.shape)
    item, person = np.nonzero(~np.isnan(ratings))
    for part in np.array_split(np.arange(len(item)), 3):
        counts.add(pa.RecordBatch.from_pydict({
            "_instance": item[part], "_person": person[part],
            "q1": ratings[item[part], person[part]].astype(int),
            "counted": np.ones(len(part), bool), "image_exposure_index": np.ones(len(part), int),
        }))  # fmt: skip
    return counts


def mode(votes: Sequence[float]) -> float:
    most = max(list(votes).count(v) for v in votes)
    return min(v for v in votes if list(votes).count(v) == most)


def qwk(pairs: Sequence[tuple[float, float]]) -> float:
    first, second = ([int(x) for x in side] for side in zip(*pairs, strict=True))
    return float(cohen_kappa_score(first, second, labels=SCALE, weights="quadratic"))


def by_hand(ratings: np.ndarray) -> dict[str, float]:
    """An independent script: loops and scikit-learn."""
    votes = [row[~np.isnan(row)].tolist() for row in ratings]
    left_out = [
        (v, mode(row[:i] + row[i + 1 :]))
        for row in votes
        for i, v in enumerate(row)
        if len(row) > 1
    ]
    pairs = []
    for a, b in itertools.combinations(range(ratings.shape[1]), 2):
        both = ~np.isnan(ratings[:, a]) & ~np.isnan(ratings[:, b])
        if both.any():
            pairs.append(qwk(list(zip(ratings[both, a], ratings[both, b], strict=True))))
    return {
        "qwk_vs_mode_loo": qwk(left_out),
        "qwk_vs_mode_incl": qwk([(v, mode(row)) for row in votes for v in row if len(row) > 1]),
        "qwk_pairwise": float(np.mean([k for k in pairs if not math.isnan(k)])),
    }


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RESAMPLES", 60)
    monkeypatch.setattr(module, "MAX_DRAWS", 2)


def test_scores_are_those_of_an_independent_script() -> None:
    ratings = some(40, 9, 5)
    rated = select_votes(counted(ratings), "q1", np.arange(40) // 2, None)
    for name, value in by_hand(ratings).items():
        assert compute_score(rated, name, null=False)["value"] == pytest.approx(value, abs=EXACT)


def test_counts_alone_give_the_same_numbers() -> None:
    ratings, images = some(60, 12, 5), np.arange(60) // 3
    counts = counted(ratings)
    people = select_votes(counts, "q1", images, None)
    alone = tabulate_by_pattern(counts.histogram("q1"), images)
    assert len(alone.evidence) < len(people.evidence)
    for name in SCORES:
        one, other = (compute_score(rated, name, null=False) for rated in (people, alone))
        if name in module.TABLE_SCORES:
            assert other["value"] is None
            assert "one by one" in other["reason"]
            continue
        assert one["value"] == pytest.approx(other["value"], abs=EXACT)
        assert (one["n"], one["n_undefined"]) == (other["n"], other["n_undefined"])
        for end in ("low", "high"):
            assert one["interval"][end] == pytest.approx(other["interval"][end], abs=EXACT)
    chance = compute_score(alone, HEADLINE)["null"]["value"]
    assert abs(chance) < 0.2 < compute_score(alone, HEADLINE)["value"]


def test_many_people_are_not_put_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_TABLE_RATERS", 8)
    told = compute_agreement(counted(some(20, 9, 4)), np.arange(20), {})["questions"]["q1"]
    assert told["scores"]["qwk_pairwise"]["value"] is None
    assert told["raters"] == 9 and told["votes"] == 80


def test_groups_of_enough_people_are_told_apart() -> None:
    ratings = some(30, 9, 6)
    bands: list[Any] = ["a"] * 4 + ["b"] * 3 + ["c"] * 2
    told = compute_agreement(counted(ratings), np.arange(30), {"age_band": bands})
    groups = told["questions"]["q1"]["by_group"]["age_band"]
    assert list(groups) == ["a", "b"] and groups["a"]["raters"] == 4
    own = by_hand(ratings[:, :4])["qwk_vs_mode_loo"]
    assert groups["a"]["scores"][HEADLINE]["value"] == pytest.approx(own, abs=EXACT)


def test_nothing_to_agree_on_is_said() -> None:
    same = np.full((4, 3), 2.0)
    assert "nothing to agree on" in _headline(same)["reason"]
    single = np.where(np.eye(4, 3) > 0, 3.0, np.nan)
    assert _headline(single)["reason"] == "No explanation has two votes."
    empty = compute_agreement(VoteCounts({"q1": 5}, 3, 2), np.arange(3), {})
    assert empty["questions"]["q1"]["reason"] == "Nobody voted."


def _headline(ratings: np.ndarray) -> dict[str, Any]:
    images = np.arange(len(ratings))
    return compute_score(select_votes(counted(ratings), "q1", images, None), HEADLINE)


def test_summaries_are_those_of_the_votes() -> None:
    ratings = some(50, 8, 5)
    ratings[0] = np.nan
    found = list(iterate_summaries(counted(ratings).histogram("q1")))
    assert found[0] == (0, None, None, None, None)
    for row, (n, most, tie, median, mean) in zip(ratings[1:], found[1:], strict=True):
        votes = row[~np.isnan(row)]
        often = [int((votes == level).sum()) for level in SCALE]
        assert (n, most, tie) == (5, mode(votes.tolist()), often.count(max(often)) > 1)
        assert median == np.median(votes) and mean == pytest.approx(votes.mean())


def test_a_pattern_is_no_rating_evidence_of_people() -> None:
    alone = tabulate_by_pattern(counted(some(20, 6, 3)).histogram("q1"), np.arange(20))
    assert isinstance(alone.evidence, RatingEvidence)
    assert alone.weights[0].sum() == 20
