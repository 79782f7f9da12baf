"""The first page, wherever it is shown: its addresses, its scores and its citation."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from PIL import Image

import theodolite
from theodolite.metrics.catalogue import catalogue
from theodolite.questions import QUESTIONS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def links(text: str) -> list[str]:
    """Targets of links and images, in Markdown and in HTML."""
    pairs = re.findall(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"", text)
    return [markdown or html for markdown, html in pairs]


def test_links_are_files_of_the_repository() -> None:
    targets = [link.partition("#")[0] for link in links(README)]
    assert len(targets) > 20
    assert [target for target in targets if not (ROOT / target).is_file()] == []


def test_files_without_invented_hosts() -> None:
    """Nothing has a placeholder for an address that does not exist yet."""
    listed = subprocess.run(
        ["git", "grep", "-lE", r"theodolite\.(example|invalid)", "--", "."],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert set(listed.stdout.split()) <= {"tests/public/test_readme.py"}


def test_description_of_the_wheel_has_no_relative_link() -> None:
    core = pytest.importorskip("hatchling.metadata.core", reason="no hatchling")
    pytest.importorskip("hatch_fancy_pypi_readme", reason="no hatch-fancy-pypi-readme")
    manager = importlib.import_module("hatchling.plugin.manager").PluginManager()
    description = core.ProjectMetadata(str(ROOT), manager).core.readme
    assert links(description) == []
    assert "Tables (`docs/tables.md`)" in description and "*A theodolite report: " in description


def test_screenshot_is_of_this_version() -> None:
    """After a change of the report: ``packaging/screenshot.py``."""
    with Image.open(ROOT / "docs/report.png") as image:
        assert image.info["theodolite"] == theodolite.__version__
        assert image.width == 1200


def test_its_scores_decide_the_questions_that_they_stand_beside() -> None:
    rows = re.findall(r"^\| (\w+) \| ([^|]+\?) \| (`[^|]+`) \|$", README, re.MULTILINE)
    assert {question: asks for question, asks, _ in rows} == QUESTIONS
    for question, _, names in rows:
        for name in re.findall(r"`(\w+)`", names):
            entry = catalogue()[name]
            assert (entry.question, entry.decides) == (question, True)


def test_functions_that_it_names_need_one_import() -> None:
    names = sorted(set(re.findall(r"`(theodolite(?:\.\w+)+)\(", README)))
    assert "theodolite.audit_attributions" in names
    code = "\n".join(["import theodolite", *names])
    subprocess.run([sys.executable, "-c", code], check=True)


def test_one_citation() -> None:
    entry = re.compile(r"```bibtex\n(.*?)```", re.DOTALL)
    (block,) = entry.findall(README)
    assert entry.findall((ROOT / "docs/faq.md").read_text("utf-8")) == [block]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert f"version = {{{theodolite.__version__}}}" in block
    assert f"title   = {{{cited['title']}}}" in block
    assert f"year    = {{{cited['date-released'].year}}}" in block
