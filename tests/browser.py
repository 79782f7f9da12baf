"""A real browser on a report: nothing is cut off, nothing overlaps, nothing goes wrong."""

import shutil
from pathlib import Path

import pytest

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


def looks_right(report: Path) -> None:
    """Open the page wide and narrow; texts of figures lie inside them and beside each other."""
    playwright = pytest.importorskip("playwright.sync_api")
    browser_path = shutil.which("chromium")
    if browser_path is None:
        pytest.skip("no chromium here")
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(
            executable_path=browser_path,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        for width in (1200, 360):
            page = browser.new_page(viewport={"width": width, "height": 900})
            said: list[str] = []
            page.on("console", lambda m, said=said: said.append(m.text))
            page.goto(report.as_uri())
            assert said == []
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
            assert page.evaluate(MISPLACED) == []
            page.close()
        browser.close()
