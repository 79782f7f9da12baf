"""Serve the blocks of a version: list, edit, preview, and changes since the last version."""

from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.designer import instrument_edits
from theodolite_study.designer.block_form import (
    MAX_RULE_ROWS,
    get_form_fields,
    parse_block,
    to_rule_rows,
)
from theodolite_study.designer.block_preview import render_block
from theodolite_study.designer.design_pages import get_design_address, render_design_page
from theodolite_study.designer.draft_saving import get_version, put_instrument, save_draft
from theodolite_study.designer.version_changes import VersionContent, describe_changes
from theodolite_study.designer.version_content import load_content, load_last_opened
from theodolite_study.desk.rights import require_right
from theodolite_study.desk.site import DeskRequest
from theodolite_study.model.blocks import BaseBlock
from theodolite_study.model.instrument import PARTICIPANT_STAGES, STAGES, Instrument, Stage
from theodolite_study.model.required_texts import iterate_text_parts
from theodolite_study.refusals import Invalid
from theodolite_study.store.drafts import put_texts

STAGE_LABELS = {
    "door": "At the door: who may take part", "about": "About the person",
    "before": "Before an explanation: one's own view", "after": "After an explanation",
    "end": "At the end",
}  # fmt: skip
OPERATOR_LABELS = {
    "eq": "is", "ne": "is not", "lt": "is below", "le": "is at most", "gt": "is above",
    "ge": "is at least", "in": "is one of (commas between)", "answered": "was answered",
}  # fmt: skip


@require_right("design")
def blocks_page(desk: DeskRequest) -> Response:
    """Show all stages, and the changes since the last version that was opened."""
    version = get_version(desk)
    content = load_content(desk.connection, version)
    opened = load_last_opened(desk.connection, desk.study_id)
    changed = None
    if opened is not None and version["state"] == "draft":
        changed = describe_changes(load_content(desk.connection, opened), content)
    language = version["default_language"]
    texts = {key: body for (key, spoken), body in content.texts.items() if spoken == language}
    context = {
        "stages": [(stage, STAGE_LABELS[stage], content.instrument.pages(stage))
                   for stage in STAGES],
        "kinds": list(instrument_edits.get_block_kinds()), "texts": texts,
        "of_people": PARTICIPANT_STAGES,
        "changed": changed, "opened": opened,
    }  # fmt: skip
    return render_design_page(desk, "design_blocks", context)


@require_right("design")
def edit_blocks(desk: DeskRequest) -> Response:
    """Apply the button of the list that was pressed."""
    form = desk.form
    do, name = form.text("do"), form.text("block", 60)

    def edit(content: VersionContent) -> str:
        instrument, message = _edited(content.instrument, do, name, form)
        put_instrument(desk, instrument)
        return message

    anchor = f"#block-{name}" if name and do != "delete" else ""
    return save_draft(desk, get_design_address(desk) + anchor, edit)


def _edited(instrument: Instrument, do: str, name: str, form: Any) -> tuple[Instrument, str]:
    if do == "add":
        stage: Stage = form.one_of("stage", STAGES)
        changed, name = instrument_edits.add_block(instrument, stage, form.text("kind"))
        return changed, f"Block “{name}” is new. It has no texts yet."
    if do == "copy":
        changed, copy = instrument_edits.copy_block(instrument, name)
        return changed, f"Block “{copy}” is a copy of “{name}”. It has no texts yet."
    if do in ("up", "down"):
        moved = instrument_edits.move_block(instrument, name, -1 if do == "up" else 1)
        return moved, f"Block “{name}” was moved."
    if do == "delete":
        return instrument_edits.delete_block(instrument, name), f"Block “{name}” was taken out."
    if do == "page":
        return instrument_edits.begin_page(instrument, name), f"Pages at “{name}” were changed."
    if do in ("shuffle", "keep order"):
        shuffled = instrument_edits.shuffle_page(
            instrument, form.one_of("stage", STAGES), form.whole("page", 0, 30),
            shuffle=do == "shuffle",
        )  # fmt: skip
        return shuffled, "The order of a page was changed."
    raise Invalid("There is no such button.")


@require_right("design")
def block_page(desk: DeskRequest) -> Response:
    """Show the settings of one block next to its preview."""
    return _block_page(desk)


