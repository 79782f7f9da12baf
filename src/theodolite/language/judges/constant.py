"""Judges that know nothing: the floors of every other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from theodolite.language.judges.base import JudgeAnswer, JudgeQuestion, digest


def _named_share(question: JudgeQuestion, answer: float) -> tuple[float, ...]:
    """In a round of intruders all texts are named alike, or none."""
    n = len(question.texts)
    return ((1 / n if question.task == "intruder" else answer),) * n


@dataclass(frozen=True)
class ConstantJudge:
    """Always no, or always yes; in a round of intruders, all alike."""

    answer: float = 0.0
    name: str = "constant"

    @classmethod
    def always_no(cls) -> "ConstantJudge":
        """Never active."""
        return cls(0.0, "always_no")

    @classmethod
    def always_yes(cls) -> "ConstantJudge":
        """Always active."""
        return cls(1.0, "always_yes")

    def settings(self) -> dict[str, Any]:
        """All that decides its answers."""
        return {"answer": self.answer}

    def __call__(self, questions: Sequence[JudgeQuestion]) -> list[JudgeAnswer]:
        """An answer to each."""
        return [JudgeAnswer(_named_share(question, self.answer)) for question in questions]


@dataclass(frozen=True)
class CoinJudge:
    """Yes or no by chance: the same question gets the same answer."""

    seed: int = 0
    name: str = "coin"

    def settings(self) -> dict[str, Any]:
        """All that decides its answers."""
        return {"seed": self.seed}

    def __call__(self, questions: Sequence[JudgeQuestion]) -> list[JudgeAnswer]:
        """An answer to each."""
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
