"""Templates become pages. Everything that is put into them is escaped."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from theodolite_study.serve.pages import StaticFile, files_in
from theodolite_study.web.views import TEMPLATES, Everywhere, View

HERE = Path(__file__).parent


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


def static_files(folder: Path = HERE / "static") -> Mapping[str, StaticFile]:
    """All files that pages may ask for; others of the folder are not served."""
    return files_in(folder)
