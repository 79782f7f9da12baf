"""Templates become pages. Everything that is put into them is escaped."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from theodolite_study.web.views import TEMPLATES, Everywhere, View

HERE = Path(__file__).parent
KINDS = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}


@dataclass(frozen=True)
class Pages:
    """The templates of a folder."""

    folder: Path = HERE / "templates"

    @cached_property
    def environment(self) -> Environment:
        """One for all pages. What a template names and is not given is an error, not a gap."""
        return Environment(
            loader=FileSystemLoader(self.folder),
            autoescape=True,
            undefined=StrictUndefined,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def page(self, everywhere: Everywhere, view: View) -> str:
        """The page that shows a view."""
        template = self.environment.get_template(TEMPLATES[type(view)])
        return template.render(_plain(everywhere) | _plain(view))


def _plain(view: Any) -> dict[str, Any]:
    return {each.name: getattr(view, each.name) for each in fields(view)}


@dataclass(frozen=True)
class StaticFile:
    """A style, a script or a mark, read when the server starts."""

    content: bytes = field(repr=False)
    kind: str
    tag: str
    """Changes with the content: browsers ask whether they have it already."""


def static_files(folder: Path = HERE / "static") -> Mapping[str, StaticFile]:
    """All files that pages may ask for; others of the folder are not served."""
    found = {}
    for path in sorted(folder.rglob("*")):
        kind = KINDS.get(path.suffix)
        if kind is not None and path.is_file():
            content = path.read_bytes()
            tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            found[path.relative_to(folder).as_posix()] = StaticFile(content, kind, tag)
    return found
