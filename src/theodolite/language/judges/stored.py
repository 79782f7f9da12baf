"""A judge whose answers are in a table: reruns, and people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from theodolite.errors import EvidenceError
from theodolite.language.judges.base import JudgeAnswer, JudgeQuestion, digest


@dataclass(frozen=True)
class StoredJudge:
    """Answers by latent, task and the number of a text; what is not in the table has no answer.

    The texts themselves are not looked at.
    """

    answers: Mapping[tuple[int, str, int], float] = field(default_factory=dict)
    name: str = "stored"

    def settings(self) -> dict[str, Any]:
        """All that decides its answers."""
        rows = [[*key, value] for key, value in sorted(self.answers.items())]
        return {"answers": digest(rows)}

    def __call__(self, questions: Sequence[JudgeQuestion]) -> list[JudgeAnswer]:
        """An answer to each."""
        return [self._answer(question) for question in questions]

    def _answer(self, question: JudgeQuestion) -> JudgeAnswer:
        if not question.sequences:
            raise EvidenceError("stored answers", "a question without `sequences`", "their numbers")
        keys = [(question.latent, question.task, number) for number in question.sequences]
        return JudgeAnswer(tuple(self.answers.get(key, float("nan")) for key in keys))
