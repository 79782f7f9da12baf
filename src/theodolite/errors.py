"""Errors about the input of a caller, each with one sentence on how to fix it."""

import unicodedata
from collections.abc import Iterable


def printable(text: object, limit: int = 200) -> str:
    """One harmless line: no control characters (names may carry terminal codes), not too long.

    >>> printable("horn\\x1b[31m\\nof")
    'horn\\\\x1b[31m\\\\nof'
    """
    line = "".join(
        repr(c)[1:-1] if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} else c
        for c in str(text)
    )
    return line if len(line) <= limit else line[: limit - 1] + "…"


def did_you_mean(word: object, among: Iterable[object]) -> str:
    """The nearest of the words that would do, as a question; nothing if none is near.

    >>> did_you_mean("nomial", ("ordinal", "nominal"))
    "Did you mean 'nominal'?"
    """
    from difflib import get_close_matches  # noqa: PLC0415  only where something is wrong

    words = [choice for choice in among if isinstance(choice, str)]
    close = get_close_matches(word, words, n=1) if isinstance(word, str) else []
    return f"Did you mean {close[0]!r}?" if close else ""


class EvidenceError(ValueError):
    """Something given cannot be used: what it is, what came, what was needed, what to do.

    >>> print(EvidenceError("weights", "shape (2, 3)", "(3, 3)", "Pass one row per concept."))
    weights: got shape (2, 3); needed (3, 3). Pass one row per concept.
    """

    exit_code = 2

    def __init__(self, what: str, got: str = "", expected: str = "", hint: str = "") -> None:
        super().__init__(what, got, expected, hint)
        self.what, self.got, self.expected, self.hint = what, got, expected, hint

    def __str__(self) -> str:
        middle = "; ".join(
            f"{word} {text}"
            for word, text in (("got", self.got), ("needed", self.expected))
            if text
        )
        line = f"{self.what}: {middle}." if middle else f"{self.what}."
        return printable(f"{line} {self.hint}".strip(), limit=1000)


class UnsafeInputError(EvidenceError):
    """A file or a path that is broken, or that reaches where it must not."""

    exit_code = 3


class VerificationError(EvidenceError):
    """A run folder that no longer is what it was when it was written."""

    exit_code = 5


class EngineFallback(UserWarning):
    """Work is done elsewhere than was hoped for; why."""


class ResultNotFoundError(KeyError):
    """A result is looked up that is not there; what is there, in plain words."""

    def __str__(self) -> str:
        return str(self.args[0])
