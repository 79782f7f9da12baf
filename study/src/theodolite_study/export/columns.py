"""What the blocks of an instrument become in tables: a column each, of the kind of its answers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from theodolite_study.model.blocks import (
    BaseBlock,
    ChoiceBlock,
    CommentBlock,
    ComparisonBlock,
    LikertBlock,
    NumberBlock,
    RegionsBlock,
    TextBlock,
)
from theodolite_study.model.instrument import Instrument, Stage

CellKind = Literal["text", "whole", "number", "flag", "json"]
RESERVED = {
    "instance", "technique", "image_key", "participant", "counted", "position", "version",
    "image_exposure_index", "seconds_before", "seconds_after", "at_order", "language", "condition",
    "consent_sha256", "visible_before", "visible_after", "viewport", "pointer", "pasted", "moves",
    "shown_before", "shown_after", "kind", "attempt", "passed", "text", "copied",
    "state", "outcome", "votes", "surplus_votes", "checks", "checks_passed", "practice_items",
    "most_of_a_image",
}  # fmt: skip
SHORTEST_TEXT = 10
"""Characters of a text that is as good as a choice, such as the code of a country."""


@dataclass(frozen=True)
class AnswerColumn:
    """The answers to one block."""

    block: str
    kind: CellKind
    open: bool = False
    """Whether people write what they like."""
    points: int | None = None
    """Of a scale."""

    @property
    def name(self) -> str:
        """In tables; never that of another column."""
        return f"answer_{self.block}" if self.block in RESERVED else self.block


def column_of(block: BaseBlock) -> AnswerColumn:
    """The column of a block that asks something."""
    if isinstance(block, LikertBlock):
        return AnswerColumn(block.name, "whole", points=block.points)
    if isinstance(block, NumberBlock):
        return AnswerColumn(block.name, "number")
    if isinstance(block, CommentBlock):
        return AnswerColumn(block.name, "text", open=True)
    if isinstance(block, TextBlock):
        return AnswerColumn(block.name, "text", open=block.most > SHORTEST_TEXT)
    if isinstance(block, ComparisonBlock):
        return AnswerColumn(block.name, "text")
    if isinstance(block, ChoiceBlock) and not block.other:
        return AnswerColumn(block.name, "json" if block.several else "text")
    return AnswerColumn(block.name, "json", open=isinstance(block, ChoiceBlock))


def answer_columns(instruments: Iterable[Instrument], stage: Stage) -> list[AnswerColumn]:
    """Of all versions together: a block that changed its kind is told as JSON."""
    columns: dict[str, AnswerColumn] = {}
    for block in _blocks(instruments, stage):
        if block.kind in ("note", "comment"):
            continue
        column = column_of(block)
        known = columns.setdefault(block.name, column)
        if known != column:
            columns[block.name] = AnswerColumn(block.name, "json", known.open or column.open)
    return list(columns.values())


def people_columns(instruments: Iterable[Instrument]) -> list[AnswerColumn]:
    """What people are asked about themselves."""
    every = list(instruments)
    return [*answer_columns(every, "door"), *answer_columns(every, "about")]


def comment_blocks(instruments: Iterable[Instrument], stage: Stage) -> list[str]:
    """Names of blocks for words that nobody has to write."""
    blocks = _blocks(instruments, stage)
    return list(dict.fromkeys(block.name for block in blocks if block.kind == "comment"))


def first_words(instruments: Iterable[Instrument]) -> str | None:
    """The block in which people say in their words what they see."""
    blocks = _blocks(instruments, "before")
    return next((block.name for block in blocks if isinstance(block, TextBlock)), None)


def first_regions(instruments: Iterable[Instrument]) -> str | None:
    """The block in which people frame it."""
    blocks = _blocks(instruments, "before")
    return next((block.name for block in blocks if isinstance(block, RegionsBlock)), None)


def rankings(instruments: Iterable[Instrument], stage: Stage) -> Mapping[str, list[str]]:
    """Items of each ranking of a stage."""
    return {b.name: b.items for b in _blocks(instruments, stage) if b.kind == "ranking"}


def _blocks(instruments: Iterable[Instrument], stage: Stage) -> list[Any]:
    return [block for instrument in instruments for block in instrument.blocks(stage)]
