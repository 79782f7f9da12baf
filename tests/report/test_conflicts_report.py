"""The chapter on where the questions disagree."""

import json
import re
import shutil
from pathlib import Path

import jinja2
import pytest

from support.evidence.two_questions import finished
from support.servers.browser import looks_right
from theodolite._runs.folder.run_records import ProducedRecord
from theodolite._runs.folder_reader import RunFolder
from theodolite._storage.records import read_record
from theodolite.evidence.subject import make_unstated_subject
from theodolite.report.chapters.conflicts import conflicts_chapter
from theodolite.report.html import write_report
from theodolite.report.page import TEMPLATES

GIVEN = make_unstated_subject()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished(tmp_path_factory.mktemp("conflicts") / "run")


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    """The chapter by itself, in the report's own styles."""
    made = read_record(folder / "produced.json", ProducedRecord)
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True)
    chapter = environment.get_template("conflicts.html.j2").render(
        conflicts=conflicts_chapter(RunFolder(folder), made.conflict_examples, GIVEN)
    )
    head = (
        '<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    )
    style = f"<style>{(TEMPLATES / 'report.css').read_text()}</style>"
    page = f"{head}{style}<main>{chapter}</main>"
    (folder / "chapter.html").write_text(page)
    return page


def test_the_report_has_the_chapter(tmp_path: Path) -> None:
    page = write_report(finished(tmp_path / "run")).read_text()
    assert page.count('<section class="conflicts" id="conflicts">') == 1
    assert "<b>p</b>" not in page


def test_the_matrix_says_share_interval_and_null(page: str) -> None:
    section = page[page.index("Where the questions disagree") :]
    assert section.count('<td class="more">') == 2
    assert section.count("50.0\u00a0%") >= 2
    assert section.count("25.0\u00a0% if unrelated") == 2
    assert section.count("▲ more often than if unrelated") == 2  # not by color alone
    assert "95 % interval by resampling samples" in section
    assert "−1.00" in section
    assert "People accept explanations that name what is not there" in section


def test_matching_by_number_is_told_and_chance_has_no_cause(folder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "run"))
    result = json.loads((copy / "conflicts.json").read_text())
    for one in result["conflicts"]:
        one |= {"p": 0.2, "by_number": True}
    (copy / "conflicts.json").write_text(json.dumps(result))
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True)
    template = environment.get_template("conflicts.html.j2")
    one, other = (
        template.render(conflicts=conflicts_chapter(RunFolder(at), [], GIVEN))
        for at in (folder, copy)
    )
    told, cause = "Matched by row number, no ids", "People accept explanations that name what is"
    assert (told in one, cause in one) == (False, True)
    assert (told in other, cause in other) == (True, False)
    assert "≈ not distinguishable from unrelated" in other


def test_too_few_clusters_make_no_claim(folder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "run"))
    result = json.loads((copy / "conflicts.json").read_text())
    for one in result["conflicts"]:
        one |= {"p": None, "n_clusters": 5}
    (copy / "conflicts.json").write_text(json.dumps(result))
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True)
    page = environment.get_template("conflicts.html.j2").render(
        conflicts=conflicts_chapter(RunFolder(copy), [], GIVEN)
    )
    assert page.count('<span class="beside">too few clusters to tell</span>') == 2
    assert "(too few clusters to tell)." in page
    assert "more often than if unrelated" not in page
    assert "People accept explanations that name what is" not in page


def test_examples_have_their_values_and_images(folder: Path, page: str) -> None:
    made = read_record(folder / "produced.json", ProducedRecord)
    chapter = conflicts_chapter(RunFolder(folder), made.conflict_examples, GIVEN)
    assert chapter is not None
    cards = [card for example in chapter["examples"] for card in example["cards"]]
    assert len(cards) == 6
    assert all(card["image"].startswith("data:image/") for card in cards)
    assert cards[0]["good"] == "Concept existence (CEM): 100.0\u00a0%"
    assert cards[0]["bad"] == "Acceptance: 0.0\u00a0%"
    section = page[page.index("What such conflicts look like") :]
    assert section.count('<img src="data:image/') >= 6
    without = conflicts_chapter(RunFolder(folder), [], GIVEN)
    assert without is not None
    assert not any(card["image"] for one in without["examples"] for card in one["cards"])


def test_names_stay_text(page: str) -> None:
    assert "<script>alert(1)" not in page
    assert "<b>p</b>" not in page
    assert "&lt;b&gt;p&lt;/b&gt;" in page


def test_one_question_has_no_chapter(tmp_path: Path) -> None:
    folder = finished(tmp_path / "run", metrics=("accepted",))
    assert conflicts_chapter(RunFolder(folder), [], GIVEN) is None
    assert "Where the questions disagree" not in write_report(folder).read_text()


def test_it_fits_the_screen(folder: Path, page: str) -> None:
    assert re.search('<section class="conflicts"', page)
    looks_right(folder / "chapter.html")
