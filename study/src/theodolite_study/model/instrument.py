"""Define the instrument of a study: stages of pages of blocks, and the check of answers to them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, model_validator

from theodolite.ext.studies import StrictRecord
from theodolite_study.model.blocks import BaseBlock, Block, InvalidAnswerError, get_names
from theodolite_study.model.rules import MAX_DEPTH, holds, iterate_compared_blocks, measure_depth

Stage: TypeAlias = Literal["door", "about", "before", "after", "end"]
STAGES: tuple[Stage, ...] = ("door", "about", "before", "after", "end")
PARTICIPANT_STAGES: tuple[Stage, ...] = ("door", "about", "end")
"""Stages asked once per participant; the others are asked for each explanation."""
EARLY_STAGES: tuple[Stage, ...] = ("door", "about")
"""Stages whose answers later rules may read."""
MAX_BLOCKS = 200


class InstrumentPage(StrictRecord):
    """Blocks that are shown together."""

    blocks: Annotated[list[Block], Field(min_length=1, max_length=50)]
    shuffle: bool = False
    """Whether the order differs between participants; rules within such a page are refused."""


Pages: TypeAlias = Annotated[list[InstrumentPage], Field(max_length=30)]
OnePage: TypeAlias = Annotated[list[InstrumentPage], Field(min_length=1, max_length=1)]


class Instrument(StrictRecord):
    """All blocks that a version asks. Its JSON is stored with the version."""

    door: Pages = Field(default_factory=list)
    about: Pages = Field(default_factory=list)
    before: OnePage
    after: OnePage
    end: Pages = Field(default_factory=list)

    @model_validator(mode="after")
    def _fits_together(self) -> "Instrument":
        every = [name for stage in STAGES for name in get_names(self.blocks(stage))]
        twice = {name for name in every if every.count(name) > 1}
        if twice:
            raise ValueError(f"block {min(twice)!r} is there twice")
        if len(every) > MAX_BLOCKS:
            raise ValueError(f"{len(every)} blocks: at most {MAX_BLOCKS}")
        if all(block.kind == "note" for block in self.blocks("after")):
            raise ValueError("after an explanation something must be asked")
        for stage in STAGES:
            self._rules_look_back(stage)
        return self

    def _rules_look_back(self, stage: Stage) -> None:
        index = STAGES.index(stage)
        earlier = {name for s in STAGES[:index] if s in EARLY_STAGES
                   for name in get_names(self.blocks(s))}  # fmt: skip
        for page in self.pages(stage):
            on_page = set(get_names(page.blocks)) if page.shuffle else set()
            for block in page.blocks:
                if block.show_if is not None:
                    strange = set(iterate_compared_blocks(block.show_if)) - (earlier - on_page)
                    if strange:
                        raise ValueError(f"{block.name}: {min(strange)!r} is not asked before it")
                    if measure_depth(block.show_if) > MAX_DEPTH:
                        raise ValueError(f"{block.name}: rules are nested deeper than {MAX_DEPTH}")
                earlier.add(block.name)

    def pages(self, stage: Stage) -> list[InstrumentPage]:
        """Return the pages of a stage."""
        pages: list[InstrumentPage] = getattr(self, stage)
        return pages

    def blocks(self, stage: Stage) -> list[Block]:
        """Return all blocks of a stage in their written order."""
        return [block for page in self.pages(stage) for block in page.blocks]

    def stored(self) -> dict[str, Any]:
        """Return the JSON that the database checks and stores."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


def iterate_shown_blocks(
    blocks: Sequence[BaseBlock], answers: Mapping[str, Any], earlier: Mapping[str, Any]
) -> Iterator[BaseBlock]:
    """Yield the blocks that a participant with these answers was shown, in order."""
    known = dict(earlier)
    for block in blocks:
        if not holds(block.show_if, known):
            continue
        yield block
        if block.name in answers:
            known[block.name] = answers[block.name]


def check_answers(
    blocks: Sequence[BaseBlock], answers: Mapping[str, Any], earlier: Mapping[str, Any]
) -> dict[str, Any]:
    """Check the answers of a stage and return them as they are stored.

    Args:
        blocks: The blocks of a stage.
        answers: What came, by name.
        earlier: Answers of the stages `door` and `about`.

    Raises:
        InvalidAnswerError: With the name of the block first, where anything does not fit.
    """
    unknown = answers.keys() - set(get_names(blocks))
    if unknown:
        raise InvalidAnswerError(f"{min(unknown)}: nothing, as it is not asked")
    normal: dict[str, Any] = {}
    known = dict(earlier)
    for block in blocks:
        if not holds(block.show_if, known):
            if block.name in answers:
                raise InvalidAnswerError(f"{block.name}: nothing, as it is not shown")
            continue
        if block.name in answers:
            try:
                normal[block.name] = known[block.name] = block.normal(answers[block.name])
            except InvalidAnswerError as error:
                raise InvalidAnswerError(f"{block.name}: {error}") from error
        elif block.required:
            raise InvalidAnswerError(f"{block.name}: an answer")
    return normal
