"""Interface of judges: questions, answers and their cache keys."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args, runtime_checkable

from theodolite.errors import EvidenceError

Task = Literal["detection", "fuzzing", "intruder", "explanation"]
TASKS: tuple[Task, ...] = get_args(Task)
MARKED: tuple[Task, ...] = ("fuzzing", "explanation")
ReadAs = Literal["strict", "recovered", "cut", "unread"]
"""How a reply was read: as asked for, out of other text, not because it was cut, or not."""
MAX_TEXTS = 100
"""Largest number of texts in one question."""


@dataclass(frozen=True)
class JudgeQuestion:
    """Question to a judge: in which texts a latent is active (detection), in which the marks are
    right (fuzzing), which text is the intruder, or what the marked words have in common
    (explanation).
    """

    texts: tuple[str, ...]
    explanation: str = ""
    """Explanation of the latent; empty in an intruder round."""
    task: Task = "detection"
    marks: tuple[tuple[tuple[int, int], ...], ...] = ()
    """Marked character ranges of each text."""
    latent: int = 0
    """Latent that the question is about."""
    explained: int | None = None
    """Latent whose explanation is shown, if it is another."""
    sequences: tuple[int, ...] = ()
    """Numbers of the texts; judges that read texts do not see them."""
    across: bool = False
    """Whether wrong marks are in texts in which the latent is inactive."""
    written_from: tuple[bool, ...] = ()
    """Whether the explanation was written from each text, where known."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.texts) <= MAX_TEXTS:
            raise EvidenceError("texts", f"{len(self.texts)}", f"1 to {MAX_TEXTS} a question")
        if self.task not in TASKS:
            raise EvidenceError("task", repr(self.task), f"one of {', '.join(TASKS)}")
        if self.task == "intruder" and len(self.texts) < 2:
            raise EvidenceError("texts", "1", "2 or more in a round of intruders")
        for what, each in (("sequences", self.sequences), ("written_from", self.written_from)):
            if each and len(each) != len(self.texts):
                raise EvidenceError(what, f"{len(each)}", f"{len(self.texts)}, one a text")
        if (self.task in MARKED) != bool(self.marks):
            needed = "marks for fuzzing and explanations, and only there"
            raise EvidenceError("marks", f"{len(self.marks)}", needed)
        if self.marks and len(self.marks) != len(self.texts):
            raise EvidenceError("marks", f"of {len(self.marks)} texts", f"{len(self.texts)}")
        for text, spans in zip(self.texts, self.marks, strict=False):
            if any(not 0 <= start < end <= len(text) for start, end in spans):
                raise EvidenceError("marks", f"{spans} of {len(text)} characters", "places in it")

    def content(self) -> dict[str, Any]:
        """Return what a judge sees; equal content means the same question."""
        return {
            "task": self.task,
            "explanation": self.explanation,
            "texts": list(self.texts),
            "marks": [[list(span) for span in spans] for spans in self.marks],
        }


@dataclass(frozen=True)
class JudgeAnswer:
    """Number from 0 (no) to 1 (yes) for each text; NaN if none could be read."""

    values: tuple[float, ...]
    raw: str = ""
    """Reply of the judge as text."""
    tokens_in: int = 0
    tokens_out: int = 0
    read_as: ReadAs = "strict"

    def __post_init__(self) -> None:
        if any(not (math.isnan(value) or 0 <= value <= 1) for value in self.values):
            raise EvidenceError("answer", f"{self.values}"[:80], "numbers from 0 to 1, or NaN")
        if self.read_as not in get_args(ReadAs):
            raise EvidenceError("read_as", repr(self.read_as), f"one of {get_args(ReadAs)}")

    @classmethod
    def unread(
        cls, question: JudgeQuestion, raw: str = "", *, cut: bool = False, **tokens: int
    ) -> "JudgeAnswer":
        """Return an answer that could not be read, because it was cut or for another reason."""
        values = (math.nan,) * len(question.texts)
        return cls(values, raw, **tokens, read_as="cut" if cut else "unread")


@runtime_checkable
class Judge(Protocol):
    """Interface of a judge: answers questions in their order."""

    @property
    def name(self) -> str:
        """Name of the judge in evidence."""
        ...

    def settings(self) -> Mapping[str, Any]:
        """Return the settings that determine the answers, without secrets; part of cache keys."""
        ...

    def __call__(self, questions: Sequence[JudgeQuestion]) -> Sequence[JudgeAnswer]:
        """Return an answer to each question."""
        ...


def digest(content: Any) -> str:
    """Return a digest of plain content that is the same on every machine."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def question_key(judge: Judge, question: JudgeQuestion, repeat: int = 0) -> str:
    """Return the cache key of an answer: judge, question and repeat."""
    return digest(
        {
            "judge": judge.name,
            "settings": dict(judge.settings()),
            "question": question.content(),
            "repeat": repeat,
        }
    )
