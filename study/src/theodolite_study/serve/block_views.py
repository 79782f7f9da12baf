"""What pages show of blocks: texts, what was answered so far, what is missing."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from theodolite_study.locale.unfit_messages import needed
from theodolite_study.model.blocks import BaseBlock
from theodolite_study.model.instrument import InstrumentPage
from theodolite_study.model.rules import compared_blocks
from theodolite_study.serve.block_forms import NUMBERED, UnfitForm
from theodolite_study.serve.pages import translations
from theodolite_study.serve.versions import StudyVersion

NOTE = "note"


class FormFields:
    """Fields of a form as they were sent, or as a draft of them was kept."""

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._values = {
            name: [str(part) for part in (value if isinstance(value, list | tuple) else [value])]
            for name, value in (values or {}).items()
        }

    def first(self, name: str) -> str:
        """The value of a field that has one."""
        return next(iter(self._values.get(name, ())), "")

    def has(self, name: str, value: object) -> bool:
        """Whether an option was chosen."""
        return str(value) in self._values.get(name, ())


def block_view(
    block: BaseBlock, texts: Mapping[str, str], language: str, fields: FormFields,
    label: str = "", unfit: Sequence[BaseBlock] = (),
) -> dict[str, Any]:  # fmt: skip
    """A block with its texts, and what was answered so far.

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
    what = "" if kind == NOTE else needed(translations(language), block)
    return {
        "block": block, "kind": kind, "name": block.name, "texts": texts, "fields": fields,
        "ask": texts.get("text", block.name).replace("{label}", label), "needed": what,
        "rule": json.dumps(rule) if rule else "", "error": what if block in unfit else "",
        "needs": None, "numbered": NUMBERED,
    }  # fmt: skip


def version_views(
    blocks: Iterable[BaseBlock], version: StudyVersion, language: str, fields: FormFields,
    label: str = "", unfit: Sequence[BaseBlock] = (),
) -> list[dict[str, Any]]:  # fmt: skip
    """Blocks of a version, each with the part of an explanation that it asks about, if any."""
    needs = version.settings.get("needs", {})
    texts = version.block_texts
    return [
        block_view(block, texts.get((block.name, language), {}), language, fields, label, unfit)
        | {"needs": needs.get(block.name)}
        for block in blocks
    ]


def in_their_order(
    blocks: Sequence[BaseBlock], pages: Sequence[InstrumentPage], orders: Mapping[str, Any]
) -> list[BaseBlock]:
    """Blocks as the person sees them: those of a shuffled page in the order that is kept."""
    by_name = {block.name: block for block in blocks}
    names = [
        name
        for number, page in enumerate(pages)
        for name in orders.get(f"page {number}", [block.name for block in page.blocks])
    ]
    return [by_name[name] for name in names if name in by_name]


def compared_answers(blocks: Iterable[BaseBlock], earlier: Mapping[str, Any]) -> dict[str, Any]:
    """Earlier answers that rules of these blocks look at: scripts anticipate what is shown."""
    names = {name for b in blocks if b.show_if for name in compared_blocks(b.show_if)}
    return {name: value for name, value in earlier.items() if name in names}


def wants_script(request: Request) -> bool:
    """Whether a script of ours sent a form."""
    return request.headers.get("accept", "").startswith("application/json")


def unfit_for_script(error: UnfitForm, language: str) -> JSONResponse:
    """What does not fit, by block: a script shows it on the page that is open."""
    words = translations(language)
    errors = [{"block": block.name, "message": needed(words, block)} for block in error.blocks]
    return JSONResponse({"errors": errors}, 422)
