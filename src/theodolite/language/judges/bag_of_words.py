"""Baseline judge that learns words of each latent from texts and ignores the explanation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from theodolite.language.judges.base import JudgeAnswer, JudgeQuestion, digest
from theodolite.language.judges.formula import WORD, get_visible_texts

Learned = tuple[dict[str, float], float]
"""Weight of each word, and the intercept."""


def _counts(text: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for word in WORD.findall(text):
        counts[word.casefold()] = counts.get(word.casefold(), 0) + 1
    return counts


@dataclass(frozen=True)
class BagOfWordsJudge:
    """Logistic regression on word counts, fitted for each latent."""

    weights: Mapping[int, Learned] = field(default_factory=dict)
    name: str = "bag_of_words"

    @classmethod
    def fitted(
        cls, latent: Sequence[int], texts: Sequence[str], active: Sequence[bool]
    ) -> "BagOfWordsJudge":
        """Fit on texts that are not asked about; latents with one class are skipped."""
        from sklearn.feature_extraction import DictVectorizer  # noqa: PLC0415  half a second
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

        numbers, truth = np.asarray(latent, np.int64), np.asarray(active, bool)
        weights: dict[int, Learned] = {}
        for number in np.unique(numbers):
            rows = np.flatnonzero(numbers == number)
            if len(np.unique(truth[rows])) < 2:
                continue
            vectors = DictVectorizer()
            counts = vectors.fit_transform([_counts(texts[int(row)]) for row in rows])
            model = LogisticRegression(max_iter=1000).fit(counts, truth[rows])
            names = vectors.get_feature_names_out().tolist()
            own = dict(zip(names, model.coef_[0].tolist(), strict=True))
            weights[int(number)] = own, float(model.intercept_[0])
        return cls(weights)

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine the answers."""
        return {"weights": self._digest}

    @cached_property
    def _digest(self) -> str:
        """Digest of the weights; cached because every question's key contains it."""
        return digest({str(n): [own, start] for n, (own, start) in self.weights.items()})

    def __call__(self, questions: Sequence[JudgeQuestion]) -> list[JudgeAnswer]:
        """Return an answer to each question."""
        return [self._answer(question) for question in questions]

    def _answer(self, question: JudgeQuestion) -> JudgeAnswer:
        if question.latent not in self.weights:
            return JudgeAnswer.unread(question, "this latent was not learned")
        own, start = self.weights[question.latent]
        odds = [
            start + sum(own.get(word, 0.0) * n for word, n in _counts(text).items())
            for text in get_visible_texts(question)
        ]
        if question.task == "intruder":
            least = [value == min(odds) for value in odds]
            return JudgeAnswer(tuple(named / sum(least) for named in least))
        return JudgeAnswer(tuple(float(1 / (1 + np.exp(-value))) for value in odds))
