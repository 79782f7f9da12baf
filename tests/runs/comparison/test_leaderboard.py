"""Leaderboards do not crown a run that fails, and read no more than they need."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.runs.compared_runs import spoilt, written
from theodolite._runs.comparison import leaderboard as boards
from theodolite._runs.comparison.leaderboard import (
    LeaderboardTable,
    build_leaderboard,
    compute_rank_ranges,
)
from theodolite.report.pages.leaderboard import sentences, write_leaderboard


def answered(folder: Path, answer: str) -> None:
    """The same run, whose verdicts all say something else."""
    content = json.loads((folder / "scores.json").read_text())
    content["verdicts"] = [one | {"answer": answer} for one in content["verdicts"]]
    (folder / "scores.json").write_text(json.dumps(content))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("board")
    small: dict[str, Any] = {"resampling": {"resamples": 60}, "sealed": False}
    answered(written(root / "easy", spoilt(0.1, 60), **small), "no")
    answered(written(root / "hard", spoilt(0.5, 60), **small), "partly")
    shutil.copytree(root / "easy", root / "easy again")
    alone = written(root / "photos", spoilt(0.3, 12, ids="photo"), resampling={"resamples": 60})
    shutil.copytree(alone, root / "lost")
    (root / "lost" / "scores.json").unlink()
    return root


@pytest.fixture(scope="module")
def first(folder: Path) -> LeaderboardTable:
    return build_leaderboard(folder)[0][0]


def test_a_run_with_a_no_is_not_put_first(folder: Path, first: LeaderboardTable) -> None:
    assert [(one.run.name, one.place) for one in first.standings] == [
        ("hard", "1"), ("easy", "2–3"), ("easy again", "2–3"),
    ]  # fmt: skip
    only, ranked = sentences(first)
    assert only == "hard is the only run that fails no question."
    assert ranked.startswith(
        "Ranked by: questions failed, then “Is the named concept in the input?”. hard"
    )
    asked = build_leaderboard(folder, "exists")[0][0]
    assert [one.run.name for one in asked.standings] == ["easy", "easy again", "hard"]
    assert sentences(asked)[0].startswith("Ranked by: “Is the named concept in the input?”. easy")


def test_runs_with_the_same_evidence_are_marked(first: LeaderboardTable) -> None:
    assert {one.run.name: one.same_as for one in first.standings} == {
        "hard": "", "easy": "", "easy again": "easy",
    }  # fmt: skip


def test_lone_and_broken_runs_are_told_in_words(folder: Path, tmp_path: Path) -> None:
    tables, left = build_leaderboard(folder)
    assert sentences(tables[1]) == ["One run on 12 samples: nothing to compare with."]
    assert [(one.name, one.why) for one in left] == [("lost", "broken: scores.json is missing")]
    text = write_leaderboard(tmp_path / "page.html", tables, left).read_text()
    assert "<h2>2. One run on 12 samples</h2>" in text and "same evidence as easy" in text
    assert 'class="answer-mark no" role="img" aria-label="no">✗</span>' in text


def test_pairs_are_short_and_evidence_is_freed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    real = boards.build_rows

    def watched(runs: Any, keys: Any, resampling: Any, progress: Any) -> Any:
        seen.append((resampling.resamples, "evidence" in runs[1].__dict__))
        return real(runs, keys, resampling, progress)

    monkeypatch.setattr(boards, "build_rows", watched)
    monkeypatch.setattr(boards, "SHORT", 30)
    found = build_leaderboard(folder)[0]
    assert seen == [(30, False)] * 3
    assert not [one for b in found for one in b.standings if "evidence" in one.run.__dict__]


@settings(max_examples=1000, deadline=None)
@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=7),
    st.integers(0, 1000),
)
def test_places_never_fall_down_the_page(noes: list[int], seed: int) -> None:
    random = np.random.default_rng(seed)
    n = len(noes)
    surely = {
        (a, b) if random.random() < 0.5 else (b, a)
        for a in range(n)
        for b in range(a + 1, n)
        if random.random() < 0.5
    }
    places = compute_rank_ranges(noes, surely)
    assert all(1 <= first <= last <= n for first, last in places)
    for a in range(n):
        for b in range(n):
            if noes[a] < noes[b]:
                assert places[a][1] < places[b][0]
    order = sorted(range(n), key=lambda run: places[run])
    assert [noes[run] for run in order] == sorted(noes)
