"""Templates become pages in the language of the person. Everything put into them is escaped."""

from collections.abc import Callable, Mapping
from functools import partial
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
)
from theodolite_study.model.markdown import CONSENT_BEGINS, CONSENT_ENDS, as_html

HERE = Path(__file__).parent


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
            "participating": False, "text": lambda key: "", "markdown": markdown,
            "own_name": own_name, "money": partial(money, language),
        }  # fmt: skip
        return template.render({**everywhere, **context})


def words_in(language: str) -> Callable[[str], str]:
    """Texts of ours in a language; in English where a study speaks one that we do not."""
    try:
        return catalogue(language).gettext
    except LookupError:
        return catalogue(SOURCE).gettext


def markdown(text: str) -> Markup:
    """A text of the researcher's."""
    return Markup(as_html(text))  # noqa: S704  everything but the few marks is escaped


def consent_part(shown: bytes) -> Markup:
    """The consent as the page contains it: its bytes, between two comments."""
    part = CONSENT_BEGINS + shown + CONSENT_ENDS
    return Markup(part.decode())  # noqa: S704  made by us
