"""Notebooks as they are kept: without outputs, from a question to its verdict.

`.ci/docs.sh` runs them, when it makes the pages that show what they give.
"""

import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


def cells_of(path: Path) -> list[dict[str, Any]]:
    """Its cells, each with its source as one text."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    return [{**cell, "source": "".join(cell["source"])} for cell in cells]


def test_there_are_some() -> None:
    assert len(NOTEBOOKS) >= 7


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_opens_with_a_question_and_ends_with_the_verdict(path: Path) -> None:
    first, *_, heading, last = cells_of(path)
    assert first["source"].startswith("# ") and first["source"].splitlines()[0].endswith("?")
    assert "theodolite" in first["source"]  # what to install
    assert heading["source"] == "## The verdict"
    assert last["cell_type"] == "code" and "print(" in last["source"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_nothing_that_it_gave_is_kept(path: Path) -> None:
    code = [cell for cell in cells_of(path) if cell["cell_type"] == "code"]
    assert code and not any(cell["outputs"] or cell["execution_count"] for cell in code)
