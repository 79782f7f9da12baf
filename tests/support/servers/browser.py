"""A real browser on a report: nothing is cut off, nothing overlaps, nothing goes wrong."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import pytest

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]

MISPLACED = """() => {
  const bad = [];
  document.querySelectorAll("details").forEach(d => d.open = true);
  for (const svg of document.querySelectorAll("svg[viewBox]")) {
    const view = svg.viewBox.baseVal, texts = [...svg.querySelectorAll("text")];
    const boxes = texts.map(t => t.getBBox());
    boxes.forEach((a, i) => {
      if (a.x < -1 || a.x + a.width > view.width + 1 || a.y + a.height > view.height + 2)
        bad.push("cut off: " + texts[i].textContent);
      boxes.slice(0, i).forEach((b, j) => {
        const wide = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
        const tall = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
        if (wide > 1 && tall > 5) bad.push(texts[i].textContent + " on " + texts[j].textContent);
      });
    });
  }
  return bad;
}"""


HEADINGS = """() => [...document.querySelectorAll("h1,h2,h3,h4,h5,h6")].map(h => +h.tagName[1])"""


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser; the test is skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api")
    browser_path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if browser_path is None:
        pytest.skip("no chromium here")
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=browser_path, args=ARGUMENTS)
        yield browser
        browser.close()


def opened(
    browser: Any, path: Path, *, width: int = 1280, scheme: Literal["light", "dark"] = "light"
) -> Any:
    """A page of the browser with the file in it."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(path.as_uri())
    return page


def axe_clean(page: Any) -> None:
    """Nothing that axe finds wrong, folds opened; headings go down one level at a time."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    result = axe.Axe().run(page).response["violations"]
    told = [(v["id"], [node["html"][:160] for node in v["nodes"][:3]]) for v in result]
    assert not told, told
    levels = page.evaluate(HEADINGS)
    assert levels[0] == 1 and levels.count(1) == 1, "one title"
    jumps = [(a, b) for a, b in pairwise(levels) if b > a + 1]
    assert jumps == [], "no level of heading is left out"


def looks_right(report: Path) -> None:
    """Open the page wide and narrow; texts of figures lie inside them and beside each other."""
    with chromium() as browser:
        for width in (1200, 360):
            fitting(browser, report, width).close()


def fitting(browser: Any, path: Path, width: int) -> Any:
    """The page, opened: it says nothing, does not scroll sideways, no text of a figure is lost."""
    page = browser.new_page(viewport={"width": width, "height": 900})
    said: list[str] = []
    page.on("console", lambda m: said.append(m.text))
    page.goto(path.as_uri())
    assert said == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert page.evaluate(MISPLACED) == []
    return page
