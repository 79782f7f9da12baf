"""Run folders that 0.1.0 wrote: verified, judged, audited, compared, reported and upgraded."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

import theodolite as library
from support.runs.command_line import theodolite
from theodolite.io.paths import sha256_of
from theodolite.run_folder.run_file import RunRecord, read_produced, read_record
from theodolite.run_folder.scores_file import ScoresFile, read_scores
from theodolite.run_folder.seal import sealed_files
from theodolite.runs.finished import read_finished

V1 = Path(__file__).parents[1] / "fixtures" / "v1"
FOLDERS = sorted(V1.glob("*.zip"))
EXPECTED: dict[str, Any] = json.loads((V1 / "expected.json").read_text())

ESTIMATED_OTHERWISE = ("given_concept", "given_concepts")
"""Neighbour estimates, which count ties and leave clusters out by now."""


def unpacked(name: str, at: Path) -> Path:
    with zipfile.ZipFile(V1 / f"{name}.zip") as archive:
        archive.extractall(at / name)
    return at / name


@pytest.fixture(params=FOLDERS, ids=lambda path: path.stem)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return unpacked(request.param.stem, tmp_path)


@pytest.fixture(params=["concept", "rating"])
def arrays(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return unpacked(request.param, tmp_path)


def digests(folder: Path) -> dict[str, str]:
    return {name: sha256_of(folder / name) for name in sealed_files(folder)}


def test_a_folder_of_0_1_0_is_verified(folder: Path, tmp_path: Path) -> None:
    result = theodolite("verify", folder)
    expected = EXPECTED[folder.name]["verify"]
    assert (result.returncode, result.stdout.splitlines()) == (expected["code"], expected["lines"])
    scores = folder / "scores.json"
    scores.write_text(scores.read_text().replace('"value": 0.', '"value": 1.', 1))
    assert theodolite("verify", folder).returncode == 5


@pytest.mark.filterwarnings("default::theodolite.questions.FormerName")
def test_a_gate_of_0_1_0_with_its_thresholds(folder: Path) -> None:
    expected = EXPECTED[folder.name]["gate"]
    result = theodolite("gate", folder, V1 / "thresholds.yaml")
    assert (result.returncode, result.stdout.splitlines()) == (expected["code"], expected["lines"])
    assert result.stderr.startswith("theodolite: the question 'leaks' is called 'leak_free' now")
    assert len(result.stderr.splitlines()) == 1


def test_answers_of_0_1_0_are_read_with_the_same_sense(folder: Path) -> None:
    lines = EXPECTED[folder.name]["gate of 0.1.0"]["lines"]
    verdicts = {v.question: v for v in read_record(folder / "scores.json", ScoresFile).verdicts}
    for question, former in (("exists", "exists"), ("leak_free", "leaks")):
        (line,) = [line for line in lines if f": {former}: " in line]
        answer = "not asked" if question not in verdicts else verdicts[question].answer
        assert f": {former}: {answer!r} (" in line or (answer, answer in line) == (
            "not asked",
            True,
        )


def test_headlines_of_a_spec_of_0_1_0(tmp_path: Path) -> None:
    finished = read_finished(unpacked("models", tmp_path))
    assert finished.record.spec.headlines["leak_free"].name == "concept_task_leakage"
    (verdict,) = [v for v in finished.verdicts if v.question == "leak_free"]
    assert verdict.score is not None and verdict.score.metric == "concept_task_leakage"


def test_an_audit_of_a_folder_of_0_1_0_gives_its_scores(arrays: Path) -> None:
    before, _ = read_scores(arrays / "scores.json")
    values, expected = (
        {
            (score.metric, str(sorted(score.options.items()))): score.value
            for score in scores
            if not score.metric.endswith(ESTIMATED_OTHERWISE)
        }
        for scores in (library.audit(arrays, resamples=50).scores, before)
    )
    assert len(values.keys() & expected.keys()) >= 4
    for name in values.keys() & expected.keys():
        assert values[name] == pytest.approx(expected[name], rel=1e-9, nan_ok=True), name


def test_recomputing_a_folder_of_0_1_0_says_which_deciding_scores_changed(arrays: Path) -> None:
    result = theodolite("verify", arrays, "--recompute", "all")
    assert result.returncode != 0
    text = " ".join(result.stderr.split())
    assert "This version decides otherwise" in text, text
    assert "is at version" in text or "decides no more" in text


def test_a_report_of_a_folder_of_0_1_0_changes_nothing_else(folder: Path) -> None:
    before = digests(folder)
    result = theodolite("report", folder)
    assert result.returncode == 0, result.stderr
    after = digests(folder)
    assert {name for name in after if after[name] != before[name]} == {"report.html"}
    assert after.keys() == before.keys() and theodolite("verify", folder).returncode == 0
    page = (folder / "report.html").read_text()
    assert "Less supervision of the concepts leaks more" in page or folder.name != "models"


def test_an_upgrade_is_written_beside(folder: Path, tmp_path: Path) -> None:
    before, out = digests(folder), tmp_path / "new"
    result = theodolite("upgrade", folder, "--out", out)
    assert result.returncode == 0, result.stderr
    assert digests(folder) == before and theodolite("verify", out).returncode == 0
    after = digests(out)
    renamed = {"made.json": "produced.json", "studies.json": "findings.json"}
    assert set(after) == {renamed.get(name, name) for name in before}
    same = {name for name in after if before.get(name) == after[name]}
    inside = [name for name in before if "/" in name or name.endswith(".parquet")]
    assert set(inside) <= same
    for name in ("run.json", "scores.json", "produced.json"):
        content = json.loads((out / name).read_text())
        assert content["format_version"] == 2 and '"leaks"' not in (out / name).read_text()
    kinds = (("run.json", RunRecord), ("scores.json", ScoresFile))
    assert all(read_record(folder / n, k) == read_record(out / n, k) for n, k in kinds)  # type: ignore[type-var]
    assert sha256_of(folder / "manifest.json") in read_produced(out).notes[-1]


def test_an_upgrade_never_writes_where_something_is(tmp_path: Path) -> None:
    folder = unpacked("concept", tmp_path)
    for out, code in ((folder, 2), (folder / "inner", 2), (tmp_path, 2)):
        assert theodolite("upgrade", folder, "--out", out).returncode == code
    assert theodolite("verify", folder).returncode == 0
    (folder / "scores.json").write_text("{}")
    assert theodolite("upgrade", folder, "--out", tmp_path / "new").returncode == 5
    assert not (tmp_path / "new").exists()


def test_old_and_new_runs_side_by_side(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    old = unpacked("concept", runs)
    library.audit(old, resamples=20).save(runs / "new")
    result = theodolite("compare", old, runs / "new")
    assert result.returncode == 0, result.stderr
    assert "Answered by another score, version or options" in result.stdout
    assert theodolite("upgrade", old, "--out", runs / "upgraded").returncode == 0
    assert theodolite("upgrade", runs / "upgraded", "--out", runs / "twice").returncode == 2
    board = theodolite("leaderboard", runs, "--json")
    assert board.returncode == 0, board.stderr
    rows = json.loads(board.stdout)["tables"]
    assert "upgraded" in json.dumps(rows) and '"leak_free"' in json.dumps(rows)
