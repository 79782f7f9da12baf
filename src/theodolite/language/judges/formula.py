"""A judge that takes an explanation as a formula over words: what it should answer is known."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from theodolite.errors import EvidenceError, printable
from theodolite.language.judges.base import JudgeAnswer, JudgeQuestion

TOKEN = re.compile(r"\(|\)|[^\s()]+")
WORD = re.compile(r"\w+|[^\w\s]")
MOST_PARTS = 200
"""Words, operators and brackets of a formula."""
Holds = Callable[[frozenset[str]], bool]


def words_of(text: str) -> frozenset[str]:
    """The distinct words and marks of a text, in lower case.

    >>> sorted(words_of("The cat's HAT."))
    ["'", '.', 'cat', 'hat', 's', 'the']
    """
    return frozenset(word.casefold() for word in WORD.findall(text))


def parsed_formula(text: str) -> Holds:
    """A formula over words: ``cat OR (dog AND NOT puppy)``; AND binds before OR.

    >>> holds = parsed_formula("cat OR (dog AND NOT puppy)")
    >>> holds(frozenset({"dog"})), holds(frozenset({"dog", "puppy"}))
    (True, False)
    """
    parts = TOKEN.findall(text)
    if not 0 < len(parts) <= MOST_PARTS:
        raise EvidenceError("formula", f"{len(parts)} parts", f"1 to {MOST_PARTS}")
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
    """Active where the formula holds; of marks, where it holds of the marked words."""

    name: str = "formula"

    def settings(self) -> dict[str, Any]:
        """Nothing but its name decides its answers."""
        return {}

    def __call__(self, questions: Sequence[JudgeQuestion]) -> list[JudgeAnswer]:
        """An answer to each."""
        return [self._answer(question) for question in questions]

    def _answer(self, question: JudgeQuestion) -> JudgeAnswer:
        if question.task == "intruder":
            return JudgeAnswer.unread(question, "needs an explanation")
        holds = parsed_formula(question.explanation)
        return JudgeAnswer(tuple(float(holds(words_of(text))) for text in seen_texts(question)))


def seen_texts(question: JudgeQuestion) -> list[str]:
    """The texts; of marked ones, what is marked."""
    if not question.marks:
        return list(question.texts)
    return [
        " ".join(text[start:end] for start, end in spans)
        for text, spans in zip(question.texts, question.marks, strict=True)
    ]
