"""The walks keep their size, and the page about extending theodolite shows one of them.

The release step of the gate runs the page and the walks from the wheel (``.ci/release.sh``).
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WALKS = sorted((ROOT / "walks").rglob("*.py"))


@pytest.mark.parametrize(
    ("name", "limit"), [("concept_brier.py", 15), ("passage.py", 50), ("clinic.py", 60)]
)
def test_walk_fits_its_limit(name: str, limit: int) -> None:
    assert len((ROOT / "walks" / name).read_text("utf-8").splitlines()) <= limit


PUBLIC = {
    "theodolite", "theodolite.datasets", "theodolite.ext", "theodolite.testing",
    "theodolite.cli",  # the command, in the process of the walk: each start imports torch again
    "theodolite_study.demo.people",  # scripted people
}  # fmt: skip


@pytest.mark.parametrize("path", WALKS, ids=lambda path: path.stem)
def test_walk_imports_public_modules_only(path: Path) -> None:
    text = path.read_text("utf-8")
    modules = re.findall(r"^(?:from|import) (theodolite\S*)", text, re.MULTILINE)
    assert set(modules) <= PUBLIC


def test_page_shows_the_kind_of_the_walk() -> None:
    page = (ROOT / "docs" / "extending.md").read_text("utf-8")
    assert (ROOT / "walks" / "passage.py").read_text("utf-8").partition("\n\n")[2] in page
