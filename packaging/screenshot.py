"""Photograph the head of the demo's report for README.md, with the version in its metadata.

theodolite demo && python packaging/screenshot.py theodolite-demo/run/report.html
"""

import shutil
import sys
from pathlib import Path

from PIL import Image, PngImagePlugin
from playwright.sync_api import sync_playwright

import theodolite
from theodolite._storage.images import parse_image

OUT = Path(__file__).parents[1] / "docs" / "report.png"
WIDTH = 1200
ROWS = 3
"""Rows of digits below the answers."""
BOTTOM = """(rows) => {
  const cards = [...document.querySelectorAll(".examples .example")].slice(0, rows);
  return cards.at(-1).getBoundingClientRect().bottom;
}"""


def photograph(report: Path) -> Image.Image:
    """Return the page from its top to the first digits."""
    browser_path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
        page.goto(report.resolve().as_uri())
        height = int(page.evaluate(BOTTOM, ROWS)) + 5
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": height}
        content = page.screenshot(full_page=True, clip=clip)
        browser.close()
    return parse_image(content, OUT.name)


if __name__ == "__main__":
    text = PngImagePlugin.PngInfo()
    text.add_text("theodolite", theodolite.__version__)
    colors = photograph(Path(sys.argv[1])).quantize(256, dither=Image.Dither.NONE)
    colors.save(OUT, pnginfo=text, optimize=True)
