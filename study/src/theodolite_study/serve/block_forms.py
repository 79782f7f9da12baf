"""From fields of a form to answers: one way for each kind of block, with scripts or without."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from theodolite_study.model.blocks import (
    BaseBlock,
    ChoiceBlock,
    InvalidAnswerError,
    RankingBlock,
    RegionsBlock,
)
from theodolite_study.model.rules import holds
from theodolite_study.refusals import Invalid

Fields = Mapping[str, Sequence[str]]
Size = tuple[float, float]
BOX_PARTS = ("x", "y", "width", "height")
NUMBERED = 8
"""Boxes and points that can be given by numbers, without scripts."""


class UnfitForm(Invalid):
    """Blocks whose answers are missing or do not fit; each says in words what it needs."""

    def __init__(self, blocks: Sequence[BaseBlock]) -> None:
        super().__init__("This form has a part that does not fit.")
        self.blocks = tuple(blocks)


def answers_from(
    blocks: Sequence[BaseBlock], fields: Fields, earlier: Mapping[str, Any],
    size: Size | None = None,
) -> dict[str, Any]:  # fmt: skip
    """What somebody answered, in the form in which it is stored; refused in words.

    Fields of blocks that are not shown are left out: without scripts a page shows them all.

    Args:
        blocks: The blocks of a stage.
        fields: What came.
        earlier: Answers of the stages `door` and `about`.
        size: Width and height of the image in which places are marked.

    Raises:
        UnfitForm: With all blocks that do not fit.
    """
    answers: dict[str, Any] = {}
    unfit = []
    for block in blocks:
        if not holds(block.show_if, {**earlier, **answers}):
            continue
        value = value_from(block, fields)
        if value is None and not block.required:
            continue
        try:
            answers[block.name] = block.normal(value)
        except InvalidAnswerError:
            unfit.append(block)
            continue
        if isinstance(block, RegionsBlock) and size and not _inside(answers[block.name], size):
            unfit.append(block)
    if unfit:
        raise UnfitForm(unfit)
    return answers


def _inside(shapes: Sequence[Mapping[str, float]], size: Size) -> bool:
    """Whether places that were marked lie inside of the image; a rounded edge may touch it."""
    width, height = size
    return all(
        shape["x"] + shape.get("width", 0) <= width + 0.5
        and shape["y"] + shape.get("height", 0) <= height + 0.5
        for shape in shapes
    )


def value_from(block: BaseBlock, fields: Fields) -> Any:
    """What the fields of one block say; None where nothing was answered."""
    if isinstance(block, ChoiceBlock):
        return _choice(block, fields)
    if isinstance(block, RankingBlock):
        return _ranking(block, fields)
    if isinstance(block, RegionsBlock):
        return _regions(block, fields)
    text = _first(fields, block.name).strip()
    if not text:
        return None
    if getattr(block, "kind", "") in ("likert", "number", "slider"):
        return _number(text)
    return text


def _first(fields: Fields, name: str) -> str:
    values = fields.get(name, ())
    return values[0] if values else ""


def _number(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text  # the block says what it needs


def _choice(block: ChoiceBlock, fields: Fields) -> Any:
    chosen = [value for value in fields.get(block.name, ()) if value]
    if not chosen:
        return None
    value: Any = chosen if block.several else chosen[0]
    words = _first(fields, f"{block.name}_other").strip()
    return {"chosen": value, "other": words} if words and "other" in chosen else value


def _ranking(block: RankingBlock, fields: Fields) -> Any:
    """A place for each item; a list that nobody touched has none."""
    places = {item: _first(fields, f"{block.name}.{item}") for item in block.items}
    if not any(places.values()):
        return None
    order = sorted(places, key=lambda item: (places[item] or "99").zfill(2))
    whole = sorted(places.values()) == sorted(str(n + 1) for n in range(len(places)))
    return order if whole else []


def _regions(block: RegionsBlock, fields: Fields) -> Any:
    drawing = _first(fields, block.name)
    if drawing:
        try:
            shapes = json.loads(drawing)
        except (ValueError, RecursionError):
            return drawing
        if shapes or _first(fields, f"{block.name}_nothing"):
            return shapes
        return None
    typed = [
        {part: _first(fields, f"{block.name}_{part}_{number}") for part in BOX_PARTS}
        for number in range(NUMBERED)
    ]
    shapes = [
        {part: _number(text) for part, text in shape.items() if text}
        for shape in typed if any(shape.values())
    ]  # fmt: skip
    if shapes:
        return shapes
    return [] if _first(fields, f"{block.name}_nothing") else None
