"""Derive the order of blocks and options for a participant from a digest, the same every time."""

import hashlib
from collections.abc import Sequence
from typing import Any

from theodolite_study.model.blocks import BaseBlock, ChoiceBlock, ComparisonBlock
from theodolite_study.model.instrument import InstrumentPage


def shuffle_keys(keys: Sequence[str], *seed: object) -> list[str]:
    """Shuffle keys in an order that depends only on the seed, on every machine.

    >>> shuffle_keys(["a", "b", "c"], "person", 1) == shuffle_keys(["c", "b", "a"], "person", 1)
    True
    """

    def place(key: str) -> bytes:
        text = "\0".join([*map(str, seed), key])
        return hashlib.sha256(text.encode()).digest()

    return sorted(keys, key=place)


def compute_orders(pages: Sequence[InstrumentPage], *seed: object) -> dict[str, Any]:
    """Return the individual orders of a participant: shuffled pages, options and sides."""
    orders: dict[str, Any] = {}
    for number, page in enumerate(pages):
        if page.shuffle:
            names = [block.name for block in page.blocks]
            orders[f"page {number}"] = shuffle_keys(names, *seed, number)
        for block in page.blocks:
            keys = _order_block(block, *seed)
            if keys is not None:
                orders[block.name] = keys
    return orders


def _order_block(block: BaseBlock, *seed: object) -> list[str] | None:
    if isinstance(block, ComparisonBlock):
        return shuffle_keys(block.of, *seed, block.name)
    if isinstance(block, ChoiceBlock) and block.order == "random":
        return shuffle_keys(block.options, *seed, block.name)
    if isinstance(block, ChoiceBlock) and block.order == "half_reversed":
        first = shuffle_keys(["as written", "reversed"], *seed, block.name)[0]
        return list(block.options if first == "as written" else reversed(block.options))
    return None
