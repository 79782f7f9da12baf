"""The page about extending theodolite runs in a checkout, and the walks keep their size.

The release step of the gate runs the page and the walks from the wheel (``.ci/release.sh``).
"""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WALKS = sorted((ROOT / "walks").glob("*.py"))


def test_extending_page_runs(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("transcript", ROOT / ".ci" / "transcript.py")
    assert spec is not None and spec.loader is not None
    transcript = importlib.util.module_from_spec(spec)
    sys.modules["transcript"] = transcript  # its dataclasses look themselves up
    spec.loader.exec_module(transcript)
    printed = ""
    for part in transcript.parts((ROOT / "docs" / "extending.md").read_text("utf-8")):
        if part.mark == "output":
            assert printed == part.text
        elif part.kind == "python":
            name = part.file or "code.py"
            (tmp_path / name).write_text(part.text, "utf-8")
            done = subprocess.run(
                [sys.executable, name], cwd=tmp_path, capture_output=True, text=True, check=False,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )  # fmt: skip
            assert done.returncode == 0, f"{name}:\n{done.stderr}"
            printed = done.stdout


@pytest.mark.parametrize(
    ("name", "limit"), [("concept_brier.py", 15), ("passage.py", 50), ("clinic.py", 60)]
)
def test_walk_fits_its_limit(name: str, limit: int) -> None:
    assert len((ROOT / "walks" / name).read_text("utf-8").splitlines()) <= limit


@pytest.mark.parametrize("path", WALKS, ids=lambda path: path.stem)
def test_walk_imports_public_modules_only(path: Path) -> None:
    text = path.read_text("utf-8")
    modules = re.findall(r"^(?:from|import) (theodolite\S*)", text, re.MULTILINE)
    assert modules and set(modules) <= {"theodolite", "theodolite.testing"}


def test_page_shows_the_kind_of_the_walk() -> None:
    page = (ROOT / "docs" / "extending.md").read_text("utf-8")
    assert (ROOT / "walks" / "passage.py").read_text("utf-8").partition("\n\n")[2] in page
