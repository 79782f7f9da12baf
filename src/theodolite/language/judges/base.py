"""What a judge is asked and what it answers."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from theodolite.errors import EvidenceError

Task = Literal["detection", "fuzzing", "intruder"]
TASKS: tuple[Task, ...] = ("detection", "fuzzing", "intruder")
MOST_TEXTS = 100
"""Texts of one question."""


@dataclass(frozen=True)
class JudgeQuestion:
    """In which of some texts is a latent active; in which are the marks the right ones; which text
    is the one without it?"""

    texts: tuple[str, ...]
    explanation: str = ""
    """What is said of the latent; nothing in a round of intruders."""
    task: Task = "detection"
    marks: tuple[tuple[tuple[int, int], ...], ...] = ()
    """Of each text, from which character on and up to which it is marked."""
    latent: int = 0
    """The latent that the question is about."""
    explained: int | None = None
    """The latent whose explanation it is, where it is another."""
    sequences: tuple[int, ...] = ()
    """The numbers of the texts; no judge that reads sees them."""
    across: bool = False
    """Whether wrong marks are in texts in which the latent is not active."""
    written_from: tuple[bool, ...] = ()
    """Of each text, whether the explanation was written from it, where that is known."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.texts) <= MOST_TEXTS:
            raise EvidenceError("texts", f"{len(self.texts)}", f"1 to {MOST_TEXTS} a question")
        if self.task not in TASKS:
            raise EvidenceError("task", repr(self.task), f"one of {', '.join(TASKS)}")
        if self.task == "intruder" and len(self.texts) < 2:
            raise EvidenceError("texts", "1", "2 or more in a round of intruders")
        for what, each in (("sequences", self.sequences), ("written_from", self.written_from)):
            if each and len(each) != len(self.texts):
                raise EvidenceError(what, f"{len(each)}", f"{len(self.texts)}, one a text")
        if (self.task == "fuzzing") != bool(self.marks):
            raise EvidenceError("marks", f"{len(self.marks)}", "marks for fuzzing, and only there")
        if self.marks and len(self.marks) != len(self.texts):
            raise EvidenceError("marks", f"of {len(self.marks)} texts", f"{len(self.texts)}")
        for text, spans in zip(self.texts, self.marks, strict=False):
            if any(not 0 <= start < end <= len(text) for start, end in spans):
                raise EvidenceError("marks", f"{spans} of {len(text)} characters", "places in it")

    def content(self) -> dict[str, Any]:
        """What a judge sees; as it is, so that the same question is known again."""
        return {
            "task": self.task,
            "explanation": self.explanation,
            "texts": list(self.texts),
            "marks": [[list(span) for span in spans] for spans in self.marks],
        }


@dataclass(frozen=True)
class JudgeAnswer:
    """A number from 0 (no) to 1 (yes) for each text; NaN where none could be read."""

    values: tuple[float, ...]
    raw: str = ""
    """The judge's words."""
    tokens_in: int = 0
    tokens_out: int = 0

    def __post_init__(self) -> None:
        if any(not (math.isnan(value) or 0 <= value <= 1) for value in self.values):
            raise EvidenceError("answer", f"{self.values}"[:80], "numbers from 0 to 1, or NaN")

    @classmethod
    def unread(cls, question: JudgeQuestion, raw: str = "", **tokens: int) -> "JudgeAnswer":
        """No answer."""
        return cls((math.nan,) * len(question.texts), raw, **tokens)


@runtime_checkable
class Judge(Protocol):
    """Anything that answers questions, in their order."""

    @property
    def name(self) -> str:
        """What it is called in evidence."""
        ...

    def settings(self) -> Mapping[str, Any]:
        """All that decides its answers, and nothing secret: it is part of their key."""
        ...

    def __call__(self, questions: Sequence[JudgeQuestion]) -> Sequence[JudgeAnswer]:
        """An answer to each."""
        ...


def digest(content: Any) -> str:
    """A name for plain content that is the same everywhere."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def question_key(judge: Judge, question: JudgeQuestion, repeat: int = 0) -> str:
    """Under which an answer is remembered: who was asked what, for the how manieth time."""
    return digest(
        {
            "judge": judge.name,
            "settings": dict(judge.settings()),
            "question": question.content(),
            "repeat": repeat,
        }
    )
