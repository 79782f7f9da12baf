"""Mark texts for translation, and fill in their gaps. Used by every module with texts."""

from collections.abc import Mapping
from gettext import NullTranslations
from typing import TypeAlias

Message: TypeAlias = str | tuple[str, str]
"""Sentence with gaps in braces; or two of them, singular and plural."""
KEYWORDS = {"_": None, "gettext": None, "ngettext": (1, 2), "N_": None, "NN_": (1, 2)}
"""Functions that mark a text, in Python and in templates."""


def N_(text: str) -> str:  # noqa: N802  # the name that translators' tools and readers know
    """Mark a text that is translated where it is shown."""
    return text


def NN_(singular: str, plural: str) -> tuple[str, str]:  # noqa: N802
    """Mark a text with singular and plural that is translated where it is shown."""
    return singular, plural


def translate_message(
    words: NullTranslations, message: Message, gaps: Mapping[str, object], n: int = 1
) -> str:
    """Translate a message and fill in its gaps.

    Args:
        words: The language's catalogue.
        message: What is said.
        gaps: What they are filled with, by name.
        n: Which number decides between one and many.
    """
    if isinstance(message, tuple):
        return words.ngettext(*message, n).format(**gaps)
    return words.gettext(message).format(**gaps)
