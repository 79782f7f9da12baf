"""Blocks of a version: add, copy, move, delete, settings of each with its preview; what changed."""

from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.designer import edits
from theodolite_study.designer.block_form import RULE_ROWS, block_from, form_fields, rule_rows
from theodolite_study.designer.block_preview import block_html
from theodolite_study.designer.changes import VersionContent, changes
from theodolite_study.designer.links import base, design_page
from theodolite_study.designer.saving import put_instrument, save, version_of
from theodolite_study.designer.version_content import content_of, last_opened
from theodolite_study.desk.rights import needs
from theodolite_study.desk.site import DeskRequest
from theodolite_study.model.blocks import BaseBlock
from theodolite_study.model.instrument import OF_PEOPLE, STAGES, Instrument, Stage
from theodolite_study.model.texts import text_parts
from theodolite_study.refusals import Invalid
from theodolite_study.store.drafts import put_texts

STAGE_WORDS = {
    "door": "At the door: who may take part", "about": "About the person",
    "before": "Before an explanation: one's own view", "after": "After an explanation",
    "end": "At the end",
}  # fmt: skip
OPS = {
    "eq": "is", "ne": "is not", "lt": "is below", "le": "is at most", "gt": "is above",
    "ge": "is at least", "in": "is one of (commas between)", "answered": "was answered",
}  # fmt: skip


@needs("design")
def blocks_page(desk: DeskRequest) -> Response:
    """All stages, and what changed since the last version that people met."""
    version = version_of(desk)
    content = content_of(desk.connection, version)
    opened = last_opened(desk.connection, desk.study_id)
    changed = None
    if opened is not None and version["state"] == "draft":
        changed = changes(content_of(desk.connection, opened), content)
    language = version["default_language"]
    texts = {key: body for (key, spoken), body in content.texts.items() if spoken == language}
    context = {
        "stages": [(stage, STAGE_WORDS[stage], content.instrument.pages(stage))
                   for stage in STAGES],
        "kinds": list(edits.block_kinds()), "texts": texts, "of_people": OF_PEOPLE,
        "changed": changed, "opened": opened,
    }  # fmt: skip
    return design_page(desk, "design_blocks", context)


@needs("design")
def edit_blocks(desk: DeskRequest) -> Response:
    """One button of the list: what it does is its value."""
    form = desk.form
    do, name = form.text("do"), form.text("block", 60)

    def edit(content: VersionContent) -> str:
        instrument, message = _edited(content.instrument, do, name, form)
        put_instrument(desk, instrument)
        return message

    anchor = f"#block-{name}" if name and do != "delete" else ""
    return save(desk, base(desk) + anchor, edit)


def _edited(instrument: Instrument, do: str, name: str, form: Any) -> tuple[Instrument, str]:
    if do == "add":
        stage: Stage = form.one_of("stage", STAGES)
        changed, name = edits.add_block(instrument, stage, form.text("kind"))
        return changed, f"Block “{name}” is new. It has no texts yet."
    if do == "copy":
        changed, copy = edits.copy_block(instrument, name)
        return changed, f"Block “{copy}” is a copy of “{name}”. It has no texts yet."
    if do in ("up", "down"):
        moved = edits.move_block(instrument, name, -1 if do == "up" else 1)
        return moved, f"Block “{name}” was moved."
    if do == "delete":
        return edits.delete_block(instrument, name), f"Block “{name}” was taken out."
    if do == "page":
        return edits.begin_page(instrument, name), f"Pages at “{name}” were changed."
    if do in ("shuffle", "keep order"):
        shuffled = edits.shuffle_page(
            instrument, form.one_of("stage", STAGES), form.whole("page", 0, 30),
            shuffle=do == "shuffle",
        )  # fmt: skip
        return shuffled, "The order of a page was changed."
    raise Invalid("There is no such button.")


@needs("design")
def block_page(desk: DeskRequest) -> Response:
    """The settings of one block, beside what participants see."""
    return _block_page(desk)


def _block_page(desk: DeskRequest, error: str = "") -> Response:
    version = version_of(desk)
    content = content_of(desk.connection, version)
    block = edits.block_of(content.instrument, desk.request.path_params["name"])
    language = desk.request.query_params.get("language", version["default_language"])
    rule = block.show_if
    parts = list(text_parts(block))
    texts = {part: content.texts.get((f"{block.name}.{part}", language), "") for part in parts}
    context = {
        "block": block, "fields": form_fields(block), "rows": rule_rows(rule), "ops": OPS,
        "rule_json": "" if rule is None else rule.model_dump_json(by_alias=True, exclude_none=True),
        "row_numbers": range(RULE_ROWS), "earlier": _earlier(content.instrument, block.name),
        "preview": block_html(content, block, language), "language": language, "parts_": parts,
        "texts": texts,
    }  # fmt: skip
    return design_page(desk, "design_block", context, [error] if error else [])


def _earlier(instrument: Instrument, name: str) -> list[str]:
    """Blocks that a rule of this one may look at."""
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


@needs("design")
def save_block(desk: DeskRequest) -> Response:
    """Settings and texts of one block."""
    name = str(desk.request.path_params["name"])
    language = desk.form.text("language", 20) or version_of(desk)["default_language"]
    number = version_of(desk)["id"]

    def edit(content: VersionContent) -> str:
        old: Any = edits.block_of(content.instrument, name)
        block = block_from(old.kind, desk.form.fields, content.instrument)
        put_instrument(desk, edits.replace_block(content.instrument, name, block))
        if block.name != name:
            _rename_texts(desk, number, content, name, block.name)
        if language not in content.settings["languages"]:
            raise Invalid(f"The version does not speak “{language}”.")
        put_texts(desk.connection, number, language, _texts(desk, block))
        return f"Block “{block.name}” was saved."

    new_name = desk.form.text("name", 60) or name
    back = f"{base(desk)}/block/{new_name}?language={language}"
    return save(
        desk, back, edit, lambda error: _block_page(desk, error), _stored_fields(desk, name)
    )


def _texts(desk: DeskRequest, block: BaseBlock) -> dict[str, str]:
    fields = {part: f"text_{part}" for part in text_parts(block)}
    return {
        f"{block.name}.{part}": desk.form.text(field)
        for part, field in fields.items()
        if field in desk.form.fields
    }


def _rename_texts(
    desk: DeskRequest, number: int, content: VersionContent, old: str, new: str
) -> None:
    for (key, language), body in edits.renamed_texts(dict(content.texts), old, new).items():
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
        block = edits.block_of(content.instrument, name)
        language = desk.form.text("language", 20)
        settings = {field.name: "" if field.value in (None, False) else str(field.value)
                    for field in form_fields(block)}  # fmt: skip
        return settings | {
            f"text_{part}": content.texts.get((f"{name}.{part}", language), "")
            for part in text_parts(block)
        }

    return fields


ROUTES = [
    Route("/studies/{slug}/design", blocks_page),
    Route("/studies/{slug}/design", edit_blocks, methods=["POST"]),
    Route("/studies/{slug}/design/block/{name}", block_page),
    Route("/studies/{slug}/design/block/{name}", save_block, methods=["POST"]),
]
