"""The part of a report that has a row for every concept, unit, class and sample of the run.

The rows travel packed and are unpacked by our own script; a page of the worst ones is there
without any script.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from theodolite._runs.report_material import RunMaterial
from theodolite.report.examples import Example
from theodolite.report.explorer.images import Items, key, shown_items
from theodolite.report.explorer.packed_table import (
    LONGEST_NAME,
    PackedTable,
    ScoreColumn,
    pack_table,
)
from theodolite.report.explorer.tables import item_tables
from theodolite.report.figures.bars import histogram
from theodolite.report.figures.scales import round_scale
from theodolite.report.figures.svg import Figure
from theodolite.report.page import TEMPLATES
from theodolite.results import Score

ONE = {
    "concepts": "concept", "units": "unit", "classes": "class", "pairs": "pair of concepts",
    "samples": "sample",
}  # fmt: skip
TITLES = {"pairs": "Pairs of concepts"}
STATIC_ROWS = 25
FIRST_COLUMNS = 5
STATIC_FIGURES = 3
SCRIPTS = ("elements", "explorer_data", "explorer_figures", "explorer_panel", "explorer")
DIGITS = (
    "Numbers here are rounded: scores between −1 and 1 to four decimals (percentages to two), "
    "others to four digits. Rows with equal rounded numbers keep the order of the run. The "
    "baseline belongs to the score of all items together, not to a single item."
)


def explorer_chapter(
    material: RunMaterial, scores: Sequence[Score], examples: Sequence[Example]
) -> dict[str, Any] | None:
    """All that the page shows one by one, its scripts and its images; None if there is nothing.

    ``scripts`` and ``images`` are for :func:`theodolite.report.page.write_page`.
    """
    tables = item_tables(material.per_sample(), scores)
    if not tables:
        return None
    items = shown_items(material, examples)
    tables = [replace(table, row_notes=_row_notes(table, items)) for table in tables]
    return {
        "tables": [_table(table) for table in tables],
        "digits": DIGITS,
        "shown": STATIC_ROWS,
        "files": " and ".join(_files(tables)),
        "scripts": [explorer_script()],
        "images": _images(tables, items),
    }


def explorer_script() -> str:
    """Return the script of the explorer."""
    parts = [(TEMPLATES / f"{name}.js").read_text("utf-8") for name in SCRIPTS]
    return "(() => {\n" + '"use strict";\n' + "\n".join(parts) + "})();"


def _files(tables: Sequence[PackedTable]) -> list[str]:
    kinds = {table.over for table in tables}
    scored = ["scores.json"] if kinds - {"samples"} else []
    return scored + (["per_sample.parquet"] if "samples" in kinds else [])


def _row_notes(table: PackedTable, items: Items) -> dict[int, Any]:
    """What is known of rows beyond their scores; images by the key that scripts find them by."""
    known = {name: item for (kind, name), item in items.items() if kind == table.over}
    rows = {name: row for row, name in enumerate(table.names) if name in known}
    return {
        row: {
            "says": [text[:LONGEST_NAME] for text in known[name].says],
            "images": [[key(a), words[:LONGEST_NAME]] for a, words in known[name].images],
        }
        for name, row in rows.items()
    }


def _images(tables: Sequence[PackedTable], items: Items) -> list[str]:
    keys = {image[0] for t in tables for note in t.row_notes.values() for image in note["images"]}
    addresses = dict.fromkeys(a for item in items.values() for a, _ in item.images)
    return [a for a in addresses if key(a) in keys and a.startswith("data:")]


def _table(table: PackedTable) -> dict[str, Any]:
    title = TITLES.get(table.over, table.over.capitalize())
    first = _first_columns(table.columns)
    columns = [table.columns[i] for i in first]
    cut = sum(len(name) > LONGEST_NAME for name in table.names)
    notes = [
        f"{table.left_out} more scores are only in the files of the run." if table.left_out else "",
        f"{cut:,} names are cut after {LONGEST_NAME} characters." if cut else "",
    ]
    return {
        "over": table.over,
        "title": title,
        "one": ONE[table.over],
        "rows": f"{len(table.names):,}",
        "first": " ".join(map(str, first)),
        "note": " ".join(note for note in notes if note),
        "heads": [_head(column) for column in columns],
        "worst": [
            {"name": table.names[row][:LONGEST_NAME], "cells": [_cell(c, row) for c in columns]}
            for row in table.worst(STATIC_ROWS)
        ],
        "figures": [_figure(table, column) for column in columns[:STATIC_FIGURES]],
        "packed": pack_table(table),
    }


def _first_columns(columns: Sequence[ScoreColumn]) -> list[int]:
    """What the table shows at first: the first score always, then one of each metric in turn."""
    firsts = list({c.title: i for i, c in reversed(list(enumerate(columns)))}.values())
    others = [i for i in range(len(columns)) if i not in firsts]
    return sorted([*sorted(firsts), *others][:FIRST_COLUMNS])


def _head(column: ScoreColumn) -> dict[str, Any]:
    null = "" if column.null is None else f"null: {column.text(column.null[1])}"
    whole = f"all: {column.whole}" if column.whole else ""
    return {"title": column.title, "under": [t for t in (column.options, whole, null) if t]}


def _cell(column: ScoreColumn, row: int) -> dict[str, str]:
    under = ""
    if column.low is not None and column.high is not None:
        ends = [float(column.low[row]), float(column.high[row])]
        if not np.isnan(ends).any():
            under = " to ".join(column.text(end).removesuffix(" %") for end in ends)
    return {"value": column.text(float(column.values[row])), "under": under}


def _figure(table: PackedTable, column: ScoreColumn) -> Figure:
    """Return how all rows are spread, for pages without scripts or with few rows."""
    missing = int(np.isnan(column.values).sum())
    named = f"{column.title}, {column.options}" if column.options else column.title
    caption = f"{named}, of {len(table.names) - missing:,} {table.over}"
    if missing:
        caption += f"; {missing:,} undefined"
    finite = column.values[np.isfinite(column.values)]
    scale = round_scale([finite.min(), finite.max()] if len(finite) else [], column.bounds)
    svg = histogram(finite, table.over, (scale.low, scale.high), caption)
    return Figure(svg, caption=caption)
