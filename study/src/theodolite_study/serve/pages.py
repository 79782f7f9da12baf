"""Render templates in the participant's language, with everything escaped."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from gettext import NullTranslations
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from theodolite_study.locale.translations import (
    SOURCE_LANGUAGE,
    format_money,
    get_direction,
    get_own_name,
    get_script_texts,
    load_translations,
)
from theodolite_study.model.markdown import CONSENT_BEGINS, CONSENT_ENDS, render_html

SERVE_FOLDER = Path(__file__).parent
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml", ".png": "image/png", ".woff2": "font/woff2",
}  # fmt: skip


def make_environment() -> Environment:
    """Return the template environment, in which undefined names are errors."""
    return Environment(
        loader=FileSystemLoader(SERVE_FOLDER / "templates"), autoescape=True,
        undefined=StrictUndefined, auto_reload=False, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip


class StudyPages:
    """Renderer of participants' pages."""

    def __init__(self) -> None:
        self._environment = make_environment()

    def page(self, name: str, language: str, csrf: str, context: Mapping[str, Any]) -> str:
        """Render a template in a language, with the token of its forms and its context."""
        template = self._environment.get_template(f"{name}.html.j2")
        everywhere = {
            "language": language, "direction": get_direction(language), "csrf": csrf,
            "_": get_translator(language), "errors": (), "study_title": "", "contact": "",
            "preview": False, "turk": None, "away": False, "platform": False,
            "paid": True, "rated": False,
            "scripts": list_scripts,
            "text": lambda key: "", "markdown": render_markdown,
            "own_name": get_own_name, "money": partial(format_money, language),
            "script_words": partial(load_script_texts, language),
        }  # fmt: skip
        return template.render({**everywhere, **context})


def load_translations_or_english(language: str) -> NullTranslations:
    """Return our texts in a language; in English if we have none."""
    try:
        return load_translations(language)
    except LookupError:
        return load_translations(SOURCE_LANGUAGE)


def get_translator(language: str) -> Callable[[str], str]:
    """Return a function that translates one text of ours."""
    return load_translations_or_english(language).gettext


@cache
def load_script_texts(language: str) -> dict[str, Any]:
    """Return the texts of scripts in a language; in English if we have none."""
    try:
        return get_script_texts(language)
    except LookupError:
        return get_script_texts(SOURCE_LANGUAGE)


@cache
def list_scripts() -> tuple[str, ...]:
    """List the script modules, so that browsers load all of them at once."""
    return tuple(sorted(path.name for path in (SERVE_FOLDER / "static").glob("*.js")))


def render_markdown(text: str) -> Markup:
    """Render a researcher's text."""
    return Markup(render_html(text))  # noqa: S704  everything but the few marks is escaped


def render_consent_part(consent: bytes) -> Markup:
    """Return the consent's bytes between two comments, as the page contains it."""
    part = CONSENT_BEGINS + consent + CONSENT_ENDS
    return Markup(part.decode())  # noqa: S704  made by us


@dataclass(frozen=True)
class StaticFile:
    """Style sheet, script or icon, read when the server starts."""

    content: bytes = field(repr=False)
    kind: str
    tag: str
    """ETag, which changes with the content."""


def read_static_files(folder: Path) -> Mapping[str, StaticFile]:
    """Read all files of a folder that pages may request; others are not served."""
    files = {}
    for path in sorted(folder.rglob("*")):
        kind = MEDIA_TYPES.get(path.suffix)
        if kind is not None and path.is_file():
            content = path.read_bytes()
            tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            files[path.relative_to(folder).as_posix()] = StaticFile(content, kind, tag)
    return files
