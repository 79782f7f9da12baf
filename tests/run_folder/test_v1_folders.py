"""Run folders that 0.1.0 wrote: verified and audited as they are."""

import shutil
import zipfile
from pathlib import Path

import pytest

import theodolite as library
from support.runs.command_line import theodolite
from theodolite.run_folder.scores_file import read_scores

FOLDERS = sorted((Path(__file__).parents[1] / "fixtures" / "v1").glob("*.zip"))

ESTIMATED_OTHERWISE = ("given_concept", "given_concepts")
"""Neighbour estimates, which count ties and leave clusters out by now."""


@pytest.fixture(params=FOLDERS, ids=lambda path: path.stem)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with zipfile.ZipFile(request.param) as archive:
        archive.extractall(tmp_path / "run")
    return tmp_path / "run"


def test_a_folder_of_0_1_0_is_verified(folder: Path, tmp_path: Path) -> None:
    result = theodolite("verify", folder)
    assert result.returncode == 0, result.stderr
    changed = tmp_path / "changed"
    shutil.copytree(folder, changed)
    scores = changed / "scores.json"
    scores.write_text(scores.read_text().replace('"value": 0.', '"value": 1.', 1))
    assert theodolite("verify", changed).returncode != 0


def test_an_audit_of_a_folder_of_0_1_0_gives_its_scores(folder: Path) -> None:
    before, _ = read_scores(folder / "scores.json")
    values, expected = (
        {
            (score.metric, str(sorted(score.options.items()))): score.value
            for score in scores
            if not score.metric.endswith(ESTIMATED_OTHERWISE)
        }
        for scores in (library.audit(folder, resamples=50).scores, before)
    )
    assert len(values.keys() & expected.keys()) >= 4
    for name in values.keys() & expected.keys():
        assert values[name] == pytest.approx(expected[name], rel=1e-9, nan_ok=True), name


def test_recomputing_a_folder_of_0_1_0_says_which_deciding_scores_changed(folder: Path) -> None:
    result = theodolite("verify", folder, "--recompute", "all")
    assert result.returncode != 0
    text = " ".join(result.stderr.split())
    assert "This version decides otherwise" in text, text
    assert "is at version" in text or "decides no more" in text
