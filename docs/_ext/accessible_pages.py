"""What the theme leaves out for people who use a keyboard or a screen reader, put in at the end."""

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

PLAIN = {
    'role="heading"': 'role="heading" aria-level="2"',
    '<aside class="sidebar-drawer"': '<aside aria-label="Pages" class="sidebar-drawer"',
    '<aside class="toc-drawer"': '<aside aria-label="On this page" class="toc-drawer"',
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
}
SIGNATURE = re.compile(r'<dt class="sig.*?</dt>', re.DOTALL)
LISTS = {"<dl>": '<span class="lines">', "</dl>": "</span>"}
ITEMS = {"<dd>": '<span class="line">', "</dd>": "</span>"}


def correct_page(page: str) -> str:
    """The page with headings that have a level, named sides, and code that can be scrolled."""
    for before, after in PLAIN.items():
        page = page.replace(before, after)
    return SIGNATURE.sub(lambda found: _without_lists(found[0]), page)


def _without_lists(signature: str) -> str:
    """Parameters, one a line, are no list of definitions."""
    for before, after in {**LISTS, **ITEMS}.items():
        signature = signature.replace(before, after)
    return signature


def correct_site(app: Sphinx, failed: Exception | None) -> None:
    """All pages, once they are written."""
    if failed is None and app.builder.format == "html":
        for path in Path(app.outdir).rglob("*.html"):
            text = path.read_text(encoding="utf-8")
            if "aria-level" not in text:  # not corrected by an earlier build
                path.write_text(correct_page(text), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """After everything else."""
    app.connect("build-finished", correct_site, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
