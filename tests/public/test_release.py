"""One version, wherever it is said."""

import re
from importlib.metadata import version
from pathlib import Path

import theodolite

ROOT = Path(__file__).parents[2]


def test_changelog_citation_and_package_agree() -> None:
    released = re.search(r"^## (\S+) \(", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    assert released and cited
    assert released[1] == cited[1] == theodolite.__version__ == version("theodolite")
