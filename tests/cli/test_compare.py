"""The commands compare and leaderboard, as a user gives them."""

import json
from pathlib import Path

import pytest

from support.runs.command_line import as_process, theodolite
from support.runs.compared_runs import spoilt, written


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    written(root / "a", spoilt(0.4, 60))
    written(root / "b", spoilt(0.2, 60))
    return root


def test_compare_prints_and_writes(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "compare.html"
    result = theodolite("compare", folder / "a", folder / "b", "--out", page, "--quiet")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(
        "On these models b is better than a in 1 question, worse in none, none undecided. "
        "For the recipe, trained again: inconclusive (one seed)."
    )
    assert "+20.0 points" in result.stdout and page.is_file()


def test_compare_as_json(folder: Path) -> None:
    result = theodolite("compare", folder / "b", folder / "a", "--json", "--quiet")
    (pair,) = json.loads(result.stdout)
    assert (pair["reference"], pair["run"], pair["samples"]) == ("b", "a", 60)
    assert pair["questions"][0]["outcome"] == "worse"
    assert pair["questions"][0]["recipe_outcome"] == "cannot be told"
    assert [one["outcome"] for one in pair["scores"]] == ["worse", "exploration"]
    assert pair["questions"][0]["difference"] == pytest.approx(-0.2)


def test_leaderboard_prints_and_writes(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "leaderboard.html"
    result = theodolite("leaderboard", folder, "--out", page, "--quiet", "--json")
    assert result.returncode == 0, result.stderr
    (table,) = json.loads(result.stdout)["tables"]
    places = [(run["run"], run["answers"]["exists"]["place"]) for run in table["runs"]]
    assert places == [("a", [2, 2]), ("b", [1, 1])]
    assert page.is_file()


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["compare", "a"], 2, "two or more"),
        (["compare", "a", "nowhere"], 3, "no run.json"),
        (["leaderboard", "a"], 2, "a run"),
    ],
)
def test_mistakes_are_refused(folder: Path, arguments: list[str], code: int, says: str) -> None:
    given = [str(folder / one) if one in ("a", "nowhere", ".") else one for one in arguments]
    result = theodolite(*given, "--quiet")
    assert result.returncode == code and says in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_mistakes_end_in_one_line_of_the_program(folder: Path) -> None:
    result = as_process("compare", folder / "a", folder / "nowhere", "--quiet")
    assert result.returncode == 3 and "no run.json" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_the_printed_board_says_who_is_first(folder: Path) -> None:
    result = theodolite("leaderboard", folder, "--quiet")
    assert result.stdout.startswith("exists: b is first of 2.")
    assert "partly, place 1 of 2" in result.stdout or "yes, place 1 of 2" in result.stdout
