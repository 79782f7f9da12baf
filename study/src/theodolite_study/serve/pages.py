"""Templates become pages in the language of the person. Everything put into them is escaped."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from gettext import NullTranslations
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from theodolite_study.locale.catalogue import (
    SOURCE,
    catalogue,
    direction,
    money,
    own_name,
    script_words,
)
from theodolite_study.model.markdown import CONSENT_BEGINS, CONSENT_ENDS, as_html

HERE = Path(__file__).parent
KINDS = {
    ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml", ".png": "image/png", ".woff2": "font/woff2",
}  # fmt: skip


def environment() -> Environment:
    """One for all pages. What a template names and is not given is an error, not a gap."""
    return Environment(
        loader=FileSystemLoader(HERE / "templates"), autoescape=True, undefined=StrictUndefined,
        auto_reload=False, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip


class StudyPages:
    """Pages of participants."""

    def __init__(self) -> None:
        self._environment = environment()

    def page(self, name: str, language: str, csrf: str, context: Mapping[str, Any]) -> str:
        """A page: the template's name, the language, what proves its forms, and what it shows."""
        template = self._environment.get_template(f"{name}.html.j2")
        everywhere = {
            "language": language, "direction": direction(language), "csrf": csrf,
            "_": words_in(language), "errors": (), "study_title": "", "contact": "",
            "preview": False, "turk": None, "scripts": scripts,
            "text": lambda key: "", "markdown": markdown,
            "own_name": own_name, "money": partial(money, language),
            "script_words": partial(words_for_scripts, language),
        }  # fmt: skip
        return template.render({**everywhere, **context})


def translations(language: str) -> NullTranslations:
    """Texts of ours in a language; in English where a study speaks one that we do not."""
    try:
        return catalogue(language)
    except LookupError:
        return catalogue(SOURCE)


def words_in(language: str) -> Callable[[str], str]:
    """The same, for one text at a time."""
    return translations(language).gettext


@cache
def words_for_scripts(language: str) -> dict[str, Any]:
    """What scripts say; in English where a study speaks a language that we do not."""
    try:
        return script_words(language)
    except LookupError:
        return script_words(SOURCE)


@cache
def scripts() -> tuple[str, ...]:
    """Names of the modules, so that browsers ask for all of them at once."""
    return tuple(sorted(path.name for path in (HERE / "static").glob("*.js")))


def markdown(text: str) -> Markup:
    """A text of the researcher's."""
    return Markup(as_html(text))  # noqa: S704  everything but the few marks is escaped


def consent_part(consent: bytes) -> Markup:
    """The consent as the page contains it: its bytes, between two comments."""
    part = CONSENT_BEGINS + consent + CONSENT_ENDS
    return Markup(part.decode())  # noqa: S704  made by us


@dataclass(frozen=True)
class StaticFile:
    """A style, a script or a mark, read when the server starts."""

    content: bytes = field(repr=False)
    kind: str
    tag: str
    """Changes with the content: browsers ask whether they have it already."""


def files_in(folder: Path) -> Mapping[str, StaticFile]:
    """All files of a folder that pages may ask for, by name; others are not served."""
    files = {}
    for path in sorted(folder.rglob("*")):
        kind = KINDS.get(path.suffix)
        if kind is not None and path.is_file():
            content = path.read_bytes()
            tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            files[path.relative_to(folder).as_posix()] = StaticFile(content, kind, tag)
    return files
