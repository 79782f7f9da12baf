"""Pages: one HTML file each, which needs nothing beside it and runs no script but our own."""

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from theodolite._storage.paths import all_or_nothing

TEMPLATES = Path(__file__).parent / "templates"


def write_page(  # noqa: PLR0913  options are keywords
    path: Path,
    template: str,
    content: dict[str, Any],
    scripts: Sequence[str] = (),
    *,
    styles: Sequence[str] = (),
    images: Sequence[str] = (),
    loads_scripts: bool = False,
    templates_folder: Path = TEMPLATES,
) -> Path:
    """Fill a template that extends ``page.html.j2`` and write it, whole or not at all.

    Every text of ``content`` is escaped. ``scripts`` go to the end of the page as they are: the
    page's own policy names a digest of each, so that no other script runs, whatever the data hold.

    Args:
        path: Where the page goes.
        template: Its template.
        content: What the template names.
        scripts: Our own, in order.
        styles: Style files in addition to ``report.css``.
        images: Addresses of images that scripts look up; those that the page does not show are
            added at its end, hidden.
        loads_scripts: Whether our scripts load further ones from beside the page; what is in the
            page's own markup still cannot.
        templates_folder: Folder of the template and the style files, if not ours.
    """
    policy = _policy(scripts, loads_scripts=loads_scripts)
    page = page_text(
        template, content, policy, scripts=scripts, styles=styles, folder=templates_folder
    )
    with all_or_nothing(path) as stream:
        stream.write(_with_images(page, images).encode())
    return path


def page_text(
    template: str,
    content: dict[str, Any],
    policy: str = "",
    *,
    scripts: Sequence[str] = (),
    styles: Sequence[str] = (),
    folder: Path = TEMPLATES,
) -> str:
    """Fill a template and add the styles of all pages; without scripts none may run."""
    common = [TEMPLATES / name for name in ("report.css", "strips.css")]
    css = "".join(p.read_text("utf-8") for p in (*common, *(folder / name for name in styles)))
    return (
        templates(jinja2.FileSystemLoader(folder))
        .get_template(template)
        .render(
            css=Markup(css),  # noqa: S704  our own files
            policy=Markup(policy or _policy(())),  # noqa: S704  our own words and digests
            scripts=[Markup(script) for script in scripts],  # noqa: S704  our own files
            **content,
        )
    )


def templates(more: jinja2.BaseLoader | None = None) -> jinja2.Environment:
    """Our templates, and those of another package. Every text that they are filled with is
    escaped."""
    ours = jinja2.FileSystemLoader(TEMPLATES)
    loader = ours if more is None else jinja2.ChoiceLoader([more, ours])
    return jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)


def render_template(name: str, content: dict[str, Any], more: jinja2.BaseLoader) -> Markup:
    """Return a section that another package adds to a page."""
    text = templates(more).get_template(name).render(content)
    return Markup(text)  # noqa: S704  every text in it is escaped


def _with_images(page: str, images: Sequence[str]) -> str:
    missing = [address for address in images if f'"{escape(address)}"' not in page]
    if not missing:
        return page
    elements = "".join(
        f'<img src="{escape(address)}" alt="" loading="lazy">' for address in missing
    )
    before, footer, after = page.rpartition("<footer>")
    return f'{before}<div class="kept-images" hidden>{elements}</div>\n{footer}{after}'


def _policy(scripts: Sequence[str], *, loads_scripts: bool = False) -> str:
    """What the page may do: show images and styles that it brings, run scripts that we wrote."""
    allowed = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    if not scripts:
        return allowed
    digests = (base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts)
    named = " ".join(f"'sha256-{digest}'" for digest in digests)
    # a folder that is opened without a server has no origin that could be named
    further = " 'strict-dynamic'" if loads_scripts else ""
    return f"{allowed}; script-src {named}{further}"
