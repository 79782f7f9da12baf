"""What pages of questions show, and the digest by which a second sending is known."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from theodolite_study.model.instrument import Stage
from theodolite_study.serve.items import block_view
from theodolite_study.serve.orders import orders_of
from theodolite_study.serve.versions import StudyVersion


def payload_digest(answers: Mapping[str, Any]) -> bytes:
    """Equal for equal answers, however they were sent.

    >>> payload_digest({"a": 1, "b": 2}) == payload_digest({"b": 2, "a": 1})
    True
    """
    plain = json.dumps(answers, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(plain.encode()).digest()


def stage_context(version: StudyVersion, stage: Stage, here: Mapping[str, Any]) -> dict[str, Any]:
    """A page of questions about the person."""
    return {
        "stage": stage,
        "blocks": [block_view(block, version, here["language"], {})
                   for block in version.instrument.blocks(stage)],
        "orders": orders_of(version.instrument.pages(stage), version.id, here["person"], stage),
    }  # fmt: skip
