"""Templates become pages in the language of the person. Everything put into them is escaped."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

HERE = Path(__file__).parent
CONSENT_BEGINS, CONSENT_ENDS = "<!-- consent -->", "<!-- end of consent -->"
"""Between these two stand the bytes whose digest is recorded."""
RIGHT_TO_LEFT = ("ar", "fa", "he", "ur")


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
            "participating": False,
        }  # fmt: skip
        return template.render({**everywhere, **context})


def direction(language: str) -> str:
    """Which way a language is written."""
    return "rtl" if language.split("-")[0] in RIGHT_TO_LEFT else "ltr"


def words_in(language: str) -> Callable[[str], str]:
    """Texts of ours in a language; so far as they are written."""
    return lambda text: text


def consent_part(shown: bytes) -> Markup:
    """The consent as the page contains it: its bytes, between two comments."""
    return Markup(f"{CONSENT_BEGINS}{shown.decode()}{CONSENT_ENDS}")  # noqa: S704  made by us


def consent_in(page: bytes) -> bytes:
    """The bytes of the consent that a page contains.

    >>> consent_in(b"x<!-- consent --><p>Yes</p><!-- end of consent -->y")
    b'<p>Yes</p>'
    """
    return page.split(CONSENT_BEGINS.encode())[1].split(CONSENT_ENDS.encode())[0]
