"""Edits of an instrument: each takes one and gives a new one, or refuses in words."""

import copy
from collections.abc import Callable
from typing import Any, TypeAlias, get_args

from pydantic import ValidationError

from theodolite_study.model.blocks import BaseBlock, Block
from theodolite_study.model.instrument import OF_PEOPLE, STAGES, Instrument, Stage
from theodolite_study.refusals import Invalid, NotHere

Stored: TypeAlias = dict[str, Any]
"""An instrument as JSON."""
FIRST_SETTINGS: dict[str, Stored] = {
    "choice": {"options": ["yes", "no"]},
    "comparison": {"of": ["shown", "same"]},
    "ranking": {"items": ["first", "second", "third"]},
}
"""Of a new block, where its kind has no default."""


def block_kinds() -> dict[str, type[BaseBlock]]:
    """Kinds of blocks and their models, in the order in which they are offered."""
    models = get_args(get_args(Block)[0])
    return {kind: model for model in models
            for kind in get_args(model.model_fields["kind"].annotation)}  # fmt: skip


def checked_instrument(stored: Stored) -> Instrument:
    """An instrument that fits together, or a refusal with the first thing that does not."""
    try:
        return Instrument.model_validate(stored)
    except ValidationError as error:
        raise Invalid(first_words(error)) from error


def first_words(error: ValidationError) -> str:
    """The first thing that does not fit, and where."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    message = str(first["msg"]).removeprefix("Value error, ")
    return f"{place}: {message}" if place else message


def _edited(instrument: Instrument, edit: Callable[[Stored], None]) -> Instrument:
    stored = copy.deepcopy(instrument.stored())
    edit(stored)
    for stage in OF_PEOPLE:
        stored[stage] = [page for page in stored[stage] if page["blocks"]]
    for stage in ("before", "after"):
        if not stored[stage][0]["blocks"]:
            raise Invalid(f"The stage “{stage}” needs at least one block.")
    return checked_instrument(stored)


def place_of(stored: Stored, name: str) -> tuple[Stage, int, int]:
    """Stage, page and place of a block."""
    for stage in STAGES:
        for number, page in enumerate(stored[stage]):
            for place, block in enumerate(page["blocks"]):
                if block["name"] == name:
                    return stage, number, place
    raise NotHere


def block_of(instrument: Instrument, name: str) -> BaseBlock:
    """The block of a name."""
    for stage in STAGES:
        for block in instrument.blocks(stage):
            if block.name == name:
                return block
    raise NotHere


def free_name(stored: Stored, base_name: str) -> str:
    """A name that no block has: the base name, or with a number behind it."""
    names = {b["name"] for stage in STAGES for page in stored[stage] for b in page["blocks"]}
    stem = base_name[:36]
    numbered = (f"{stem}_{number}" for number in range(2, len(names) + 3))
    return next(name for name in (stem, *numbered) if name not in names)


def add_block(instrument: Instrument, stage: Stage, kind: str) -> tuple[Instrument, str]:
    """A new block at the end of a stage; the instrument and the name of the block."""
    if kind not in block_kinds() or stage not in STAGES:
        raise Invalid(f"There is no block of the kind “{kind}” in “{stage}”.")
    name = free_name(instrument.stored(), kind)

    def edit(stored: Stored) -> None:
        block = {"name": name, "kind": kind, **FIRST_SETTINGS.get(kind, {})}
        if not stored[stage]:
            stored[stage].append({"blocks": []})
        stored[stage][-1]["blocks"].append(block)

    return _edited(instrument, edit), name


def copy_block(instrument: Instrument, name: str) -> tuple[Instrument, str]:
    """The same block once more, behind the first, under a name of its own."""
    new_name = free_name(instrument.stored(), name)

    def edit(stored: Stored) -> None:
        stage, page, place = place_of(stored, name)
        blocks = stored[stage][page]["blocks"]
        blocks.insert(place + 1, blocks[place] | {"name": new_name})

    return _edited(instrument, edit), new_name


def delete_block(instrument: Instrument, name: str) -> Instrument:
    """Without a block; refused where a rule of another looks at it."""

    def edit(stored: Stored) -> None:
        stage, page, place = place_of(stored, name)
        del stored[stage][page]["blocks"][place]

    return _edited(instrument, edit)


def move_block(instrument: Instrument, name: str, by: int) -> Instrument:
    """One place up (-1) or down (1), over the border of a page where there is one."""

    def edit(stored: Stored) -> None:
        stage, page, place = place_of(stored, name)
        pages = stored[stage]
        blocks = pages[page]["blocks"]
        if 0 <= place + by < len(blocks):
            blocks.insert(place + by, blocks.pop(place))
        elif 0 <= page + by < len(pages):
            other = pages[page + by]["blocks"]
            other.insert(len(other) if by < 0 else 0, blocks.pop(place))
        else:
            raise Invalid("It is at the end of its stage already.")

    return _edited(instrument, edit)


def begin_page(instrument: Instrument, name: str) -> Instrument:
    """A new page begins with this block; if one does already, it joins the page before."""

    def edit(stored: Stored) -> None:
        stage, page, place = place_of(stored, name)
        pages = stored[stage]
        if stage not in OF_PEOPLE:
            raise Invalid(f"The stage “{stage}” is one page.")
        blocks = pages[page]["blocks"]
        if place:
            pages.insert(page + 1, pages[page] | {"blocks": blocks[place:]})
            pages[page]["blocks"] = blocks[:place]
        elif page:
            pages[page - 1]["blocks"] += pages.pop(page)["blocks"]

    return _edited(instrument, edit)


def shuffle_page(instrument: Instrument, stage: Stage, page: int, *, shuffle: bool) -> Instrument:
    """Whether everybody sees the blocks of a page in another order."""

    def edit(stored: Stored) -> None:
        if stage not in STAGES or not 0 <= page < len(stored[stage]):
            raise NotHere
        stored[stage][page]["shuffle"] = shuffle

    return _edited(instrument, edit)


def replace_block(instrument: Instrument, name: str, block: BaseBlock) -> Instrument:
    """A block with other settings. Under a new name, the rules that look at it follow."""

    def edit(stored: Stored) -> None:
        stage, page, place = place_of(stored, name)
        stored[stage][page]["blocks"][place] = block.model_dump(
            mode="json", by_alias=True, exclude_none=True
        )
        if block.name != name:
            for pages in stored.values():
                for stored_block in (b for p in pages for b in p["blocks"]):
                    stored_block["show_if"] = _renamed(
                        stored_block.get("show_if"), name, block.name
                    )

    return _edited(instrument, edit)


def _renamed(rule: Any, old: str, new: str) -> Any:
    if isinstance(rule, list):
        return [_renamed(part, old, new) for part in rule]
    if not isinstance(rule, dict):
        return rule
    changed = {k: _renamed(v, old, new) if k in ("all", "any", "not") else v
               for k, v in rule.items()}  # fmt: skip
    return changed | {"block": new} if changed.get("block") == old else changed


def renamed_texts(
    texts: dict[tuple[str, str], str], old: str, new: str
) -> dict[tuple[str, str], str]:
    """Texts by key and language, those of a block under its new name."""
    return {
        (new + key[len(old) :] if key.startswith(f"{old}.") else key, language): body
        for (key, language), body in texts.items()
    }
