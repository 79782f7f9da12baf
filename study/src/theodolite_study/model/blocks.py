"""Define the kinds of blocks (questions) and check answers to them. Used by all pages and
exports."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, model_validator

from theodolite.ext.studies import StrictRecord
from theodolite_study.model.rules import Name, Rule

Key: TypeAlias = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,40}$")]
MAX_NUMBER = 1_000_000
"""Largest number and image coordinate that an answer may have."""
MAX_TEXT_CHARACTERS = 10_000
"""Maximum number of characters of a text answer."""
MAX_SHAPES = 100
EXTENT = ("width", "height")
OTHER, TIE = "other", "tie"


class InvalidAnswerError(ValueError):
    """Answer that a block does not accept, worded for the participant."""


class BaseBlock(StrictRecord):
    """Fields that all kinds of blocks share."""

    name: Name
    required: bool = True
    show_if: Rule | None = None

    def normal(self, value: Any) -> Any:
        """Return the answer as it is stored, or raise `InvalidAnswerError`."""
        raise NotImplementedError


class LikertBlock(BaseBlock):
    """Statement that is rated on a scale."""

    kind: Literal["likert"] = "likert"
    points: Annotated[int, Field(ge=2, le=11)] = 5
    labels: Literal["ends", "all"] = "ends"

    def normal(self, value: Any) -> int:
        """Return a whole number on the scale."""
        number = to_integer(value)
        if number is None or not 1 <= number <= self.points:
            raise InvalidAnswerError(f"a number from 1 to {self.points}")
        return number


class ChoiceBlock(BaseBlock):
    """Choice of one or several options."""

    kind: Literal["choice"] = "choice"
    options: Annotated[list[Key], Field(min_length=2, max_length=100)]
    several: bool = False
    least: Annotated[int, Field(ge=0)] = 1
    most: Annotated[int, Field(ge=1)] | None = None
    other: bool = False
    """Whether `other` is an option, with a text of the participant."""
    order: Literal["fixed", "random", "half_reversed"] = "fixed"

    @model_validator(mode="after")
    def _options(self) -> "ChoiceBlock":
        if len(set(self.options)) < len(self.options) or OTHER in self.options:
            raise ValueError("options are different, and `other` is none of them")
        return self

    def keys(self) -> list[str]:
        """Return all keys that can be chosen."""
        return [*self.options, *([OTHER] if self.other else [])]

    def normal(self, value: Any) -> Any:
        """Return a key or an ordered list of keys, with the text of `other` if chosen."""
        words = None
        if self.other and isinstance(value, dict):
            if set(value) != {"chosen", OTHER}:
                raise InvalidAnswerError("the choice and words for `other`")
            value, words = value["chosen"], clean_text(value[OTHER], 1, 500)
        keys = self._several(value) if self.several else [self._key(value)]
        if (OTHER in keys) != (words is not None):
            raise InvalidAnswerError("words where `other` is chosen, and only there")
        chosen = keys if self.several else keys[0]
        return chosen if words is None else {"chosen": chosen, OTHER: words}

    def _key(self, value: Any) -> str:
        if not isinstance(value, str) or value not in self.keys():
            raise InvalidAnswerError("one of the options")
        return value

    def _several(self, value: Any) -> list[str]:
        if not isinstance(value, list) or len(set(map(str, value))) < len(value):
            raise InvalidAnswerError("a list of different options")
        chosen = {self._key(item) for item in value}
        most = self.most or len(self.keys())
        if not self.least <= len(chosen) <= most:
            raise InvalidAnswerError(f"{self.least} to {most} options")
        return [key for key in self.keys() if key in chosen]


class TextBlock(BaseBlock):
    """Required free text."""

    kind: Literal["text"] = "text"
    least: Annotated[int, Field(ge=1, le=MAX_TEXT_CHARACTERS)] = 1
    most: Annotated[int, Field(ge=1, le=MAX_TEXT_CHARACTERS)] = 2000
    lines: Annotated[int, Field(ge=1, le=40)] = 3

    def normal(self, value: Any) -> str:
        """Return the text without surrounding blanks."""
        return clean_text(value, self.least, self.most)


class CommentBlock(BaseBlock):
    """Optional free text."""

    kind: Literal["comment"] = "comment"
    required: Literal[False] = False
    most: Annotated[int, Field(ge=1, le=MAX_TEXT_CHARACTERS)] = 2000

    def normal(self, value: Any) -> str:
        """Return the text without surrounding blanks."""
        return clean_text(value, 1, self.most)


class NumberBlock(BaseBlock):
    """Number that is typed, or set by a slider whose thumb appears on the first touch."""

    kind: Literal["number", "slider"] = "number"
    least: Annotated[float, Field(ge=-MAX_NUMBER, le=MAX_NUMBER)] = 0
    most: Annotated[float, Field(ge=-MAX_NUMBER, le=MAX_NUMBER)] = 100
    step: Annotated[float, Field(gt=0, le=MAX_NUMBER)] = 1

    @model_validator(mode="after")
    def _range(self) -> "NumberBlock":
        if self.least >= self.most:
            raise ValueError("`least` is below `most`")
        return self

    def normal(self, value: Any) -> int | float:
        """Return a number on the steps, compared as decimals since 0.1 is not binary."""
        if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > MAX_NUMBER:
            raise InvalidAnswerError(f"a number from {self.least:g} to {self.most:g}")
        if not self.least <= value <= self.most:
            raise InvalidAnswerError(f"a number from {self.least:g} to {self.most:g}")
        if (Decimal(str(value)) - Decimal(str(self.least))) % Decimal(str(self.step)):
            raise InvalidAnswerError(f"a number in steps of {self.step:g}")
        number = to_integer(value)
        return value if number is None else number


class ComparisonBlock(BaseBlock):
    """Choice of the better of two explanations of one image."""

    kind: Literal["comparison"] = "comparison"
    of: Annotated[list[Key], Field(min_length=2, max_length=2)]
    tie: bool = False

    @model_validator(mode="after")
    def _two(self) -> "ComparisonBlock":
        if len(set(self.of)) < len(self.of) or TIE in self.of:
            raise ValueError("two different explanations, none of them `tie`")
        return self

    def normal(self, value: Any) -> str:
        """Return the key of the chosen explanation, not the side that showed it."""
        if not isinstance(value, str) or value not in [*self.of, *([TIE] if self.tie else [])]:
            raise InvalidAnswerError("one of both")
        return value


class RankingBlock(BaseBlock):
    """Items that are put in order; the list begins empty."""

    kind: Literal["ranking"] = "ranking"
    items: Annotated[list[Key], Field(min_length=2, max_length=12)]

    @model_validator(mode="after")
    def _items(self) -> "RankingBlock":
        if len(set(self.items)) < len(self.items):
            raise ValueError("items are different")
        return self

    def normal(self, value: Any) -> list[str]:
        """Return all items in their order, each once."""
        strings = isinstance(value, list) and all(isinstance(item, str) for item in value)
        if not strings or sorted(value) != sorted(self.items):
            raise InvalidAnswerError("every item in its place")
        return list(value)


class RegionsBlock(BaseBlock):
    """Regions of an image that are marked by boxes or points."""

    kind: Literal["regions"] = "regions"
    shapes: Annotated[tuple[Literal["box", "point"], ...], Field(min_length=1)] = ("box",)
    least: Annotated[int, Field(ge=0, le=MAX_SHAPES)] = 1
    most: Annotated[int, Field(ge=1, le=MAX_SHAPES)] = 20
    nothing: bool = True
    """Whether "there is nothing to mark" is an answer."""

    def normal(self, value: Any) -> list[dict[str, float]]:
        """Return boxes and points in pixels; an empty list if nothing is marked."""
        if not isinstance(value, list):
            raise InvalidAnswerError("a list of places")
        if not value and self.nothing:
            return []
        if not max(self.least, 1) <= len(value) <= self.most:
            raise InvalidAnswerError(f"{max(self.least, 1)} to {self.most} places")
        return [self._shape(item) for item in value]

    def _shape(self, item: Any) -> dict[str, float]:
        box = isinstance(item, dict) and set(item) == {"x", "y", "width", "height"}
        point = isinstance(item, dict) and set(item) == {"x", "y"}
        if not (box and "box" in self.shapes) and not (point and "point" in self.shapes):
            raise InvalidAnswerError("boxes or points")
        for part, number in item.items():
            plain = isinstance(number, int | float) and not isinstance(number, bool)
            if not plain or not 0 <= number <= MAX_NUMBER or (part in EXTENT and number == 0):
                raise InvalidAnswerError("places inside the image")
        return dict(item)


class NoteBlock(BaseBlock):
    """Text to read that asks nothing."""

    kind: Literal["note"] = "note"
    required: Literal[False] = False

    def normal(self, value: Any) -> Any:
        """Refuse any answer, since a note asks nothing."""
        raise InvalidAnswerError("nothing: this is a note")


Block: TypeAlias = Annotated[
    LikertBlock | ChoiceBlock | TextBlock | CommentBlock | NumberBlock | ComparisonBlock
    | RankingBlock | RegionsBlock | NoteBlock,
    Field(discriminator="kind"),
]  # fmt: skip


def clean_text(value: Any, least: int, most: int) -> str:
    """Strip a text and remove characters that the database cannot store."""
    if not isinstance(value, str):
        raise InvalidAnswerError("words")
    text = value.replace("\x00", "").encode("utf-8", "ignore").decode().strip(BLANKS)
    if not least <= len(text) <= most:
        raise InvalidAnswerError(f"{least} to {most} characters")
    return text


BLANKS = " \t\n\r\f\v"


def to_integer(value: Any) -> int | None:
    """Return a number without a fraction as an integer; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value == value // 1 and abs(value) <= MAX_NUMBER else None


def get_names(blocks: Sequence[BaseBlock]) -> list[str]:
    """Return the names of blocks in order."""
    return [block.name for block in blocks]
