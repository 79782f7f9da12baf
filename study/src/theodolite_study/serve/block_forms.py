"""From fields of a form to answers: one way for each kind of block, with scripts or without."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from theodolite_study.model.blocks import (
    BaseBlock,
    ChoiceBlock,
    RankingBlock,
    RegionsBlock,
    UnfitAnswer,
)
from theodolite_study.model.instrument import fitted
from theodolite_study.model.rules import holds
from theodolite_study.refusals import Invalid

Fields = Mapping[str, Sequence[str]]
BOX_PARTS = ("x", "y", "width", "height")
NUMBERED = 8
"""Boxes that can be given by numbers, without scripts."""


def answers_from(
    blocks: Sequence[BaseBlock], fields: Fields, earlier: Mapping[str, Any]
) -> dict[str, Any]:
    """What somebody answered, in the form in which it is stored; refused in words.

    Fields of blocks that are not shown are left out: without scripts a page shows them all.
    """
    answers: dict[str, Any] = {}
    known = dict(earlier)
    for block in blocks:
        if not holds(block.show_if, known):
            continue
        value = value_from(block, fields)
        if value is not None:
            answers[block.name] = known[block.name] = value
    try:
        return fitted(blocks, answers, earlier)
    except UnfitAnswer as error:
        name = str(error).partition(":")[0]
        raise UnfitForm(error, next((b for b in blocks if b.name == name), None)) from error


class UnfitForm(Invalid):
    """An answer that does not fit its block, which says in each language what it needs."""

    def __init__(self, error: UnfitAnswer, block: BaseBlock | None) -> None:
        super().__init__(str(error))
        self.block = block


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
    drawn = _first(fields, block.name)
    if drawn:
        try:
            shapes = json.loads(drawn)
        except (ValueError, RecursionError):
            return drawn
        if shapes or _first(fields, f"{block.name}_nothing"):
            return shapes
        return None
    typed = [
        {part: _first(fields, f"{block.name}_{part}_{number}") for part in BOX_PARTS}
        for number in range(NUMBERED)
    ]
    boxes = [
        {part: _number(text) for part, text in box.items()} for box in typed if any(box.values())
    ]
    if boxes:
        return boxes
    return [] if _first(fields, f"{block.name}_nothing") else None
