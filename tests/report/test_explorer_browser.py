"""Rows of a report in a real browser: pages, order, search, keyboard, panel, figures, bad names."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from report_size import drawn_values

from support.evidence.many_rows import write_many
from support.study.study_browser import chromium
from theodolite.report.explorer.page import SCRIPTS
from theodolite.report.html import write_report
from theodolite.report.page import TEMPLATES

ROWS = 6000
EVIL = (
    "</script><script>alert(1)</script>", "<img src=x onerror=alert(2)>", "\u202egnp.exe",
    "x" * 10_000, '"><svg onload=alert(3)>', "--score", "@x", "constructor", "{{ 7*7 }}", "\x00\n\t",
)  # fmt: skip
NAMES = tuple(f"unit {i}" for i in range(ROWS))
VISIBLE = ".explorer:not([hidden])"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as result:
        yield result


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(write_many(tmp_path_factory.mktemp("rows") / "run", NAMES))


class Opened:
    """A page, all that it said, and short ways to ask it."""

    def __init__(self, browser: Any, report: Path, **options: Any) -> None:
        self.page = browser.new_page(**{"viewport": {"width": 1280, "height": 900}} | options)
        self.said: list[str] = []
        self.page.on("console", lambda m: self.said.append(m.text))
        self.page.on("pageerror", lambda e: self.said.append(str(e)))
        self.page.on("dialog", lambda d: (self.said.append("a dialog"), d.dismiss()))
        self.page.goto(report.as_uri())
        assert self.page.locator(".explorer[data-ready]").count() == 0, "not before it is opened"
        self.page.locator("summary", has=self.page.locator("h2", has_text="One by one")).click()
        self.page.wait_for_selector(".explorer[data-ready]", state="attached")

    def names(self) -> list[str]:
        return self.page.locator(f"{VISIBLE} tbody button.name").all_text_contents()

    def status(self) -> str:
        return str(self.page.locator(f"{VISIBLE} [role=status]").text_content())

    def head(self, at: int) -> Any:
        return self.page.locator(f"{VISIBLE} thead button").nth(at)

    def drawn(self) -> list[str]:
        self.page.locator(".plots").first.scroll_into_view_if_needed()
        self.page.wait_for_selector(f"{VISIBLE} .plots figure:last-child[data-drawn]")
        return self.page.locator(f"{VISIBLE} .plots figure figcaption").all_text_contents()

    def click_a_point(self) -> str:
        """Move over the dense part of the second figure until it names a unit; click there."""
        box = self.page.locator(f"{VISIBLE} svg.plotted").nth(1).bounding_box()
        for step in range(100):
            place = box["x"] + 100 + 7 * (step % 10), box["y"] + 160 + 7 * (step // 10)
            self.page.mouse.move(*place)
            tip = self.page.locator(f"{VISIBLE} .tip").nth(1)
            if tip.is_visible() and str(tip.text_content()).startswith("unit "):
                self.page.mouse.click(*place)
                return str(tip.text_content())
        return ""


def in_order(values: np.ndarray, *, down: bool) -> list[int]:
    """Rows by value to four decimals, equals as they are, undefined last: sorted naively."""

    def place(i: int) -> tuple[bool, float, int]:
        if np.isnan(values[i]):
            return True, 0.0, i
        return False, float(np.round(values[i] * 1e4)) * (-1 if down else 1), i

    return sorted(range(len(values)), key=place)


def test_pages_order_search_and_keys(browser: Any, report: Path) -> None:
    one = Opened(browser, report)
    page = one.page
    worst = [NAMES[i] for i in in_order(drawn_values(ROWS, 1), down=False)]
    assert one.names() == worst[:25] and one.status() == "rows 1–25 of 6,000"
    turn = page.locator(f"{VISIBLE} .pager button")
    turn.nth(2).focus()
    page.keyboard.press("Enter")
    assert one.names() == worst[25:50] and one.status() == "rows 26–50 of 6,000"
    page.keyboard.press("End")
    assert one.names() == worst[-25:], "undefined ones last"
    assert page.evaluate("document.activeElement.textContent") == "Next ›", "focus is kept"
    page.keyboard.press("ArrowLeft")
    assert one.status() == "rows 5,951–5,975 of 6,000"
    page.keyboard.press("Home")
    page.locator(f"{VISIBLE} .controls select").select_option("100")
    assert one.names() == worst[:100]
    one.head(2).click()
    other = drawn_values(ROWS, 2)
    assert one.names() == [NAMES[i] for i in in_order(other, down=False)][:100]
    one.head(2).click()
    assert one.names() == [NAMES[i] for i in in_order(other, down=True)][:100]
    sorts = page.locator(f"{VISIBLE} thead th").evaluate_all(
        "all => all.map(one => one.getAttribute('aria-sort'))"
    )
    assert sorts == [None, None, "descending"]
    turn.nth(3).click()
    assert one.names()[-1] == [NAMES[i] for i in in_order(other, down=True)][-1], "still last"
    one.head(0).click()
    assert one.names()[:12] == [f"unit {i}" for i in range(12)]
    page.locator(f"{VISIBLE} input[type=search]").fill("UNIT 59")
    assert one.names() == [name for name in NAMES if "unit 59" in name][:100]
    assert one.status() == "rows 1–100 of 111 found among 6,000"
    page.locator(f"{VISIBLE} input[type=search]").fill("no such name")
    assert one.names() == [] and "no name" in one.status()
    assert one.said == []
    page.close()


def test_a_row_opens_with_scores_and_images(browser: Any, report: Path) -> None:
    one = Opened(browser, report)
    page = one.page
    page.locator(f"{VISIBLE} input[type=search]").fill("unit 0")
    page.locator(f"{VISIBLE} tbody button.name").first.focus()
    page.keyboard.press("Enter")
    panel = page.locator("dialog[open]")
    assert panel.locator("h3").text_content() == "unit 0"
    first = float(drawn_values(ROWS, 1)[0])
    text = str(panel.text_content())
    assert f"{100 * first:.2f} %" in text and "shuffled 2.00 %" in text
    assert f"{100 * max(first - 0.03, 0):.2f} % to {100 * (first + 0.03):.2f} %" in text
    assert "Formula: (a AND b)" in text
    wide = panel.locator("img").evaluate_all("all => all.map(one => one.naturalWidth)")
    assert wide == [24, 24]
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0
    assert page.evaluate("document.activeElement.textContent") == "unit 0", "focus comes back"
    page.locator("[role=tab]").nth(1).click()
    page.wait_for_selector("#explorer-samples[data-ready]")
    assert one.status() == "rows 1–25 of 6,000" and one.names()[0].startswith("image ")
    assert one.said == []
    page.close()


def test_figures_tell_what_they_leave_out_and_open_rows(browser: Any, report: Path) -> None:
    one = Opened(browser, report)
    x, y = drawn_values(ROWS, 1), drawn_values(ROWS, 2)
    both = int((~np.isnan(x) & ~np.isnan(y)).sum())
    histogram, scatter = one.drawn()
    assert f"of all {int((~np.isnan(x)).sum()):,} units" in histogram
    assert f"4,000 of {both:,} units are drawn as points" in scatter
    assert f"The shading counts all {both:,}" in scatter
    assert f"{ROWS - both:,} are not drawn" in scatter and "seed 0" in scatter
    label = one.page.locator(f"{VISIBLE} .plot").nth(1).get_attribute("aria-label")
    assert label == scatter
    plots = one.page.locator(f"{VISIBLE} svg.plotted")
    assert plots.nth(0).locator("rect").count() == 40
    assert plots.nth(1).locator("circle").count() == 4000
    pointed = one.click_a_point()
    opened = one.page.locator("dialog[open] h3").text_content()
    assert pointed.startswith(f"{opened}: ")
    assert one.said == []
    one.page.close()


def test_points_are_the_ends_and_a_draw_by_seed(browser: Any) -> None:
    page = browser.new_page()
    parts = [(TEMPLATES / f"{name}.js").read_text() for name in SCRIPTS if name != "explorer"]
    x, y = drawn_values(900, 5), drawn_values(900, 6)
    given = [[None if np.isnan(v) else float(v) for v in values] for values in (x, y)]
    result = page.evaluate(
        "([code, x, y]) => { const numbers = all => all.map(v => v ?? NaN);"
        " const run = new Function(code + '; return { drawn, cells, binned };')();"
        " const [a, b] = [numbers(x), numbers(y)];"
        " const take = seed => run.drawn(a, b, { most: 200, outer: 10, seed });"
        " const first = take(0);"
        " return { first, again: take(0).chosen, other: take(1).chosen, all: run.drawn(a, b).chosen,"
        "   cells: run.cells(a, b, first.all), bins: run.binned(a) }; }",
        ["\n".join(parts), *given],
    )
    page.close()
    rows = np.flatnonzero(~np.isnan(x) & ~np.isnan(y))
    chosen = result["first"]["chosen"]
    assert len(chosen) == len(set(chosen)) == 200 and set(chosen) <= set(rows.tolist())
    for values in (x, y):
        order = rows[np.argsort(values[rows], kind="stable")]
        assert set(order[:10].tolist()) | set(order[-10:].tolist()) <= set(chosen)
    assert result["again"] == chosen and result["other"] != chosen
    assert result["all"] == rows.tolist(), "few rows are all drawn"
    assert result["first"]["undefinedX"] == int(np.isnan(x).sum())
    assert sum(cell["count"] for cell in result["cells"]) == len(rows)
    counts, edges = np.histogram(x[~np.isnan(x)], 40)
    assert [one["count"] for one in result["bins"]["bins"]] == counts.tolist()
    np.testing.assert_allclose([one["left"] for one in result["bins"]["bins"]], edges[:-1])


def test_bad_names_are_text(browser: Any, tmp_path: Path) -> None:
    names = EVIL + tuple(f"u{i}" for i in range(250))
    report = write_report(write_many(tmp_path / "run", names, cards=len(EVIL)))
    one = Opened(browser, report)
    one.page.locator(f"{VISIBLE} .controls select").select_option("100")
    shown = []
    for name in (*EVIL[:3], *EVIL[4:9]):
        one.page.locator(f"{VISIBLE} input[type=search]").fill(name)
        shown.append(one.names()[0])
        one.page.locator(f"{VISIBLE} tbody button.name").first.click()
        assert one.page.locator("dialog[open] h3").text_content() == name
        one.page.keyboard.press("Escape")
    assert shown == [*EVIL[:3], *EVIL[4:9]]
    one.page.locator(f"{VISIBLE} input[type=search]").fill("xxxxx")
    assert one.names() == ["x" * 89 + "…"]
    assert one.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    if one.page.locator(".plots").count():
        one.drawn()
    assert one.page.locator("#explorer img[src=x], #explorer svg[onload]").count() == 0
    assert one.said == []
    one.page.close()


def test_without_scripts_and_on_paper(browser: Any, report: Path) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(report.as_uri())
    assert page.locator("#explorer-units tbody tr").count() == 25
    assert "need scripts" in str(page.locator("#explorer-note").text_content())
    page.close()
    one = Opened(browser, report)
    one.page.locator(f"{VISIBLE} .pager button").nth(3).click()
    first = [NAMES[i] for i in in_order(drawn_values(ROWS, 1), down=False)][:25]
    one.page.emulate_media(media="print")
    one.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert one.names() == first
    assert one.page.locator("#explorer-units .print-note").is_visible()
    assert not one.page.locator("#explorer-units .pager").is_visible()
    one.page.close()


def test_a_browser_that_cannot_unpack_says_so(browser: Any, report: Path) -> None:
    page = browser.new_page()
    page.add_init_script("delete globalThis.DecompressionStream")
    page.goto(f"{report.as_uri()}#explorer")
    page.wait_for_function("document.getElementById('explorer').closest('details').open")
    assert "cannot unpack" in str(page.locator("#explorer-note").text_content())
    assert page.locator("#explorer-units tbody tr").count() == 25
    page.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_everyone_can_use_it(browser: Any, report: Path, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    size = {"width": width, "height": 900}
    one = Opened(browser, report, viewport=size, color_scheme=scheme)
    one.page.locator(".columns summary").first.click()
    faults = axe.Axe().run(one.page, context="#explorer").response["violations"]
    one.page.locator(f"{VISIBLE} tbody button.name").first.click()
    faults += axe.Axe().run(one.page, context="dialog").response["violations"]
    assert [(fault["id"], fault["nodes"][0]["html"][:200]) for fault in faults] == []
    assert one.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    one.page.close()
