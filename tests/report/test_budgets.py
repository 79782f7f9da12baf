"""A report is short enough to be read, light enough to be sent, and its first screen answers."""

import io
import os
import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import theodolite
from support.runs.report_runs import evil_run, rated_run
from support.servers.browser import axe_clean, chromium, opened
from theodolite._verdicts.bottom_line import reliance
from theodolite.datasets.digits import digit_strokes
from theodolite.report.html import write_report

FULL = bool(os.environ.get("THEODOLITE_FULL"))
LOOKS = [(1280, "dark"), (400, "light"), (1280, "light"), (400, "dark")][: 4 if FULL else 1]
"""The others, and all folds open, are in the long form; ``test_pages`` opens folds of other runs."""
HEIGHT = "document.documentElement.scrollHeight"
PACKED = re.compile(r'<script(?: type="application/[^"]*"[^>]*)?>.*?</script>', re.DOTALL)
"""The explorer: its scripts, its rows, its figures."""
EXPLORER = re.compile(r'<section id="explorer">.*?</section></details>', re.DOTALL)
SHEETS = 10
"""Of paper, with the appendix; what is long there is printed where it was opened."""


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bottleneck of digits by strokes, a quarter of the samples of the demo."""
    arrays = {
        name: array[::4] if len(array) > 800 else array for name, array in digit_strokes().items()
    }
    claim = "This digit, because of these strokes"
    result = theodolite.audit(**arrays, resamples=50, claim=claim)
    return result.save(tmp_path_factory.mktemp("digits") / "run")


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return evil_run(tmp_path_factory.mktemp("images"))


@pytest.fixture(scope="module")
def votes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rated_run(tmp_path_factory.mktemp("votes"))


def height(browser: Any, report: Path, width: int) -> int:
    page = opened(browser, report, width=width)
    pixels = int(page.evaluate(HEIGHT))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()
    return pixels


def test_it_is_short(digits: Path, images: Path, votes: Path) -> None:
    with chromium() as browser:
        for report, most in ((digits, 2660), (votes, 2600), (images, 4000)):
            assert height(browser, report, 1280) <= most
            assert height(browser, report, 400) <= 6500
            height(browser, report, 320)
        page = opened(browser, digits)
        box = page.locator("#answers").bounding_box()
        assert box["y"] + box["height"] <= 800


def test_it_is_light(digits: Path, images: Path, votes: Path) -> None:
    # of digits 35 kB are method notes with formulas and 70 figures of leakage, both folded
    for report, most in ((digits, 215), (votes, 150), (images, 400)):
        page = EXPLORER.sub("", PACKED.sub("", report.read_text()))
        assert len(page.encode()) <= 1000 * most, "all but the explorer"


def test_it_fits_on_few_sheets(digits: Path, images: Path, votes: Path) -> None:
    reader = pytest.importorskip("pypdf").PdfReader
    with chromium() as browser:
        for report in (digits, votes, images):
            page = opened(browser, report)
            sheets = reader(io.BytesIO(page.pdf(prefer_css_page_size=True))).pages
            text = " ".join(sheet.extract_text() for sheet in sheets)
            assert len(sheets) <= SHEETS
            assert "Where this comes from" in text and "open it before you print" in text
            page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
            opened_too = reader(io.BytesIO(page.pdf(prefer_css_page_size=True))).pages
            assert len(opened_too) > len(sheets), "what was opened is printed"
            page.close()


def test_no_script_is_needed_to_read(digits: Path) -> None:
    with chromium() as browser:
        texts = []
        for runs_scripts in (True, False):
            context = browser.new_context(java_script_enabled=runs_scripts)
            page = context.new_page()
            page.goto(digits.as_uri())
            texts.append(page.locator("main").inner_text())
            context.close()
        assert texts[0] == texts[1] and len(texts[0]) > 1000


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_axe_finds_nothing_in_what_is_closed(
    digits: Path, width: int, scheme: Literal["light", "dark"]
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    with chromium() as browser:
        page = opened(browser, digits, width=width, scheme=scheme)
        faults = axe.Axe().run(page).response["violations"]
        assert [fault["id"] for fault in faults] == []
        if FULL:
            axe_clean(page)


def first_screen(page: Any) -> str:
    """The text that is seen at 1280 x 800 without scrolling."""
    page.set_viewport_size({"width": 1280, "height": 800})
    text = page.evaluate("""() => [...document.querySelectorAll("main p, main h1, main h2, header a")]
      .filter(e => e.getBoundingClientRect().bottom <= innerHeight).map(e => e.innerText).join("\\n")""")
    return str(text).replace("\u00a0", " ")


def test_the_first_screen_answers_who_has_to_decide(digits: Path) -> None:
    with chromium() as browser:
        page = opened(browser, digits)
        tab, screen = page.title(), first_screen(page)
        page.close()
    verdicts = theodolite.load(digits.parent).verdicts
    _, rely, counts = reliance(verdicts)
    scores = {v.question: v.score for v in verdicts if v.answer != "not_evaluated"}
    assert tab.startswith(f"{rely.rstrip('.')}: ")
    assert "“This digit, because of these strokes”" in screen, "what was audited"
    assert f"{rely} {counts}" in screen, "may I rely on it"
    leak = scores["leak_free"]
    assert leak is not None and leak.null is not None
    assert f"{leak.n_samples} samples, 10 classes, 10 concepts" in screen, "how many samples"
    assert "already determine the label" in screen, "why one is inconclusive"
    assert "Rows were taken as independent" in screen, "what was assumed"
    needs = "located (pass maps=, masks=); faithful (pass outputs=); accepted (pass ratings=)."
    assert f"Not evaluated: {needs}" in screen


def test_the_reference_of_faithful_is_on_the_first_screen(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    projections = random.normal(size=(60, 4))
    importances = random.normal(size=(4, 3))
    result = theodolite.audit(
        projections=projections, importances=importances, outputs=projections @ importances,
        resamples=20, questions=["faithful"],
    )  # fmt: skip
    report = result.report(tmp_path / "report.html")
    with chromium() as browser:
        assert "The reference is the outputs you gave." in first_screen(opened(browser, report))


def test_a_claim_is_the_title_and_is_kept(digits: Path) -> None:
    again = theodolite.audit(digits.parent, resamples=20, questions=["exists"])
    assert again.source.claim is not None
    assert again.source.claim.text == "This digit, because of these strokes"
    page = write_report(digits.parent).read_text()
    assert "<h1>“This digit, because of these strokes”</h1>" in page
