"""Edit an instrument: each function returns a new one, or refuses with a message."""

import copy
from collections.abc import Callable
from typing import Any, TypeAlias, get_args

from pydantic import ValidationError

from theodolite_study.model.blocks import BaseBlock, Block
from theodolite_study.model.instrument import PARTICIPANT_STAGES, STAGES, Instrument, Stage
from theodolite_study.refusals import Invalid, NotHere

Stored: TypeAlias = dict[str, Any]
"""An instrument as JSON."""
DEFAULT_SETTINGS: dict[str, Stored] = {
    "choice": {"options": ["yes", "no"]},
    "comparison": {"of": ["shown", "same"]},
    "ranking": {"items": ["first", "second", "third"]},
}
"""Settings of a new block whose kind has no defaults."""


def get_block_kinds() -> dict[str, type[BaseBlock]]:
    """Return the models of the kinds of blocks, in the order of the menu."""
    models = get_args(get_args(Block)[0])
    return {kind: model for model in models
            for kind in get_args(model.model_fields["kind"].annotation)}  # fmt: skip


def validate_instrument(stored: Stored) -> Instrument:
    """Validate an instrument, or refuse with the first problem."""
    try:
        return Instrument.model_validate(stored)
    except ValidationError as error:
        raise Invalid(describe_first_problem(error)) from error


def describe_first_problem(error: ValidationError) -> str:
    """Describe the first problem of a validation error, and its location."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    message = str(first["msg"]).removeprefix("Value error, ")
    return f"{place}: {message}" if place else message


def _edited(instrument: Instrument, edit: Callable[[Stored], None]) -> Instrument:
    stored = copy.deepcopy(instrument.stored())
    edit(stored)
    for stage in PARTICIPANT_STAGES:
        stored[stage] = [page for page in stored[stage] if page["blocks"]]
    for stage in ("before", "after"):
        if not stored[stage][0]["blocks"]:
            raise Invalid(f"The stage “{stage}” needs at least one block.")
    return validate_instrument(stored)


def locate_block(stored: Stored, name: str) -> tuple[Stage, int, int]:
    """Return stage, page and position of a block."""
    for stage in STAGES:
        for number, page in enumerate(stored[stage]):
            for place, block in enumerate(page["blocks"]):
                if block["name"] == name:
                    return stage, number, place
    raise NotHere


def get_block(instrument: Instrument, name: str) -> BaseBlock:
    """Return the block of a name."""
    for stage in STAGES:
        for block in instrument.blocks(stage):
            if block.name == name:
                return block
    raise NotHere


def find_free_name(stored: Stored, base_name: str) -> str:
    """Return an unused block name: the base name, or with a number."""
    names = {b["name"] for stage in STAGES for page in stored[stage] for b in page["blocks"]}
    stem = base_name[:36]
    numbered = (f"{stem}_{number}" for number in range(2, len(names) + 3))
    return next(name for name in (stem, *numbered) if name not in names)


def add_block(instrument: Instrument, stage: Stage, kind: str) -> tuple[Instrument, str]:
    """Add a block at the end of a stage; return the instrument and the block's name."""
    if kind not in get_block_kinds() or stage not in STAGES:
        raise Invalid(f"There is no block of the kind “{kind}” in “{stage}”.")
    name = find_free_name(instrument.stored(), kind)

    def edit(stored: Stored) -> None:
        block = {"name": name, "kind": kind, **DEFAULT_SETTINGS.get(kind, {})}
        if not stored[stage]:
            stored[stage].append({"blocks": []})
        stored[stage][-1]["blocks"].append(block)

    return _edited(instrument, edit), name


def copy_block(instrument: Instrument, name: str) -> tuple[Instrument, str]:
    """Copy a block to the position after it, under a new name."""
    new_name = find_free_name(instrument.stored(), name)

    def edit(stored: Stored) -> None:
        stage, page, place = locate_block(stored, name)
        blocks = stored[stage][page]["blocks"]
        blocks.insert(place + 1, blocks[place] | {"name": new_name})

    return _edited(instrument, edit), new_name


def delete_block(instrument: Instrument, name: str) -> Instrument:
    """Delete a block, unless a rule of another block reads it."""

    def edit(stored: Stored) -> None:
        stage, page, place = locate_block(stored, name)
        del stored[stage][page]["blocks"][place]

    return _edited(instrument, edit)


def move_block(instrument: Instrument, name: str, by: int) -> Instrument:
    """Move a block up (-1) or down (1), across pages if needed."""

    def edit(stored: Stored) -> None:
        stage, page, place = locate_block(stored, name)
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
    """Begin a page with this block; if one does already, join it to the page before."""

    def edit(stored: Stored) -> None:
        stage, page, place = locate_block(stored, name)
        pages = stored[stage]
        if stage not in PARTICIPANT_STAGES:
            raise Invalid(f"The stage “{stage}” is one page.")
        blocks = pages[page]["blocks"]
        if place:
            pages.insert(page + 1, pages[page] | {"blocks": blocks[place:]})
            pages[page]["blocks"] = blocks[:place]
        elif page:
            pages[page - 1]["blocks"] += pages.pop(page)["blocks"]

    return _edited(instrument, edit)


def shuffle_page(instrument: Instrument, stage: Stage, page: int, *, shuffle: bool) -> Instrument:
    """Set whether the blocks of a page are shuffled for each participant."""

    def edit(stored: Stored) -> None:
        if stage not in STAGES or not 0 <= page < len(stored[stage]):
            raise NotHere
        stored[stage][page]["shuffle"] = shuffle

    return _edited(instrument, edit)


def replace_block(instrument: Instrument, name: str, block: BaseBlock) -> Instrument:
    """Replace a block; under a new name, update the rules that read it."""

    def edit(stored: Stored) -> None:
        stage, page, place = locate_block(stored, name)
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


def rename_texts(
    texts: dict[tuple[str, str], str], old: str, new: str
) -> dict[tuple[str, str], str]:
    """Rename the texts of a block in a mapping by key and language."""
    return {
        (new + key[len(old) :] if key.startswith(f"{old}.") else key, language): body
        for (key, language), body in texts.items()
    }
