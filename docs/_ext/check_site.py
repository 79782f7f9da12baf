"""Check a built site: nothing is fetched from elsewhere, every formula was made, every link leads.

python docs/_ext/check_site.py SITE
"""

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from theodolite.metrics.catalogue import catalogue

FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """What a page loads, where it leads to, and what it says."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect addresses."""
        given = {name: value or "" for name, value in attrs}
        self.ids.add(given.get("id", ""))
        address = given.get(FETCHED.get(tag, ""), "")
        if address and given.get("rel") not in ("canonical", "next", "prev"):
            self.fetched.append(address)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])


def faults(site: Path) -> Iterator[str]:
    """One line for each thing that is wrong."""
    pages = {path.resolve(): Page(path.read_text("utf-8")) for path in site.rglob("*.html")}
    if not pages:
        yield "there is no page"
    for path, page in pages.items():
        name = str(path.relative_to(site.resolve()))
        for address in page.fetched:
            if urlsplit(address).scheme in ("http", "https") or address.startswith("//"):
                yield f"{name} fetches {address}"
        if 'class="math notranslate' in path.read_text("utf-8"):
            yield f"{name} has mathematics that was not made"
        yield from (f"{name} leads to {fault}" for fault in _nowhere(path, pages))
        if "_thumb.png" in path.read_text("utf-8"):
            yield f"{name} has a thumbnail of an earlier example: remove docs/_made"
    for style in site.rglob("*.css"):
        if "url(http" in style.read_text("utf-8", "replace").replace('"', "").replace("'", ""):
            yield f"{style.name} fetches something"


def _nowhere(path: Path, pages: dict[Path, Page]) -> Iterator[str]:
    """Links of a page that do not lead anywhere on the site."""
    for link in pages[path].links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if not target.exists():
            yield f"{link}, which is not there"
        elif parts.fragment and target in pages and parts.fragment not in pages[target].ids:
            yield f"{link}, which has no such place"


def unexplained(site: Path) -> Iterator[str]:
    """Metrics of the catalogue without a page, or with one that leaves something out."""
    for name in catalogue():
        page = site / "_made" / "metrics" / f"{name}.html"
        text = page.read_text("utf-8") if page.is_file() else ""
        if not all(one in text for one in ("Limitations", "<math", name)):
            yield f"no page explains {name}"


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    result = [*faults(folder), *unexplained(folder)]
    sys.stdout.write("".join(f"{line}\n" for line in result))
    sys.exit(bool(result))
