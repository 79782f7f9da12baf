"""The examples are short, and do what they say."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from theodolite.datasets.study_material.material import read_material
from theodolite_study.protocol import read_protocol

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, folder: Path) -> str:
    told = subprocess.run(
        [sys.executable, EXAMPLES / name], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    return told.stdout


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_examples_fit_on_a_screen(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) < 40


def test_arrays_alone(tmp_path: Path) -> None:
    told = run("arrays.py", tmp_path)
    assert "leak_free  INCONCLUSIVE  " in told and "Not evaluated: located (pass maps=" in told
    assert "<h1>" in (tmp_path / "digits.html").read_text("utf-8")


def test_a_torch_model(tmp_path: Path) -> None:
    told = run("torch_model.py", tmp_path)
    for question in ("exists", "located", "leak_free", "faithful", "detects"):
        assert any(line.startswith(f"  {question} ") for line in told.splitlines()), question
    assert (tmp_path / "shapes.html").is_file()


def test_a_study(tmp_path: Path) -> None:
    told = run("study.py", tmp_path)
    assert "24 explanations" in told
    material = read_material(tmp_path / "digits-study")
    assert {one.technique for one in material.of("real")} == {"what its digit has", "anything"}
    assert read_protocol(tmp_path / "digits-study").votes == 5
