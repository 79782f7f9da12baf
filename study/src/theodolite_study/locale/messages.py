"""Marks for texts that are translated later, and how they are put into words."""

from collections.abc import Mapping
from gettext import NullTranslations
from typing import TypeAlias

Message: TypeAlias = str | tuple[str, str]
"""A sentence with its gaps in braces; or two of them, for one and for many."""
KEYWORDS = {"_": None, "gettext": None, "ngettext": (1, 2), "N_": None, "NN_": (1, 2)}
"""What marks a text, in Python and in templates."""


def N_(text: str) -> str:  # noqa: N802  # the name that translators' tools and readers know
    """A text that is translated where it is shown."""
    return text


def NN_(singular: str, plural: str) -> tuple[str, str]:  # noqa: N802
    """A text with a number, translated where it is shown."""
    return singular, plural


def worded(
    words: NullTranslations, message: Message, gaps: Mapping[str, object], n: int = 1
) -> str:
    """The message in a language, with its gaps filled in.

    Args:
        words: The language's catalogue.
        message: What is said.
        gaps: What they are filled with, by name.
        n: Which number decides between one and many.
    """
    if isinstance(message, tuple):
        return words.ngettext(*message, n).format(**gaps)
    return words.gettext(message).format(**gaps)
