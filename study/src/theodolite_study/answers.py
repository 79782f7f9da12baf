"""What people answer: checked once, when it comes in."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast
from uuid import UUID

from theodolite.ext.studies import Box, Check, Instance
from theodolite_study.protocol import Protocol
from theodolite_study.refusals import Invalid

MOST_BOXES = 50
LONGEST_TEXT = 4000


@dataclass(frozen=True)
class Baseline:
    """What somebody sees before the explanation is shown."""

    text: str
    boxes: Sequence[Box] = ()
    client: Mapping[str, Any] = field(default_factory=dict)
    """Size of the window and the like: a picture on a telephone is another picture."""

    def checked(self, width: int, height: int) -> "Baseline":
        """The same, or a refusal: boxes lie inside of the picture."""
        said = storable(self.text).strip()
        if not 1 <= len(said) <= LONGEST_TEXT:
            raise Invalid(f"Please write something, at most {LONGEST_TEXT:,} letters.")
        if len(self.boxes) > MOST_BOXES:
            raise Invalid(f"Please draw at most {MOST_BOXES} frames.")
        for box in self.boxes:
            if box.x + box.width > width + 0.5 or box.y + box.height > height + 0.5:
                raise Invalid("A frame reaches beyond the picture. Please move it.")
        return Baseline(said, tuple(self.boxes), self.client)

    def plain(self) -> list[dict[str, float]]:
        """The boxes, to be stored."""
        return [box.model_dump() for box in self.boxes]

    def digest(self) -> bytes:
        """Equal for equal answers, however they were sent."""
        return _digest({"text": self.text, "boxes": self.plain()})


@dataclass(frozen=True)
class Ratings:
    """Answers to the questions about one explanation."""

    answers: Mapping[str, int]
    key: UUID
    """Made by the page: a second sending of the same form has the same one."""
    durations: Mapping[str, float] = field(default_factory=dict)
    client: Mapping[str, Any] = field(default_factory=dict)

    def checked(self, protocol: Protocol, instance: Instance) -> "Ratings":
        """The same, or a refusal: each question that is asked here, from 1 to 5, no others."""
        asked = questions_of(protocol, instance)
        missing = [name for name in asked if name not in self.answers]
        if missing:
            raise Invalid(f"Please answer question {missing[0][1:]} too.")
        strange = [name for name in self.answers if name not in asked]
        if strange:
            raise Invalid("There is an answer to a question that was not asked.")
        if not all(value in range(1, 6) for value in self.answers.values()):
            raise Invalid("Please answer with 1 to 5.")
        return self

    def digest(self) -> bytes:
        """Equal for equal answers."""
        return _digest(dict(self.answers))


def questions_of(protocol: Protocol, instance: Instance) -> list[str]:
    """Which questions are asked of this instance: without a twin there is none about it."""
    without = {
        name for name, twin in (("q5", instance.same), ("q6", instance.different)) if twin is None
    }
    return [name for name in protocol.questions if name not in without]


def right(check: Check, answers: Mapping[str, int], boxes: Sequence[Box]) -> bool:
    """Whether an item with one right answer was answered so."""
    if any(answers.get(name) != wanted for name, wanted in check.ratings.items()):
        return False
    wanted = check.box
    return wanted is None or any(overlap(wanted, box) >= check.overlap for box in boxes)


def overlap(one: Box, other: Box) -> float:
    """Shared area over joint area.

    >>> one = Box(x=0, y=0, width=2, height=2)
    >>> round(overlap(one, Box(x=1, y=0, width=2, height=2)), 3)
    0.333
    """
    wide = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
    tall = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
    shared = max(wide, 0.0) * max(tall, 0.0)
    return shared / (one.width * one.height + other.width * other.height - shared)


Given = TypeVar("Given")


def storable(given: Given) -> Given:
    """The same without what the database cannot keep: characters that are none, no numbers.

    >>> storable({"a\\x00": ["\\ud800b", float("nan"), 2]})
    {'a': ['b', None, 2]}
    """
    return cast("Given", _storable(given))


def _storable(given: Any) -> Any:
    if isinstance(given, str):
        return given.replace("\x00", "").encode("utf-8", "ignore").decode()
    if isinstance(given, Mapping):
        return {_storable(str(name)): _storable(value) for name, value in given.items()}
    if isinstance(given, (list, tuple)):
        return [_storable(value) for value in given]
    if isinstance(given, float) and not math.isfinite(given):
        return None
    return given


def _digest(content: Mapping[str, Any]) -> bytes:
    plain = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(plain.encode()).digest()
