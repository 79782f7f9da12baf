"""Prepare blocks for templates: texts, current answers and missing ones."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from theodolite_study.locale.unfit_messages import describe_requirement
from theodolite_study.model.blocks import BaseBlock
from theodolite_study.model.instrument import InstrumentPage
from theodolite_study.model.rules import iterate_compared_blocks
from theodolite_study.serve.block_forms import N_TYPED_SHAPES, UnfitForm
from theodolite_study.serve.pages import load_translations_or_english
from theodolite_study.serve.versions import StudyVersion

NOTE = "note"


class FormFields:
    """Fields of a form as they were sent, or as its draft was stored."""

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._values = {
            name: [str(part) for part in (value if isinstance(value, list | tuple) else [value])]
            for name, value in (values or {}).items()
        }

    def first(self, name: str) -> str:
        """Return the value of a field that has one."""
        return next(iter(self._values.get(name, ())), "")

    def has(self, name: str, value: object) -> bool:
        """Return whether an option was chosen."""
        return str(value) in self._values.get(name, ())


def build_block_view(
    block: BaseBlock, texts: Mapping[str, str], language: str, fields: FormFields,
    label: str = "", unfit: Sequence[BaseBlock] = (),
) -> dict[str, Any]:  # fmt: skip
    """Return a block for a template, with its texts and current answers.

    Args:
        block: What is asked.
        texts: Its words by part.
        language: Of the person.
        fields: What was answered so far.
        label: What the image is said to show, for texts that name it.
        unfit: Blocks whose answers were refused.
    """
    kind = getattr(block, "kind", "")
    rule = block.model_dump(mode="json", by_alias=True, exclude_none=True).get("show_if")
    what = (
        "" if kind == NOTE else describe_requirement(load_translations_or_english(language), block)
    )
    return {
        "block": block, "kind": kind, "name": block.name, "texts": texts, "fields": fields,
        "ask": texts.get("text", block.name).replace("{label}", label), "needed": what,
        "rule": json.dumps(rule) if rule else "", "error": what if block in unfit else "",
        "needs": None, "numbered": N_TYPED_SHAPES, "number": None,
    }  # fmt: skip


def build_block_views(
    blocks: Iterable[BaseBlock], version: StudyVersion, language: str, fields: FormFields,
    label: str = "", unfit: Sequence[BaseBlock] = (),
) -> list[dict[str, Any]]:  # fmt: skip
    """Return blocks for a template, each with the part of the explanation that it asks about."""
    needs = version.settings.get("needs", {})
    texts = version.block_texts
    return [
        build_block_view(
            block, texts.get((block.name, language), {}), language, fields, label, unfit
        )
        | {"needs": needs.get(block.name)}
        for block in blocks
    ]


def order_blocks(
    blocks: Sequence[BaseBlock], pages: Sequence[InstrumentPage], orders: Mapping[str, Any]
) -> list[BaseBlock]:
    """Return blocks in the participant's order, with stored orders of shuffled pages."""
    by_name = {block.name: block for block in blocks}
    names = [
        name
        for number, page in enumerate(pages)
        for name in orders.get(f"page {number}", [block.name for block in page.blocks])
    ]
    return [by_name[name] for name in names if name in by_name]


def select_compared_answers(
    blocks: Iterable[BaseBlock], earlier: Mapping[str, Any]
) -> dict[str, Any]:
    """Return earlier answers that rules of these blocks read, for scripts that apply them."""
    names = {name for b in blocks if b.show_if for name in iterate_compared_blocks(b.show_if)}
    return {name: value for name, value in earlier.items() if name in names}


def is_script_request(request: Request) -> bool:
    """Return whether a script of ours sent the form."""
    return request.headers.get("accept", "").startswith("application/json")


def make_unfit_response(error: UnfitForm, language: str) -> JSONResponse:
    """Return the messages of refused blocks, for a script to show on the open page."""
    words = load_translations_or_english(language)
    errors = [
        {"block": block.name, "message": describe_requirement(words, block)}
        for block in error.blocks
    ]
    return JSONResponse({"errors": errors}, 422)
