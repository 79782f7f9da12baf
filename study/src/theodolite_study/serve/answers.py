"""What pages of questions show, and the digest by which a second sending is known."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from theodolite_study.model.blocks import BaseBlock
from theodolite_study.model.instrument import Stage
from theodolite_study.model.orders import orders_of
from theodolite_study.serve.block_views import (
    FormFields,
    compared_answers,
    in_their_order,
    version_views,
)
from theodolite_study.serve.versions import StudyVersion

LONGEST_MEASURES = 4000


def payload_digest(answers: Mapping[str, Any]) -> bytes:
    """Equal for equal answers, however they were sent.

    >>> payload_digest({"a": 1, "b": 2}) == payload_digest({"b": 2, "a": 1})
    True
    """
    plain = json.dumps(answers, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(plain.encode()).digest()


def stage_context(
    version: StudyVersion, stage: Stage, here: Mapping[str, Any],
    fields: Mapping[str, Any] | None = None, unfit: Sequence[BaseBlock] = (),
) -> dict[str, Any]:  # fmt: skip
    """A page of questions about the person.

    Args:
        version: The person's.
        stage: Which questions.
        here: Where the person is.
        fields: A form that was refused.
        unfit: Blocks that were refused.
    """
    pages = version.instrument.pages(stage)
    orders = orders_of(pages, version.id, here["person"], stage)
    blocks = in_their_order(version.instrument.blocks(stage), pages, orders)
    form = FormFields(fields)
    views = version_views(blocks, version, here["language"], form, unfit=unfit)
    return {
        "stage": stage, "blocks": views, "orders": orders,
        "errors": [view for view in views if view["error"]],
        "earlier": compared_answers(blocks, {} if stage == "door" else here["earlier"]),
    }  # fmt: skip


def measures(fields: Mapping[str, Sequence[str]], name: str) -> dict[str, Any]:
    """What scripts measured: an object of numbers and short words, or nothing.

    The field `client` says how the page was used: `width`, `height` and `pixel_ratio` of the
    window, `theme`, `pointer` (fine or coarse), `pasted`, `moves` in rankings, `seconds` for which
    the page was seen. The field `durations` of ratings says after how many seconds each was given,
    and `visible` for the whole page.
    """
    text = (fields.get(name) or ["{}"])[0]
    try:
        value = json.loads(text) if len(text) <= LONGEST_MEASURES else {}
    except (ValueError, RecursionError):
        return {}
    plain = value if isinstance(value, dict) else {}
    return {
        str(key)[:40]: part for key, part in plain.items()
        if isinstance(part, int | float | bool) or (isinstance(part, str) and len(part) <= 100)
    }  # fmt: skip
