"""A study from nothing without a shell, played by a browser at the desk and people at the pages.

The long form, with 200 people: study/benchmarks/whole_study.py.
"""

from importlib.resources import files
from pathlib import Path

import pytest

from support.study.study_browser import chromium
from support.study.whole_study import WholeStudy, play


def test_a_study_without_a_shell(database_url: str, tmp_path: Path) -> None:
    pytest.importorskip("axe_playwright_python")
    rules = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    (tmp_path / "store").mkdir()
    study = WholeStudy(database_url, tmp_path / "store", real=6, votes=4, quota=3)
    with chromium() as browser:
        assert play(study, browser, each=1, pilot=2, rules=rules) == []
    study.close()
