"""Kinds of blocks: what each asks, and what counts as an answer."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, model_validator

from theodolite.ext.studies import StrictRecord
from theodolite_study.model.rules import Name, Rule

Key: TypeAlias = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,40}$")]
LARGEST = 1_000_000
"""Of numbers and of places in images."""
LONGEST = 10_000
"""Characters of a text."""
MOST_SHAPES = 100
EXTENT = ("width", "height")
OTHER, TIE = "other", "tie"


class InvalidAnswerError(ValueError):
    """An answer that a block does not take, in words for whoever gave it."""


class BaseBlock(StrictRecord):
    """What all blocks have."""

    name: Name
    required: bool = True
    show_if: Rule | None = None

    def normal(self, value: Any) -> Any:
        """The answer as it is stored, or a refusal."""
        raise NotImplementedError


class LikertBlock(BaseBlock):
    """A statement, rated on a scale."""

    kind: Literal["likert"] = "likert"
    points: Annotated[int, Field(ge=2, le=11)] = 5
    labels: Literal["ends", "all"] = "ends"

    def normal(self, value: Any) -> int:
        """A whole number on the scale."""
        number = whole(value)
        if number is None or not 1 <= number <= self.points:
            raise InvalidAnswerError(f"a number from 1 to {self.points}")
        return number


class ChoiceBlock(BaseBlock):
    """Some of several options."""

    kind: Literal["choice"] = "choice"
    options: Annotated[list[Key], Field(min_length=2, max_length=100)]
    several: bool = False
    least: Annotated[int, Field(ge=0)] = 1
    most: Annotated[int, Field(ge=1)] | None = None
    other: bool = False
    """Whether `other` is an option, with words of one's own."""
    order: Literal["fixed", "random", "half_reversed"] = "fixed"

    @model_validator(mode="after")
    def _options(self) -> "ChoiceBlock":
        if len(set(self.options)) < len(self.options) or OTHER in self.options:
            raise ValueError("options are different, and `other` is none of them")
        return self

    def keys(self) -> list[str]:
        """All keys that can be chosen."""
        return [*self.options, *([OTHER] if self.other else [])]

    def normal(self, value: Any) -> Any:
        """A key or a list of keys in their order, with words where `other` is among them."""
        words = None
        if self.other and isinstance(value, dict):
            if set(value) != {"chosen", OTHER}:
                raise InvalidAnswerError("the choice and words for `other`")
            value, words = value["chosen"], stripped(value[OTHER], 1, 500)
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
    """Words of one's own."""

    kind: Literal["text"] = "text"
    least: Annotated[int, Field(ge=1, le=LONGEST)] = 1
    most: Annotated[int, Field(ge=1, le=LONGEST)] = 2000
    lines: Annotated[int, Field(ge=1, le=40)] = 3

    def normal(self, value: Any) -> str:
        """Without blanks around it."""
        return stripped(value, self.least, self.most)


class CommentBlock(BaseBlock):
    """Words that nobody has to write."""

    kind: Literal["comment"] = "comment"
    required: Literal[False] = False
    most: Annotated[int, Field(ge=1, le=LONGEST)] = 2000

    def normal(self, value: Any) -> str:
        """Without blanks around it."""
        return stripped(value, 1, self.most)


class NumberBlock(BaseBlock):
    """A number that is typed, or set by a slider that has no thumb before it is touched."""

    kind: Literal["number", "slider"] = "number"
    least: Annotated[float, Field(ge=-LARGEST, le=LARGEST)] = 0
    most: Annotated[float, Field(ge=-LARGEST, le=LARGEST)] = 100
    step: Annotated[float, Field(gt=0, le=LARGEST)] = 1

    @model_validator(mode="after")
    def _range(self) -> "NumberBlock":
        if self.least >= self.most:
            raise ValueError("`least` is below `most`")
        return self

    def normal(self, value: Any) -> int | float:
        """A number on the steps; compared as decimal numbers, as 0.1 is no binary one."""
        if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > LARGEST:
            raise InvalidAnswerError(f"a number from {self.least:g} to {self.most:g}")
        if not self.least <= value <= self.most:
            raise InvalidAnswerError(f"a number from {self.least:g} to {self.most:g}")
        if (Decimal(str(value)) - Decimal(str(self.least))) % Decimal(str(self.step)):
            raise InvalidAnswerError(f"a number in steps of {self.step:g}")
        number = whole(value)
        return value if number is None else number


