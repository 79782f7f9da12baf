"""Judge whose answers come from a table, for reruns and for people's answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from theodolite.errors import EvidenceError
from theodolite.language.judges.base import JudgeAnswer, JudgeQuestion, digest


@dataclass(frozen=True)
class StoredJudge:
    """Judge that looks up answers by latent, task and number of the text; others are NaN.

    The texts themselves are not looked at.
    """

    answers: Mapping[tuple[int, str, int], float] = field(default_factory=dict)
    name: str = "stored"

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine the answers."""
        rows = [[*key, value] for key, value in sorted(self.answers.items())]
        return {"answers": digest(rows)}

    def __call__(self, questions: Sequence[JudgeQuestion]) -> list[JudgeAnswer]:
        """Return an answer to each question."""
        return [self._answer(question) for question in questions]

    def _answer(self, question: JudgeQuestion) -> JudgeAnswer:
        if not question.sequences:
            raise EvidenceError("stored answers", "a question without `sequences`", "their numbers")
        keys = [(question.latent, question.task, number) for number in question.sequences]
        return JudgeAnswer(tuple(self.answers.get(key, float("nan")) for key in keys))