def _block_page(desk: DeskRequest, error: str = "") -> Response:
    version = get_version(desk)
    content = load_content(desk.connection, version)
    block = instrument_edits.get_block(content.instrument, desk.request.path_params["name"])
    language = desk.request.query_params.get("language", version["default_language"])
    rule = block.show_if
    parts = list(iterate_text_parts(block))
    texts = {part: content.texts.get((f"{block.name}.{part}", language), "") for part in parts}
    context = {
        "block": block, "fields": get_form_fields(block), "rows": to_rule_rows(rule),
        "ops": OPERATOR_LABELS,
        "rule_json": "" if rule is None else rule.model_dump_json(by_alias=True, exclude_none=True),
        "row_numbers": range(MAX_RULE_ROWS), "earlier": _earlier(content.instrument, block.name),
        "preview": render_block(content, block, language), "language": language, "parts_": parts,
        "texts": texts,
    }  # fmt: skip
    return render_design_page(desk, "design_block", context, [error] if error else [])


def _earlier(instrument: Instrument, name: str) -> list[str]:
    """Return the blocks that a rule of this one may read."""
    names: list[str] = []
    for stage in STAGES:
        for block in instrument.blocks(stage):
            if block.name == name:
                return names
            if block.kind != "note":
                names.append(block.name)
        if stage not in ("door", "about"):
            names = [n for n in names if n not in {b.name for b in instrument.blocks(stage)}]
    return names


@require_right("design")
def save_block(desk: DeskRequest) -> Response:
    """Save settings and texts of one block."""
    name = str(desk.request.path_params["name"])
    language = desk.form.text("language", 20) or get_version(desk)["default_language"]
    number = get_version(desk)["id"]

    def edit(content: VersionContent) -> str:
        old: Any = instrument_edits.get_block(content.instrument, name)
        block = parse_block(old.kind, desk.form.fields, content.instrument)
        put_instrument(desk, instrument_edits.replace_block(content.instrument, name, block))
        if block.name != name:
            _rename_texts(desk, number, content, name, block.name)
        if language not in content.settings["languages"]:
            raise Invalid(f"The version does not speak “{language}”.")
        put_texts(desk.connection, number, language, _texts(desk, block))
        return f"Block “{block.name}” was saved."

    new_name = desk.form.text("name", 60) or name
    back = f"{get_design_address(desk)}/block/{new_name}?language={language}"
    return save_draft(
        desk, back, edit, lambda error: _block_page(desk, error), _stored_fields(desk, name)
    )


def _texts(desk: DeskRequest, block: BaseBlock) -> dict[str, str]:
    fields = {part: f"text_{part}" for part in iterate_text_parts(block)}
    return {
        f"{block.name}.{part}": desk.form.text(field)
        for part, field in fields.items()
        if field in desk.form.fields
    }


def _rename_texts(
    desk: DeskRequest, number: int, content: VersionContent, old: str, new: str
) -> None:
    for (key, language), body in instrument_edits.rename_texts(
        dict(content.texts), old, new
    ).items():
        if key.startswith(f"{new}."):
            put_texts(desk.connection, number, language, {key: body})
    desk.connection.execute(
        "delete from wording where version_id = %s and key like %s",
        (number, old.replace("_", r"\_") + ".%"),
    )


def _stored_fields(desk: DeskRequest, name: str) -> Any:
    def fields(content: VersionContent) -> dict[str, str]:
        names = {block.name for stage in STAGES for block in content.instrument.blocks(stage)}
        if name not in names:
            return {}
        block = instrument_edits.get_block(content.instrument, name)
        language = desk.form.text("language", 20)
        settings = {field.name: "" if field.value in (None, False) else str(field.value)
                    for field in get_form_fields(block)}  # fmt: skip
        return settings | {
            f"text_{part}": content.texts.get((f"{name}.{part}", language), "")
            for part in iterate_text_parts(block)
        }

    return fields


ROUTES = [
    Route("/studies/{slug}/design", blocks_page),
    Route("/studies/{slug}/design", edit_blocks, methods=["POST"]),
    Route("/studies/{slug}/design/block/{name}", block_page),
    Route("/studies/{slug}/design/block/{name}", save_block, methods=["POST"]),
]
