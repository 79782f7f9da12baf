"""Tables that travel inside a page: columns of few digits, packed, and unpacked by the browser.

A number of a score that lies between -1 and 1 is kept to four decimals, in two bytes; any other as
a float of four bytes, which is seven digits. The bytes of a column are stored place by place, all
first bytes before all second ones, because equal places pack well.
"""

import base64
import functools
import gzip
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, UInt8

DECIMALS = 4
SCALE = 10**DECIMALS
REACH = 3
"""Fixed decimals hold numbers from minus to plus this: intervals may end beyond -1 and 1."""
UNDEFINED = 65_535
LONGEST_NAME = 300
"""Longer names are cut where they travel by the hundred thousand."""
_NUMBER = re.compile("([0-9]+)")
Values = Float[np.ndarray, " rows"]


@dataclass(frozen=True)
class ScoreColumn:
    """One score of every item; undefined is NaN."""

    title: str
    options: str
    values: Values
    low: Values | None
    high: Values | None
    bounds: tuple[float, float]
    better: Literal["higher", "lower"]
    whole: str = ""
    """The score of all items together, in words."""
    null: tuple[str, float] | None = None
    """The null of the score of all items together."""

    @property
    def is_share(self) -> bool:
        """Whether numbers are shown as percentages."""
        return self.bounds == (0.0, 1.0)

    @functools.cached_property
    def is_fixed(self) -> bool:
        """Whether four decimals say it: else the number is kept as a float."""
        near = all(-1.0 <= end <= 1.0 for end in self.bounds)
        parts = [part for part in (self.values, self.low, self.high) if part is not None]
        return near and all(bool((np.abs(p[~np.isnan(p)]) <= REACH).all()) for p in parts)

    def rounded_values(self) -> Values:
        """The values as the page has them."""
        if self.is_fixed:
            return np.asarray(np.round(self.values * SCALE) / SCALE)
        return self.values.astype(np.float32).astype(float)

    def text(self, value: float) -> str:
        """A number in words: as many digits as the page has."""
        if math.isnan(value):
            return "undefined"
        if math.isinf(value):
            return "∞" if value > 0 else "−∞"
        if self.is_fixed:
            value = float(np.round(value * SCALE)) / SCALE + 0.0  # no minus before a zero
            text = f"{100 * value:.{DECIMALS - 2}f} %" if self.is_share else f"{value:.{DECIMALS}f}"
        else:
            text = f"{Decimal(f'{value:.4g}'):f}"
        return text.replace("-", "−")


@dataclass(frozen=True)
class PackedTable:
    """Rows that a page shows one screenful at a time."""

    over: str
    names: Sequence[str]
    columns: Sequence[ScoreColumn]
    left_out: int = 0
    """Scores that did not fit."""
    row_notes: Mapping[int, Any] = field(default_factory=dict)
    """What else is known of some rows: sentences, and which images show them."""

    def worst(self, most: int) -> list[int]:
        """The rows with the worst values of the first column; undefined ones come last."""
        first = self.columns[0]
        values = first.rounded_values() * (1.0 if first.better == "higher" else -1.0)
        return [int(row) for row in np.argsort(values, kind="stable")[:most]]


def pack_table(table: PackedTable) -> str:
    """The table as text that is safe inside a page: Base64 of gzip. Equal tables, equal text."""
    order = _ranks(table.names)
    header = {
        "over": table.over,
        "names": [name[:LONGEST_NAME] for name in table.names],
        "cut": sum(len(name) > LONGEST_NAME for name in table.names),
        "ranked": order is not None,
        "columns": [_column_header(column) for column in table.columns],
        "left_out": table.left_out,
        "about": {str(row): note for row, note in table.row_notes.items()},
    }
    # ASCII: a lone surrogate is no fault
    header_bytes = json.dumps(header, separators=(",", ":")).encode()
    parts = [np.array([len(header_bytes)], "<u4").tobytes(), header_bytes]
    if order is not None:
        parts.append(_planes(order.astype("<u4")).tobytes())
    for column in table.columns:
        for values in (column.values, column.low, column.high):
            if values is not None:
                parts.append(_planes(_coded(values, column)).tobytes())
    return base64.b64encode(gzip.compress(b"".join(parts), 6, mtime=0)).decode()


def _column_header(column: ScoreColumn) -> dict[str, Any]:
    low, high = column.bounds
    return {
        "title": column.title,
        "options": column.options,
        "share": column.is_share,
        "fixed": column.is_fixed,
        "lower": column.better == "lower",
        "ends": [low, high] if math.isfinite(low) and math.isfinite(high) else None,
        "interval": column.low is not None,
        "whole": column.whole,
        "null": None if column.null is None or math.isnan(column.null[1]) else list(column.null),
    }


def _coded(values: Values, column: ScoreColumn) -> np.ndarray:
    if not column.is_fixed:
        return values.astype("<f4")
    whole = np.round(values * SCALE) + REACH * SCALE
    return np.where(np.isnan(whole), UNDEFINED, whole).astype("<u2")


def _planes(values: np.ndarray) -> UInt8[np.ndarray, "places rows"]:
    """First bytes of all numbers, then the second ones, and so on."""
    return np.ascontiguousarray(values.view(np.uint8).reshape(len(values), values.itemsize).T)


def _ranks(names: Sequence[str]) -> np.ndarray | None:
    """The place of each name among all, numbers by size; None if the names are in order as is."""
    keys = [_natural(name[:LONGEST_NAME]) for name in names]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    ranks = np.empty(len(keys), np.int64)
    ranks[order] = np.arange(len(keys))
    return None if bool((ranks == np.arange(len(keys))).all()) else ranks


def _natural(name: str) -> list[str | int]:
    """Words and numbers in turn, so that unit 10 comes after unit 2."""
    parts: list[str | int] = list(_NUMBER.split(name.casefold()))
    parts[1::2] = map(int, parts[1::2])
    return parts
