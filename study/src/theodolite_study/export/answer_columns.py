"""Derive the columns of the exported tables from the blocks of an instrument."""

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
MIN_FREE_TEXT_CHARACTERS = 10
"""Minimum length of a text block that is treated as free text; shorter ones are like a choice, such
as the code of a country."""


@dataclass(frozen=True)
class AnswerColumn:
    """Column with the answers to one block."""

    block: str
    kind: CellKind
    open: bool = False
    """Whether the column contains free text."""
    points: int | None = None
    """Number of points of a scale."""

    @property
    def name(self) -> str:
        """Name in tables, which no other column has."""
        return f"answer_{self.block}" if self.block in RESERVED else self.block


def get_column(block: BaseBlock) -> AnswerColumn:
    """Return the column of a block that asks something."""
    if isinstance(block, LikertBlock):
        return AnswerColumn(block.name, "whole", points=block.points)
    if isinstance(block, NumberBlock):
        return AnswerColumn(block.name, "number")
    if isinstance(block, CommentBlock):
        return AnswerColumn(block.name, "text", open=True)
    if isinstance(block, TextBlock):
        return AnswerColumn(block.name, "text", open=block.most > MIN_FREE_TEXT_CHARACTERS)
    if isinstance(block, ComparisonBlock):
        return AnswerColumn(block.name, "text")
    if isinstance(block, ChoiceBlock) and not block.other:
        return AnswerColumn(block.name, "json" if block.several else "text")
    return AnswerColumn(block.name, "json", open=isinstance(block, ChoiceBlock))


def get_answer_columns(instruments: Iterable[Instrument], stage: Stage) -> list[AnswerColumn]:
    """Return the columns of all versions; a block that changed its kind becomes JSON."""
    columns: dict[str, AnswerColumn] = {}
    for block in _blocks(instruments, stage):
        if block.kind in ("note", "comment"):
            continue
        column = get_column(block)
        known = columns.setdefault(block.name, column)
        if known != column:
            columns[block.name] = AnswerColumn(block.name, "json", known.open or column.open)
    return list(columns.values())


def get_people_columns(instruments: Iterable[Instrument]) -> list[AnswerColumn]:
    """Return the columns of questions about the participants."""
    every = list(instruments)
    return [*get_answer_columns(every, "door"), *get_answer_columns(every, "about")]


def get_comment_blocks(instruments: Iterable[Instrument], stage: Stage) -> list[str]:
    """Return the names of blocks with optional comments."""
    blocks = _blocks(instruments, stage)
    return list(dict.fromkeys(block.name for block in blocks if block.kind == "comment"))


def get_description_block(instruments: Iterable[Instrument]) -> str | None:
    """Return the block in which participants describe what they see."""
    blocks = _blocks(instruments, "before")
    return next((block.name for block in blocks if isinstance(block, TextBlock)), None)


def get_regions_block(instruments: Iterable[Instrument]) -> str | None:
    """Return the block in which participants mark what they see."""
    blocks = _blocks(instruments, "before")
    return next((block.name for block in blocks if isinstance(block, RegionsBlock)), None)


def get_rankings(instruments: Iterable[Instrument], stage: Stage) -> Mapping[str, list[str]]:
    """Return the items of each ranking of a stage."""
    return {b.name: b.items for b in _blocks(instruments, stage) if b.kind == "ranking"}


def _blocks(instruments: Iterable[Instrument], stage: Stage) -> list[Any]:
    return [block for instrument in instruments for block in instrument.blocks(stage)]
