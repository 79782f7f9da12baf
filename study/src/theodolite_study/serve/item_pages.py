"""Prepare the page of an item from the result of its database step."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any
from uuid import uuid4

from theodolite_study.locale.task_messages import describe_task, number_questions
from theodolite_study.model.block_orders import compute_orders
from theodolite_study.model.blocks import BaseBlock, RegionsBlock
from theodolite_study.model.instrument import Stage
from theodolite_study.serve.block_forms import Size
from theodolite_study.serve.block_views import (
    FormFields,
    build_block_views,
    order_blocks,
    select_compared_answers,
)
from theodolite_study.serve.images import ImageAddresses
from theodolite_study.serve.pages import get_translator
from theodolite_study.serve.versions import StudyVersion

SIZES_KEY = "sizes"
"""Key of image sizes in an instance; unlike its other objects, no explanation."""
TASK_KEY = "task"
"""Key of what a practice item or a check asks for."""


def select_asked_blocks(
    version: StudyVersion, stage: Stage, instance: Mapping[str, Any]
) -> list[BaseBlock]:
    """Return the blocks of a stage that apply to this explanation."""
    needs = version.settings.get("needs", {})
    image = instance["shown"].get("image")
    return [
        block for block in version.instrument.blocks(stage)
        if (block.name not in needs or instance.get(needs[block.name]) is not None)
        and (image or not isinstance(block, RegionsBlock))
    ]  # fmt: skip


def get_image_size(instance: Mapping[str, Any]) -> Size | None:
    """Return width and height of the image; None if there is none."""
    size = instance.get(SIZES_KEY, {}).get(instance["shown"].get("image"))
    return None if size is None else (size[0], size[1])


def build_item_context(
    row: Mapping[str, Any], version: StudyVersion, addresses: ImageAddresses, session: bytes,
    fields: Mapping[str, Any] | None = None, unfit: Sequence[BaseBlock] = (),
) -> dict[str, Any]:  # fmt: skip
    """Return the template context of an item; before the own answer, only its image.

    Args:
        row: What the item's step returned.
        version: The person's.
        addresses: Where images are.
        session: Whose they are.
        fields: A form that was refused; without one, the draft is shown.
        unfit: Blocks that were refused.
    """
    before, instance = row["own"] is None, row["shown"]
    stage: Stage = "before" if before else "after"
    first, language = instance["shown"], row["language"]
    label = first.get("predicted", "")
    explained = ExplanationViews(addresses, session, instance.get(SIZES_KEY, {}))
    orders = compute_orders(
        version.instrument.pages(stage), version.id, row["person"], row["position"]
    )
    blocks = order_blocks(
        select_asked_blocks(version, stage, instance), version.instrument.pages(stage), orders
    )
    form = FormFields(row["draft"] if fields is None else fields)
    views = number_questions(build_block_views(blocks, version, language, form, label, unfit))
    task = instance.get(TASK_KEY)
    now = task if not task or before == (task.get("kind") == "frame") else None
    shown_task = task if task and "instruction" in task else now
    context: dict[str, Any] = {
        "before": before, "action": f"/a/{row['item']}", "position": row["done"] + 1,
        "of": row["promised"], "label": label, "blocks": views, "orders": orders,
        "errors": [view for view in views if view["error"]],
        "explanation": explained.of(first, before=before),
        "instruction": describe_task(shown_task, views, get_translator(language)), "task": task,
        "lease_seconds": compute_seconds_left(row["lease"]), "key": str(uuid4()), "practice": False,
        "earlier": select_compared_answers(blocks, row["earlier"]), "parts": {},
        "legend": row.get("legend") or "signed",
        "amount": row.get("if_stopped"), "currency": row.get("currency") or "",
    }  # fmt: skip
    if not before:
        parts = {
            n: part
            for n, part in instance.items()
            if isinstance(part, dict) and n not in (SIZES_KEY, TASK_KEY)
        }
        context["parts"] = {name: explained.of(part, before=before) for name, part in parts.items()}
    return context


def compute_seconds_left(lease: str | None) -> float:
    """Return the seconds for which the item is reserved."""
    if lease is None:
        return 0.0
    left = datetime.fromisoformat(lease) - datetime.now(timezone.utc)
    return max(left.total_seconds(), 0.0)


class ExplanationViews:
    """Explanations for templates, with signed addresses of their images."""

    def __init__(self, addresses: ImageAddresses, session: bytes, sizes: Mapping[str, Any]):
        self._addresses, self._session, self._sizes = addresses, session, sizes

    def of(self, part: Mapping[str, Any], *, before: bool) -> dict[str, Any]:
        """Return one explanation for a template; before the own answer, only its image.

        Args:
            part: A part of what an instance shows.
            before: Whether the person has not answered yet.
        """
        view = {
            "label": part.get("predicted", ""), "image": self._image(part.get("image")),
            "map": None, "concepts": [], "tokens": [], "table": [], "most": 1.0, "signed": False,
            "weighted": not before,
        }  # fmt: skip
        tokens, table = part.get("tokens") or [], part.get("table") or []
        if before:
            view["tokens"] = [(word, 0.0) for word, _ in tokens]
            view["table"] = [(name, value, None) for name, value, _ in table]
            return view
        concepts = list((part.get("concepts") or {}).items())
        weights = [row[-1] for row in (*concepts, *tokens, *table)]
        return view | {
            "map": self._image(part.get("map")), "tokens": tokens,
            "concepts": sorted(concepts, key=lambda row: -abs(row[1])),
            "table": sorted(table, key=lambda row: -abs(row[2])),
            "most": max(map(abs, weights), default=0) or 1.0,
            "signed": any(weight < 0 for weight in weights),
        }  # fmt: skip

    def _image(self, file: str | None) -> dict[str, Any] | None:
        if not file:
            return None
        width, height = self._sizes.get(file, (0, 0))
        address = self._addresses.address(file, self._session)
        return {"url": address, "width": width, "height": height}
