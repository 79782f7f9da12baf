"""Packages outside the repository, built and installed as wheels: a metric and a data set."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import theodolite
from theodolite.testing import planted_concepts

OUTSIDE = Path(__file__).parents[1] / "support" / "outside"
CLINIC = Path(__file__).parents[2] / "walks" / "clinic.py"
pytest.importorskip("hatchling", reason="nothing builds wheels here: pip install hatchling")
pytest.importorskip("pip", reason="no pip here")


def run(arguments: list[Any], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("outside")
    packages = []
    for name in ("metric", "dataset"):  # a copy: building leaves nothing beside the sources
        packages.append(folder / name)
        packages[-1].mkdir()
        for file in (OUTSIDE / name).iterdir():
            if file.is_file():
                (packages[-1] / file.name).write_bytes(file.read_bytes())
    (folder / "dataset" / "clinic.py").write_bytes(CLINIC.read_bytes())
    flags = ["--no-build-isolation", "--no-deps", "--no-index", "--quiet", "--target"]
    built = run(["-m", "pip", "install", *flags, folder / "site", *packages])
    assert built.returncode == 0, built.stderr
    ours = Path(theodolite.__file__).parents[1]
    before = os.environ.get("PYTHONPATH", "")
    paths = os.pathsep.join(map(str, (folder / "site", ours, before)))
    done = run([OUTSIDE / "trial.py", folder], PYTHONPATH=paths)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("file", sorted(OUTSIDE.glob("*/*.py")), ids=lambda path: path.stem)
def test_they_import_nothing_but_the_public_surface(file: Path) -> None:
    modules = re.findall(r"^(?:from|import) (theodolite\S*)", file.read_text(), re.MULTILINE)
    assert modules and set(modules) <= {"theodolite.ext", "theodolite.testing"}


def test_a_metric_is_audited_saved_loaded_reported_and_gated(outcome: dict[str, Any]) -> None:
    metric = outcome["metric"]
    first, *others = metric["values"]
    assert len(first) == 1 and 0 < first[0] < 0.25 and others == [first, first]
    assert metric["alone"] == ["outside_brier"]
    assert sorted(metric["nulls"]) == ["most_frequent", "one half"]
    assert metric["in_report"] and metric["gate"] == [True, False]
    assert "honest probabilities" in metric["card"]


def test_a_metric_of_others_leaves_our_scores_as_they_were(outcome: dict[str, Any]) -> None:
    ours = theodolite.audit(planted_concepts(80), resamples=50).scores
    assert outcome["metric"]["others"] == sorted(s.metric + repr(s.value) for s in ours)


def test_a_data_set_is_run_loaded_audited_compared_and_gated(outcome: dict[str, Any]) -> None:
    data = outcome["dataset"]
    assert data["code"] == 0 and data["listed"] and data["report"] and data["same"]
    assert data["answers"]["exists"] == "partly" and data["gate"] == [True, False]
    assert data["compared"] > 0
