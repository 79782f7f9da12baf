"""Submissions to a leaderboard: what is in order is listed, what was changed is refused."""

import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from support.runs.command_line import theodolite
from support.runs.compared_runs import spoilt, written
from theodolite._runs.comparison.leaderboard import build_leaderboard
from theodolite._runs.comparison.submissions import (
    check_submission,
    write_split,
    write_submission,
)
from theodolite._runs.folder.checksums import write_checksums
from theodolite.errors import EvidenceError, UnsafeInputError

STATED = """name: a bottleneck
authors: [A. Writer]
model: {digest: "%s", url: "https://example.org/model", license: Apache-2.0}
explanation: concepts
division: open
code: https://example.org/code
contact: writer@example.org
"""
FIRST = [{"name": "concept_existence", "options": {"top": [1, 3]}}]
OTHER = [{"name": "concept_existence", "options": {"top": [3, 5]}}]


def submitted(folder: Path, evidence: Any, metrics: Any = FIRST) -> Path:
    run = written(folder.with_name(f"{folder.name} run"), evidence, metrics=metrics)
    write_submission(run, folder).write_text(STATED % ("0" * 64))
    return folder


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = submitted(tmp_path_factory.mktemp("split") / "mine", spoilt(0.2, 60))
    return write_split(run, run.parent / "split.json")


def test_write_submission_leaves_out_the_report_and_keeps_folders(split: Path) -> None:
    assert (split.parent / "mine run" / "report.html").exists()
    assert not (split.parent / "mine" / "report.html").exists()
    with pytest.raises(EvidenceError, match="a folder that exists"):
        write_submission(split.parent / "mine run", split.parent / "mine")


def test_check_submission_in_order_recomputed_and_rerun(split: Path, tmp_path: Path) -> None:
    run = split.parent / "mine"
    assert check_submission(run, split).level == "recomputed"
    again = shutil.copytree(run, tmp_path / "again")
    assert check_submission(run, split, rerun=again).level == "rerun"
    other = submitted(tmp_path / "other", spoilt(0.9, 60))
    (difference,) = check_submission(run, split, rerun=other).refusals
    assert "differs from the run of the maintainers" in difference
    result = theodolite("leaderboard", run, "--check", split, "--quiet")
    assert result.returncode == 0 and "level: recomputed" in result.stdout


def test_check_submission_tampered_score_refused(split: Path, tmp_path: Path) -> None:
    run = shutil.copytree(split.parent / "mine", tmp_path / "mine")
    shutil.copy(split.parent / "mine.yaml", tmp_path / "mine.yaml")
    content = json.loads((run / "scores.json").read_text())
    content["scores"][0]["value"] += 0.01
    (run / "scores.json").write_text(json.dumps(content))
    assert check_submission(run, split).level == "refused", "the seal is broken"
    write_checksums(run)
    (refusal,) = check_submission(run, split).refusals
    assert "computed again" in refusal, "sealed anew, and still not of its evidence"


def test_check_submission_missing_row_refused(split: Path, tmp_path: Path) -> None:
    run = submitted(tmp_path / "mine", spoilt(0.2, 59))
    (refusal,) = check_submission(run, split).refusals
    assert refusal == "The run scored 59 rows that are not the 60 test rows of mine."
    result = theodolite("leaderboard", run, "--check", split, "--quiet")
    assert result.returncode == 6 and result.stdout.startswith("refused: The run scored 59 rows")


def test_check_submission_other_verdict_setting_refused(split: Path, tmp_path: Path) -> None:
    run = submitted(tmp_path / "mine", spoilt(0.2, 60), OTHER)
    (refusal,) = check_submission(run, split).refusals
    assert refusal == "“exists” is answered with top = 3. Score it with top = 1."


def test_check_submission_images_and_unstated_fields_refused(split: Path, tmp_path: Path) -> None:
    run = submitted(tmp_path / "mine", spoilt(0.2, 60))
    (run / "one.png").write_bytes(b"image")
    write_checksums(run)
    (refusal,) = check_submission(run, split).refusals
    assert refusal.startswith("Remove one.png")
    path = tmp_path / "mine.yaml"
    path.write_text(path.read_text().replace("license: Apache-2.0", "license: ''"))
    with pytest.raises(UnsafeInputError, match="license"):
        check_submission(run, split)


def test_build_leaderboard_lists_submissions_by_level(split: Path, tmp_path: Path) -> None:
    board = tmp_path / "board"
    for name, share in (("mine", 0.2), ("other", 0.6)):
        submitted(board / name, spoilt(share, 60))
    submitted(board / "fewer", spoilt(0.2, 59))
    content = json.loads(split.read_text())
    digest = sha256((board / "mine" / "manifest.json").read_bytes()).hexdigest()
    (board / "split.json").write_text(json.dumps(content | {"rerun": {"mine": digest}}))
    (table,), left = build_leaderboard(board)
    assert {row.run.name: row.level for row in table.rows} == {
        "mine": "rerun",
        "other": "recomputed",
    }
    named = {one.name: one.why for one in left}
    assert named["fewer"].startswith("The run scored 59 rows")
    assert set(named) == {"fewer", "fewer run", "mine run", "other run"}, "no file beside them"
