"""The first page, wherever it is shown: its addresses, its scores and its citation."""

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

import theodolite
from theodolite.metrics.catalogue import catalogue
from theodolite.questions import QUESTIONS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
OTHERS = ("https://img.shields.io/", "https://pypi.org/project/theodolite/")


def addresses() -> dict[str, str]:
    """What pyproject.toml says, read as the site reads it."""
    module: dict[str, Any] = runpy.run_path(str(ROOT / "docs/_ext/addresses.py"))
    return module["urls"]()


def links(text: str) -> list[str]:
    """Targets of links and images, in Markdown and in HTML."""
    pairs = re.findall(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"", text)
    return [markdown or html for markdown, html in pairs]


def test_every_link_is_absolute_and_of_the_project() -> None:
    urls = addresses()
    assert set(urls) == {"Homepage", "Documentation", "Source", "Issues", "Changelog"}
    assert len(links(README)) > 20
    own = (f"{urls['Documentation']}/stable/", f"{urls['Source']}/")
    strays = [link for link in links(README) if not link.startswith((*own, *OTHERS))]
    assert not strays


def test_files_that_it_names_are_there() -> None:
    base = f"{addresses()['Source']}/blob/main/"
    names = [link.removeprefix(base) for link in links(README) if link.startswith(base)]
    assert names
    assert all((ROOT / name).is_file() for name in names)


def test_no_other_page_has_another_address() -> None:
    """Whoever fills in the addresses changes one word in all files."""
    host = re.escape(addresses()["Homepage"].removeprefix("https://"))
    paths = [ROOT / name for name in ("CITATION.cff", "pyproject.toml", "README.md", "docs/faq.md")]
    for path in paths:
        stated = re.findall(r"https://[\w.]*theodolite\.[\w.]+", path.read_text("utf-8"))
        assert stated and all(re.search(rf"{host}$", address) for address in stated), path


def test_its_scores_decide_the_questions_that_they_stand_beside() -> None:
    rows = re.findall(r"^\| (\w+) \| ([^|]+\?) \| (`[^|]+`) \|$", README, re.MULTILINE)
    assert {question: asks for question, asks, _ in rows} == QUESTIONS
    for question, _, names in rows:
        for name in re.findall(r"`(\w+)`", names):
            entry = catalogue()[name]
            assert (entry.question, entry.decides) == (question, True)


def test_functions_that_it_names_need_one_import() -> None:
    names = sorted(set(re.findall(r"`(theodolite(?:\.\w+)+)\(", README)))
    assert "theodolite.bridges.shap.attribution_evidence" in names
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
    urls = addresses()
    assert (cited["url"], cited["repository-code"]) == (urls["Homepage"], urls["Source"])
    assert f"url     = {{{urls['Homepage']}}}" in block