class ComparisonBlock(BaseBlock):
    """Which of the explanations of one image is better."""

    kind: Literal["comparison"] = "comparison"
    of: Annotated[list[Key], Field(min_length=2, max_length=2)]
    tie: bool = False

    @model_validator(mode="after")
    def _two(self) -> "ComparisonBlock":
        if len(set(self.of)) < len(self.of) or TIE in self.of:
            raise ValueError("two different explanations, none of them `tie`")
        return self

    def normal(self, value: Any) -> str:
        """The key of the explanation, not the side it was on."""
        if not isinstance(value, str) or value not in [*self.of, *([TIE] if self.tie else [])]:
            raise InvalidAnswerError("one of both")
        return value


class RankingBlock(BaseBlock):
    """Things that are put in order; the list begins empty."""

    kind: Literal["ranking"] = "ranking"
    items: Annotated[list[Key], Field(min_length=2, max_length=12)]

    @model_validator(mode="after")
    def _items(self) -> "RankingBlock":
        if len(set(self.items)) < len(self.items):
            raise ValueError("items are different")
        return self

    def normal(self, value: Any) -> list[str]:
        """All items, each once."""
        strings = isinstance(value, list) and all(isinstance(item, str) for item in value)
        if not strings or sorted(value) != sorted(self.items):
            raise InvalidAnswerError("every item in its place")
        return list(value)


class RegionsBlock(BaseBlock):
    """Places in an image, marked by boxes or points."""

    kind: Literal["regions"] = "regions"
    shapes: Annotated[tuple[Literal["box", "point"], ...], Field(min_length=1)] = ("box",)
    least: Annotated[int, Field(ge=0, le=MOST_SHAPES)] = 1
    most: Annotated[int, Field(ge=1, le=MOST_SHAPES)] = 20
    nothing: bool = True
    """Whether "there is nothing to mark" is an answer."""

    def normal(self, value: Any) -> list[dict[str, float]]:
        """Boxes and points in pixels; an empty list where nothing is to be marked."""
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
            if not plain or not 0 <= number <= LARGEST or (part in EXTENT and number == 0):
                raise InvalidAnswerError("places inside the image")
        return dict(item)


class NoteBlock(BaseBlock):
    """Something to read."""

    kind: Literal["note"] = "note"
    required: Literal[False] = False

    def normal(self, value: Any) -> Any:
        """Nothing is asked."""
        raise InvalidAnswerError("nothing: this is a note")


Block: TypeAlias = Annotated[
    LikertBlock | ChoiceBlock | TextBlock | CommentBlock | NumberBlock | ComparisonBlock
    | RankingBlock | RegionsBlock | NoteBlock,
    Field(discriminator="kind"),
]  # fmt: skip


def stripped(value: Any, least: int, most: int) -> str:
    """Text without blanks around it and without characters that no database keeps."""
    if not isinstance(value, str):
        raise InvalidAnswerError("words")
    text = value.replace("\x00", "").encode("utf-8", "ignore").decode().strip(BLANKS)
    if not least <= len(text) <= most:
        raise InvalidAnswerError(f"{least} to {most} characters")
    return text


BLANKS = " \t\n\r\f\v"


def whole(value: Any) -> int | None:
    """A number without a fraction as an integer; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value == value // 1 and abs(value) <= LARGEST else None


def names_of(blocks: Sequence[BaseBlock]) -> list[str]:
    """Their names, in order."""
    return [block.name for block in blocks]
