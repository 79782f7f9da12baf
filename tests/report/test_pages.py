"""The report as a document: read by a manager, by keyboard, by a screen reader, on paper."""

from pathlib import Path

import pytest

from support.runs.report_runs import evil_run, rated_run
from support.servers.browser import axe_clean, chromium, opened

OUT_OF_SIGHT = """() => [...document.querySelectorAll("table, svg, img, math, pre, p, dl")]
  .filter(e => e.getBoundingClientRect().width && e.getBoundingClientRect().right > innerWidth + 2)
  .map(e => e.outerHTML.slice(0, 80))"""
FOLDED = """() => [...document.querySelectorAll("details:not([open]):not(.spec):not(.all-models):not(.long)")]
  .filter(d => !d.closest("#explorer, .long:not([open])") && !d.lastElementChild.getBoundingClientRect().height).map(d => d.textContent)"""
SHEET = 688  # the width of A4 between our margins, in pixels


@pytest.fixture(scope="module")
def concepts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return evil_run(tmp_path_factory.mktemp("concepts"))


@pytest.fixture(scope="module")
def votes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rated_run(tmp_path_factory.mktemp("votes"))


def test_axe_finds_nothing(concepts: Path, votes: Path) -> None:
    with chromium() as browser:
        for report in (concepts, votes):
            for width, scheme in ((1280, "light"), (400, "dark")):
                page = opened(browser, report, width=width, scheme=scheme)
                axe_clean(page)
                assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
                page.close()


def test_the_head_is_one_screen(concepts: Path) -> None:
    with chromium() as browser:
        page = opened(browser, concepts)
        for part in (".bottomline", "#answers .key"):
            box = page.locator(part).bounding_box()
            assert box["y"] + box["height"] < 800, part
        assert page.locator("#answers .verdict").count() == 2
        assert page.locator("#answers .not-evaluated").inner_text().count("(pass ") == 3


def test_contents_lead_to_every_section(concepts: Path, votes: Path) -> None:
    with chromium() as browser:
        for report in (concepts, votes):
            page = opened(browser, report)
            targets = page.eval_on_selector_all("nav a", "a => a.map(x => x.hash.slice(1))")
            sections = page.eval_on_selector_all("main > section", "s => s.map(x => x.id)")
            assert targets == sections, "each section, in the order of the page"
            known = ["answers", "images", "one-by-one", "limits", "appendix"]
            assert sections == [name for name in known if name in sections], "in this order"
            for link in page.eval_on_selector_all("a[href^='#']", "a => a.map(x => x.hash)"):
                assert page.locator(link).count() == 1
            page.close()


def test_the_keyboard_skips_to_the_content(concepts: Path) -> None:
    with chromium() as browser:
        page = opened(browser, concepts)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        assert page.locator(".skip").bounding_box()["x"] >= 0, "seen once it has the focus"
        assert page.evaluate("getComputedStyle(document.activeElement).outlineWidth") == "2px"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "how", "the first question"


def test_a_link_opens_the_note_it_leads_to(votes: Path) -> None:
    with chromium() as browser:
        page = opened(browser, votes)
        closed = page.locator("details.method:not([open]) .body").first
        name = closed.get_attribute("id")
        page.evaluate("name => { location.hash = name }", name)
        page.wait_for_function(
            "name => document.getElementById(name).closest('details').open", arg=name
        )


def test_nothing_is_lost_on_paper(concepts: Path, votes: Path) -> None:
    with chromium() as browser:
        for report in (concepts, votes):
            page = opened(browser, report, width=SHEET, scheme="dark")
            page.emulate_media(media="print", color_scheme="dark")
            assert page.evaluate(OUT_OF_SIGHT) == []
            assert page.evaluate(FOLDED) == [], "folds are open on paper, but for long ones"
            ink = page.evaluate("getComputedStyle(document.body).color")
            assert ink == "rgb(20, 24, 31)", "dark ink, whatever the screen"
            assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")
            page.close()
