"""Baseline judges without information: always yes, always no, and a coin."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from theodolite.language.judges.base import JudgeAnswer, JudgeQuestion, digest


def _named_share(question: JudgeQuestion, answer: float) -> tuple[float, ...]:
    n = len(question.texts)
    return ((1 / n if question.task == "intruder" else answer),) * n


@dataclass(frozen=True)
class ConstantJudge:
    """Judge that always answers no or always yes; all texts alike in an intruder round."""

    answer: float = 0.0
    name: str = "constant"

    @classmethod
    def always_no(cls) -> "ConstantJudge":
        """Return a judge that always answers no."""
        return cls(0.0, "always_no")

    @classmethod
    def always_yes(cls) -> "ConstantJudge":
        """Return a judge that always answers yes."""
        return cls(1.0, "always_yes")

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine the answers."""
        return {"answer": self.answer}

    def __call__(self, questions: Sequence[JudgeQuestion]) -> list[JudgeAnswer]:
        """Return an answer to each question."""
        return [JudgeAnswer(_named_share(question, self.answer)) for question in questions]


@dataclass(frozen=True)
class CoinJudge:
    """Judge that answers at random; the same question gets the same answer."""

    seed: int = 0
    name: str = "coin"

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine the answers."""
        return {"seed": self.seed}

    def __call__(self, questions: Sequence[JudgeQuestion]) -> list[JudgeAnswer]:
        """Return an answer to each question."""
        answers = []
        for question in questions:
            bits = int(digest([self.seed, question.content(), question.latent]), 16)
            if question.task == "intruder":
                named = bits % len(question.texts)
                values = tuple(float(i == named) for i in range(len(question.texts)))
            else:
                values = tuple(float(bits >> i & 1) for i in range(len(question.texts)))
            answers.append(JudgeAnswer(values))
        return answers
