"""Leaderboards have a place for each question, and read no more than they need."""

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.runs.compared_runs import spoilt, written
from theodolite._runs.comparison import comparison_rows
from theodolite._runs.comparison import leaderboard as boards
from theodolite._runs.comparison.leaderboard import (
    LeaderboardTable,
    build_leaderboard,
    compute_rank_ranges,
)
from theodolite.report.pages.leaderboard import sentences, write_leaderboard

VERSIONS = [{"name": "concept_existence", "options": {"top": [1], "rank_by": "weight"}}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("board")
    small: dict[str, Any] = {"resampling": {"resamples": 60}, "sealed": False}
    written(root / "easy", spoilt(0.1, 60), **small)
    written(root / "hard", spoilt(0.5, 60), **small)
    written(root / "few", spoilt(0.1, 60), metrics=VERSIONS, **small)
    shutil.copytree(root / "easy", root / "easy again")
    alone = written(root / "photos", spoilt(0.3, 12, ids="photo"), resampling={"resamples": 60})
    shutil.copytree(alone, root / "lost")
    (root / "lost" / "scores.json").unlink()
    return root


@pytest.fixture(scope="module")
def first(folder: Path) -> LeaderboardTable:
    return build_leaderboard(folder)[0][0]


def test_build_leaderboard_shares_places_in_each_column(first: LeaderboardTable) -> None:
    places = {row.run.name: row.cells["exists"].place for row in first.rows}
    assert places == {"easy": "1–2", "easy again": "1–2", "hard": "3", "few": ""}
    assert [row.cells["located"].score for row in first.rows] == [None] * 4
    assert sentences(first)[0] == "exists: easy and easy again share the first place of 3."
    notes = {row.run.name: row.cells["exists"].note for row in first.rows}
    assert notes["few"] == "no other run has this score", "it is another setting"


def test_build_leaderboard_without_a_place(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("easy", "hard"):
        run = shutil.copytree(folder / name, tmp_path / name)
        text = (run / "scores.json").read_text()
        (run / "scores.json").write_text(re.sub(r'("version": )\d+', r"\g<1>99", text))
    (board,), _ = build_leaderboard(tmp_path)
    assert {row.cells["exists"].note for row in board.rows} == {"computed with version 99"}
    monkeypatch.setattr(boards, "MIN_UNITS", 61)
    (board, _), _ = build_leaderboard(folder)
    assert {row.cells["exists"].note for row in board.rows} == {"fewer than 61 samples"}
    assert board.pairs["exists"] == 0


def test_runs_with_the_same_evidence_are_marked(first: LeaderboardTable) -> None:
    assert {one.run.name: one.same_as for one in first.rows} == {
        "hard": "", "easy": "", "easy again": "easy", "few": "easy",
    }  # fmt: skip


def test_lone_and_broken_runs_are_told_in_words(folder: Path, tmp_path: Path) -> None:
    tables, left = build_leaderboard(folder)
    assert sentences(tables[1]) == ["One run on 12 samples: nothing to compare with."]
    assert [(one.name, one.why) for one in left] == [("lost", "broken: scores.json is missing")]
    text = write_leaderboard(tmp_path / "page.html", tables, left).read_text()
    assert "<h2>One run on 12 samples</h2>" in text and "same evidence as easy" in text
    assert "place 1–2 of 3" in text and "<script" not in text


def test_pairs_are_short_and_evidence_is_freed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, resampled = [], []
    real, rows = boards.build_rows, comparison_rows.resample_rows

    def watched(runs: Any, keys: Any, resampling: Any, *rest: Any) -> Any:
        seen.append((resampling.resamples, "evidence" in runs[1].__dict__))
        return real(runs, keys, resampling, *rest)

    def counted(*given: Any) -> Any:
        resampled.append(given)
        return rows(*given)

    monkeypatch.setattr(boards, "build_rows", watched)
    monkeypatch.setattr(comparison_rows, "resample_rows", counted)
    monkeypatch.setattr(boards, "RESAMPLES", 30)
    result = build_leaderboard(folder)[0]
    assert seen == [(30, False)] * 3
    assert len(resampled) == 2, "each evidence once, not once for each pair"
    assert not [one for b in result for one in b.rows if "evidence" in one.run.__dict__]


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 7), st.integers(0, 1000))
def test_rank_ranges_hold_every_pair(n: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    order = random.permutation(n)
    surely = {
        (int(order[a]), int(order[b]))
        for a in range(n) for b in range(a + 1, n) if random.random() < 0.5
    }  # fmt: skip
    places = compute_rank_ranges(range(n), surely)
    assert all(1 <= first <= last <= n for first, last in places.values())
    for place, run in enumerate(order, start=1):
        assert places[int(run)][0] <= place <= places[int(run)][1], "the true place is inside"
