"""The command plan, as a user gives it."""

import json
from pathlib import Path

import pytest

from support.runs.command_line import theodolite
from support.runs.compared_runs import BY_CONCEPT, METRICS, spoilt, written
from theodolite._runs.comparison.loaded_runs import load_run
from theodolite._runs.comparison.sample_sizes import find_sample_size

SPARE = "seeds of each run, for the recipe, with samples to spare"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    for name, share in (("a", 0.4), ("b", 0.3)):
        seeds = [spoilt(share + 0.02 * i, 60, seed=i) for i in range(3)]
        written(root / name, seeds, metrics=[*METRICS, BY_CONCEPT])
    return root


def needed(*arguments: object) -> dict[str, tuple[int | None, int | None]]:
    result = theodolite("plan", *arguments, "--json", "--quiet")
    assert result.returncode == 0, result.stderr
    (pilot,) = json.loads(result.stdout)
    return {size["what"]: (size["alone"], size["strictest"]) for size in pilot["needed"]}


def test_plan_from_numbers() -> None:
    result = theodolite("plan", "--sd", ".45", "--seed-sd", "1", "--points", "2")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("Sample size to detect a difference of 2 pp with 80 % power:")
    assert "3,976" in result.stdout and "6,134" in result.stdout
    told = needed("--sd", ".45", "--seed-sd", "1", "--concept-sd", "5")
    assert told[SPARE] == (6, 9)
    assert told["concepts, for others like these"] == (52, 80)


def test_plan_from_one_run_takes_errors_for_unrelated(folder: Path) -> None:
    result = theodolite("plan", folder / "a", "--points", "5", "--quiet")
    assert result.returncode == 0, result.stderr
    assert "pass a second run with --against" in result.stdout
    told = needed(folder / "a", "--points", "5")
    score = load_run(folder / "a").headline("exists")
    assert score is not None
    (alone, strictest) = told["samples, for these models"]
    rough = find_sample_size(0.05, (2 * score.value * (1 - score.value)) ** 0.5, 0.05, 0.8)
    assert alone is not None and strictest is not None and rough is not None
    assert alone == pytest.approx(rough, rel=0.25) and strictest > alone
    assert told[SPARE] is not None


def test_plan_from_two_runs_is_paired(folder: Path) -> None:
    one = needed(folder / "a", "--points", "5")["samples, for these models"][0]
    told = needed(folder / "a", "--against", folder / "b", "--points", "5")
    two = told["samples, for these models"][0]
    assert one is not None and two is not None and two < one / 2
    assert "seeds of each run, for the recipe, with 60 samples" in told


@pytest.mark.parametrize(
    ("arguments", "says"),
    [((), "neither"), (("a", "--sd", ".4"), "both"), (("nowhere",), "no run.json")],
)
def test_mistakes_are_refused(folder: Path, arguments: tuple[str, ...], says: str) -> None:
    names = [str(folder / one) if one in ("a", "nowhere") else one for one in arguments]
    result = theodolite("plan", *names)
    assert result.returncode in (2, 3) and says in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
