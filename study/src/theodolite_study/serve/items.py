"""What the page of an item shows, from what its step returned."""

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any
from uuid import uuid4

from theodolite_study.model.blocks import BaseBlock
from theodolite_study.model.instrument import Stage
from theodolite_study.serve.orders import orders_of
from theodolite_study.serve.pictures import PictureAddresses
from theodolite_study.serve.versions import StudyVersion

TWINS = ("same", "different")


def asked_blocks(version: StudyVersion, stage: Stage, shown: Mapping[str, Any]) -> list[BaseBlock]:
    """Blocks of a stage without those that ask for what this explanation does not have."""
    needs = version.settings.get("needs", {}) if stage == "after" else {}
    blocks = version.instrument.blocks(stage)
    return [b for b in blocks if b.name not in needs or shown.get(needs[b.name]) is not None]


def item_context(
    came: Mapping[str, Any], version: StudyVersion, shown: Mapping[str, Any],
    addresses: PictureAddresses, session: bytes,
) -> dict[str, Any]:  # fmt: skip
    """Before one's own answer nothing but the picture is named; afterwards all of it."""
    before = came["own"] is None
    stage: Stage = "before" if before else "after"
    address = _Addresses(addresses, session, shown.get("sizes", {}))
    first = shown["shown"]
    language = came["language"]
    context: dict[str, Any] = {
        "before": before,
        "action": f"/a/{came['item']}",
        "position": came["done"] + 1,
        "of": came["promised"],
        "label": first.get("predicted", ""),
        "picture": address.of(first["picture"]),
        "instruction": shown.get("instruction") or "",
        "blocks": [block_view(block, version, language, came["draft"] or {})
                   for block in asked_blocks(version, stage, shown)],
        "lease_seconds": seconds_left(came["lease"]),
        "key": str(uuid4()),
        "own": came["own"] or {},
        "orders": orders_of(
            version.instrument.pages(stage), version.id, came["person"], came["position"]
        ),
    }  # fmt: skip
    if not before:
        context["explanation"] = address.explanation(first)
        context["twins"] = {
            name: address.explanation(shown[name]) for name in TWINS if shown.get(name)
        }
    return context


def block_view(
    block: BaseBlock, version: StudyVersion, language: str, draft: Mapping[str, Any]
) -> dict[str, Any]:
    """A block with its texts, and what was answered so far."""
    texts = version.block_texts.get((block.name, language), {})
    return {
        "block": block, "kind": getattr(block, "kind", ""), "name": block.name, "texts": texts,
        "value": draft.get(block.name), "needs": version.settings.get("needs", {}).get(block.name),
    }  # fmt: skip


def seconds_left(lease: str | None) -> float:
    """How long the item waits for the person."""
    if lease is None:
        return 0.0
    left = datetime.fromisoformat(lease) - datetime.now(timezone.utc)
    return max(left.total_seconds(), 0.0)


class _Addresses:
    """Signed addresses of the pictures of one explanation, with their sizes."""

    def __init__(self, addresses: PictureAddresses, session: bytes, sizes: Mapping[str, Any]):
        self._addresses, self._session, self._sizes = addresses, session, sizes

    def of(self, file: str) -> dict[str, Any]:
        width, height = self._sizes.get(file, (0, 0))
        address = self._addresses.address(file, self._session)
        return {"url": address, "width": width, "height": height}

    def explanation(self, part: Mapping[str, Any]) -> dict[str, Any]:
        concepts = part.get("concepts") or {}
        return {
            "label": part.get("predicted", ""), "picture": self.of(part["picture"]),
            "map": self.of(part["map"]) if part.get("map") else None,
            "concepts": sorted(concepts.items(), key=lambda pair: -abs(pair[1])),
            "tokens": part.get("tokens") or [], "table": part.get("table") or [],
        }  # fmt: skip
