"""Baseline judge that knows a few keywords of each latent and no explanation."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from theodolite.errors import EvidenceError
from theodolite.language.judges.base import JudgeAnswer, JudgeQuestion
from theodolite.language.judges.formula import get_visible_texts

STRONGEST, WORDS = 15, 5


@dataclass(frozen=True)
class KeywordJudge:
    """Judge that answers yes where any of the latent's keywords occurs in the text."""

    words: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """Keywords of each latent."""
    name: str = "keyword"

    @classmethod
    def fitted(
        cls, latent: Sequence[int], token: Sequence[str], value: Sequence[float]
    ) -> "KeywordJudge":
        """Fit on texts that are not asked about: the 5 most frequent tokens among a latent's 15
        strongest activations.

        >>> KeywordJudge.fitted([0, 0, 0, 1], ["cat", "hat", "cat", "."], [2, 3, 1, 1]).words
        {0: ('cat', 'hat'), 1: ('.',)}
        """
        if not len(latent) == len(token) == len(value):
            raise EvidenceError("activations", "columns of unequal length", "equal ones")
        numbers, strength = np.asarray(latent, np.int64), np.asarray(value, float)
        words = {}
        for number in np.unique(numbers):
            rows = np.flatnonzero(numbers == number)
            rows = rows[np.argsort(-strength[rows], kind="stable")][:STRONGEST]
            # a counter gives equals in the order in which they came, the strongest first
            common = Counter(token[int(row)] for row in rows if token[int(row)]).most_common(WORDS)
            words[int(number)] = tuple(word for word, _ in common)
        return cls(words)

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine the answers."""
        return {"words": {str(number): list(words) for number, words in self.words.items()}}

    def __call__(self, questions: Sequence[JudgeQuestion]) -> list[JudgeAnswer]:
        """Return an answer to each question."""
        return [self._answer(question) for question in questions]

    def _answer(self, question: JudgeQuestion) -> JudgeAnswer:
        words = self.words.get(question.latent, ())
        occurs = [any(word in text for word in words) for text in get_visible_texts(question)]
        if question.task != "intruder":
            return JudgeAnswer(tuple(map(float, occurs)))
        without = len(occurs) - sum(occurs) or len(occurs)
        strange = [not there or all(occurs) for there in occurs]
        return JudgeAnswer(tuple(named / without for named in strange))
