"""Test judge that evaluates an explanation as a formula over words, so its answers are known."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from theodolite.errors import EvidenceError, printable
from theodolite.language.judges.base import JudgeAnswer, JudgeQuestion

TOKEN = re.compile(r"\(|\)|[^\s()]+")
WORD = re.compile(r"\w+|[^\w\s]")
MAX_FORMULA_PARTS = 200
"""Largest number of words, operators and brackets of a formula."""
Holds = Callable[[frozenset[str]], bool]


def split_words(text: str) -> frozenset[str]:
    """Return the distinct words and marks of a text, in lower case.

    >>> sorted(split_words("The cat's HAT."))
    ["'", '.', 'cat', 'hat', 's', 'the']
    """
    return frozenset(word.casefold() for word in WORD.findall(text))


def parse_formula(text: str) -> Holds:
    """Parse a formula over words: ``cat OR (dog AND NOT puppy)``; AND binds before OR.

    >>> holds = parse_formula("cat OR (dog AND NOT puppy)")
    >>> holds(frozenset({"dog"})), holds(frozenset({"dog", "puppy"}))
    (True, False)
    """
    parts = TOKEN.findall(text)
    if not 0 < len(parts) <= MAX_FORMULA_PARTS:
        raise EvidenceError("formula", f"{len(parts)} parts", f"1 to {MAX_FORMULA_PARTS}")
    holds, left = _either(parts)
    if left:
        raise _broken(text)
    return holds


def _broken(text: str) -> EvidenceError:
    return EvidenceError(
        "formula", printable(text, 80), "words with AND, OR, NOT and brackets", "Write it so."
    )


def _either(parts: list[str]) -> tuple[Holds, list[str]]:
    first, left = _both(parts)
    while left and left[0] == "OR":
        second, left = _both(left[1:])
        first = _any_of(first, second)
    return first, left


def _both(parts: list[str]) -> tuple[Holds, list[str]]:
    first, left = _single(parts)
    while left and left[0] == "AND":
        second, left = _single(left[1:])
        first = _all_of(first, second)
    return first, left


def _single(parts: list[str]) -> tuple[Holds, list[str]]:
    if not parts or parts[0] in ("AND", "OR", ")"):
        raise _broken(" ".join(parts))
    if parts[0] == "NOT":
        inside, left = _single(parts[1:])
        return (lambda words: not inside(words)), left
    if parts[0] == "(":
        inside, left = _either(parts[1:])
        if left[:1] != [")"]:
            raise _broken(" ".join(parts))
        return inside, left[1:]
    word = parts[0].casefold()
    return (lambda words: word in words), parts[1:]


def _any_of(first: Holds, second: Holds) -> Holds:
    return lambda words: first(words) or second(words)


def _all_of(first: Holds, second: Holds) -> Holds:
    return lambda words: first(words) and second(words)


@dataclass(frozen=True)
class FormulaJudge:
    """Judge that answers yes where the formula holds; for marks, where it holds for marked
    words.
    """

    name: str = "formula"

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine the answers: none."""
        return {}

    def __call__(self, questions: Sequence[JudgeQuestion]) -> list[JudgeAnswer]:
        """Return an answer to each question."""
        return [self._answer(question) for question in questions]

    def _answer(self, question: JudgeQuestion) -> JudgeAnswer:
        if question.task == "intruder":
            return JudgeAnswer.unread(question, "needs an explanation")
        holds = parse_formula(question.explanation)
        return JudgeAnswer(
            tuple(float(holds(split_words(text))) for text in get_visible_texts(question))
        )


def get_visible_texts(question: JudgeQuestion) -> list[str]:
    """Return the texts; for marked texts, the marked parts."""
    if not question.marks:
        return list(question.texts)
    return [
        " ".join(text[start:end] for start, end in spans)
        for text, spans in zip(question.texts, question.marks, strict=True)
    ]
