"""Parse form fields into answers, for each kind of block, with or without scripts."""

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
N_TYPED_SHAPES = 8
"""Number of boxes or points that can be typed as numbers without scripts."""


class UnfitForm(Invalid):
    """Refusal that lists the blocks whose answers are missing or do not fit."""

    def __init__(self, blocks: Sequence[BaseBlock]) -> None:
        super().__init__("This form has a part that does not fit.")
        self.blocks = tuple(blocks)


def parse_answers(
    blocks: Sequence[BaseBlock], fields: Fields, earlier: Mapping[str, Any],
    size: Size | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Parse and check the answers of a form; return them as they are stored.

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
        value = parse_value(block, fields)
        if value is None and not block.required:
            continue
        try:
            answers[block.name] = block.normal(value)
        except InvalidAnswerError:
            unfit.append(block)
            continue
        if isinstance(block, RegionsBlock) and size and not _is_inside(answers[block.name], size):
            unfit.append(block)
    if unfit:
        raise UnfitForm(unfit)
    return answers


def _is_inside(shapes: Sequence[Mapping[str, float]], size: Size) -> bool:
    """Return whether all marked shapes lie inside of the image, with tolerance for rounding."""
    width, height = size
    return all(
        shape["x"] + shape.get("width", 0) <= width + 0.5
        and shape["y"] + shape.get("height", 0) <= height + 0.5
        for shape in shapes
    )


def parse_value(block: BaseBlock, fields: Fields) -> Any:
    """Parse the fields of one block; None if nothing was answered."""
    if isinstance(block, ChoiceBlock):
        return _parse_choice(block, fields)
    if isinstance(block, RankingBlock):
        return _parse_ranking(block, fields)
    if isinstance(block, RegionsBlock):
        return _parse_regions(block, fields)
    text = _get_first(fields, block.name).strip()
    if not text:
        return None
    if getattr(block, "kind", "") in ("likert", "number", "slider"):
        return _parse_number(text)
    return text


def _get_first(fields: Fields, name: str) -> str:
    values = fields.get(name, ())
    return values[0] if values else ""


def _parse_number(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text  # the block says what it needs


def _parse_choice(block: ChoiceBlock, fields: Fields) -> Any:
    chosen = [value for value in fields.get(block.name, ()) if value]
    if not chosen:
        return None
    value: Any = chosen if block.several else chosen[0]
    words = _get_first(fields, f"{block.name}_other").strip()
    return {"chosen": value, "other": words} if words and "other" in chosen else value


def _parse_ranking(block: RankingBlock, fields: Fields) -> Any:
    """Parse the rank of each item; an untouched list has none."""
    places = {item: _get_first(fields, f"{block.name}.{item}") for item in block.items}
    if not any(places.values()):
        return None
    order = sorted(places, key=lambda item: (places[item] or "99").zfill(2))
    whole = sorted(places.values()) == sorted(str(n + 1) for n in range(len(places)))
    return order if whole else []


def _parse_regions(block: RegionsBlock, fields: Fields) -> Any:
    drawing = _get_first(fields, block.name)
    if drawing:
        try:
            shapes = json.loads(drawing)
        except (ValueError, RecursionError):
            return drawing
        if shapes or _get_first(fields, f"{block.name}_nothing"):
            return shapes
        return None
    typed = [
        {part: _get_first(fields, f"{block.name}_{part}_{number}") for part in BOX_PARTS}
        for number in range(N_TYPED_SHAPES)
    ]
    shapes = [
        {part: _parse_number(text) for part, text in shape.items() if text}
        for shape in typed if any(shape.values())
    ]  # fmt: skip
    if shapes:
        return shapes
    return [] if _get_first(fields, f"{block.name}_nothing") else None
