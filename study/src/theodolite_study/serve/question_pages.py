"""Prepare pages of questions, and digest their answers to recognize repeated submissions."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from theodolite_study.model.block_orders import compute_orders
from theodolite_study.model.blocks import BaseBlock
from theodolite_study.model.instrument import Stage
from theodolite_study.serve.block_views import (
    FormFields,
    build_block_views,
    order_blocks,
    select_compared_answers,
)
from theodolite_study.serve.versions import StudyVersion

MAX_MEASURES_CHARACTERS = 4000


def digest_answers(answers: Mapping[str, Any]) -> bytes:
    """Return a digest that is equal for equal answers, in whatever order they were sent.

    >>> digest_answers({"a": 1, "b": 2}) == digest_answers({"b": 2, "a": 1})
    True
    """
    plain = json.dumps(answers, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(plain.encode()).digest()


def build_stage_context(
    version: StudyVersion, stage: Stage, here: Mapping[str, Any],
    fields: Mapping[str, Any] | None = None, unfit: Sequence[BaseBlock] = (),
) -> dict[str, Any]:  # fmt: skip
    """Return the template context of a page of questions about the participant.

    Args:
        version: The person's.
        stage: Which questions.
        here: Where the person is.
        fields: A form that was refused.
        unfit: Blocks that were refused.
    """
    pages = version.instrument.pages(stage)
    orders = compute_orders(pages, version.id, here["person"], stage)
    blocks = order_blocks(version.instrument.blocks(stage), pages, orders)
    form = FormFields(fields)
    views = build_block_views(blocks, version, here["language"], form, unfit=unfit)
    return {
        "stage": stage, "blocks": views, "orders": orders,
        "errors": [view for view in views if view["error"]],
        "earlier": select_compared_answers(blocks, {} if stage == "door" else here["earlier"]),
    }  # fmt: skip


def parse_measures(fields: Mapping[str, Sequence[str]], name: str) -> dict[str, Any]:
    """Read what scripts measured: an object of numbers and short words, or nothing.

    The field `client` says how the page was used: `width`, `height` and `pixel_ratio` of the
    window, `theme`, `pointer` (fine or coarse), `pasted`, `moves` in rankings, `seconds` for which
    the page was seen. The field `durations` of ratings says after how many seconds each was given,
    and `visible` for the whole page.
    """
    text = (fields.get(name) or ["{}"])[0]
    try:
        value = json.loads(text) if len(text) <= MAX_MEASURES_CHARACTERS else {}
    except (ValueError, RecursionError):
        return {}
    plain = value if isinstance(value, dict) else {}
    return {
        str(key)[:40]: part for key, part in plain.items()
        if isinstance(part, int | float | bool) or (isinstance(part, str) and len(part) <= 100)
    }  # fmt: skip
