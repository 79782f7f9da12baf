"""Lists, rankings, agreement and word overlap by hand."""

import numpy as np
import pytest

from theodolite.metrics import rater_agreement
from theodolite_reproductions.datasets.votes.word_overlap import overlaps
from theodolite_reproductions.findings.techniques.people import (
    kappa_of,
    pair_sums,
    people_needed,
    ranking_rows,
)
from theodolite_reproductions.findings.techniques.record import TechniqueRow
from theodolite_reproductions.findings.techniques.words import named_words


def test_overlap_by_hand() -> None:
    named = named_words('{"pointed arch": 0.5, "door": 0.1, "sky": -1}')
    assert named == "pointed arch door" and named_words('{"sky": -1}') == ""
    rouge_1, rouge_l, bleu = overlaps(named, ["a pointed arch"])
    assert (rouge_1, rouge_l) == (pytest.approx(4 / 6), pytest.approx(4 / 6))
    assert bleu == pytest.approx((2 / 3 * 2 / 3 * 1 / 2) ** (1 / 3))  # longer runs raised by one
    assert overlaps("arch pointed", ["a pointed arch"])[1] == pytest.approx(2 / 5)
    assert overlaps("door", ["a pointed arch"]) == (0, 0, 0)


def test_kappa_of_a_group_is_that_of_its_votes() -> None:
    ratings = np.random.default_rng(0).integers(1, 6, (40, 6)).astype(float)
    ratings[:, 0] = np.clip(ratings[:, 1] + 1, 1, 5)
    ratings[5:, 4] = np.nan
    sums = pair_sums(ratings)
    assert kappa_of(sums.sum(axis=0)[None])[0] == pytest.approx(
        rater_agreement(ratings, np.arange(1.0, 6.0))
    )
    alone = np.full((3, 2), np.nan)
    alone[0, 0] = 4.0
    assert pair_sums(alone)[0, 0] == 0 and np.isnan(kappa_of(pair_sums(alone))).all()


def test_rankings_and_power() -> None:
    table = {"person": ["a", "a", "b", "b"], "question": ["Q7"] * 4,
             "item": ["trust", "cost"] * 2, "place": [1, 2, 1, 2]}  # fmt: skip
    rows = list(ranking_rows(table, 50, 0))
    assert [(row.names["item"], row.value, row.units) for row in rows] == [
        ("trust", 1.0, 2), ("cost", 2.0, 2)
    ]  # fmt: skip
    row = TechniqueRow(names={}, value=0.0, low=-0.1, high=0.1, error=0.05, units=15)
    assert people_needed(row) == 30  # 15 (2.8 x 0.05 / 0.1) ^ 2, rounded up
