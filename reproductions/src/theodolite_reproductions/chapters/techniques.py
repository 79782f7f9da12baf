"""The part of a report about many techniques under votes: kazmierczak2024's figures and tables."""

import math
from collections.abc import Sequence
from typing import Any

from theodolite.report.figures.lines import PlotLine, Point, chart
from theodolite.report.figures.svg import swatch
from theodolite.report.tables import Cell, Row, Table
from theodolite_reproductions.chapters.technique_figures import counts, squares
from theodolite_reproductions.findings.leakage import StudyRecord
from theodolite_reproductions.findings.techniques.record import (
    TechniqueRow,
    TechniquesVotesRecord,
    TechniqueTable,
)

SCALE = (1.0, 5.0)
COLUMNS = ("of", "question", "with", "item", "measure")
"""Which name goes across, the first that a table has and that is not its only one."""


def techniques_chapter(studies: Sequence[StudyRecord]) -> list[dict[str, Any]]:
    """Return what the report shows of ratings by technique."""
    return [_shown_study(study) for study in studies if isinstance(study, TechniquesVotesRecord)]


def _shown_study(record: TechniquesVotesRecord) -> dict[str, Any]:
    figures = [
        _means(record, "modality", "Mean vote by question, saliency and concepts"),
        _means(record, "network", "Mean vote by question and network"),
        _favorites(record),
        _beside(record),
    ]
    people = "people not named" if record.people is None else f"{record.people} people"
    if record.source.startswith("scripted"):
        people = f"{record.people} scripted annotators"
    return {
        "title": record.title,
        "source": record.source,
        "scripted": record.source.startswith("scripted"),
        "counts": f"{record.explanations:,} explanations, {record.techniques} techniques, "
        f"{record.images} images, {people}",
        "figures": [figure for figure in figures if figure is not None],
        "tables": [grid_of(table) for table in record.tables],
        "notes": record.notes,
    }


def _means(record: TechniquesVotesRecord, kind: str, title: str) -> dict[str, Any] | None:
    rows = [row for row in record.rows(kind) if row.names["of"].startswith("Q")]
    if not rows:
        return None
    questions = list(dict.fromkeys(row.names["of"] for row in rows))
    groups = list(dict.fromkeys(row.names[kind] for row in rows))
    lines = [
        PlotLine(name, style, tuple(
            Point(questions.index(row.names["of"]), _number(row.value), _number(row.low),
                  _number(row.high), says=f"{name}, {row.names['of']}: {_cell(row).value}")
            for row in rows if row.names[kind] == name and row.value is not None
        ))
        for style, name in enumerate(groups)
    ]  # fmt: skip
    svg = chart(lines, questions, SCALE, _caption(record, title))
    return {
        "title": title,
        "svg": svg,
        "key": [(swatch(style), name) for style, name in enumerate(groups)],
        "note": "Means of technique means; techniques resampled, as the claim is about kinds of "
        "them. No interval where there is one technique only.",
    }


def _favorites(record: TechniquesVotesRecord) -> dict[str, Any] | None:
    rows = sorted(record.rows("favorites"), key=lambda row: -_number(row.value))
    if not rows:
        return None
    bars = [
        (row.names["technique"], _number(row.value), _number(row.low), _number(row.high))
        for row in rows
        if row.low is not None
    ]
    title = next(table.title for table in record.tables if table.name == "favorites")
    return {
        "title": title, "svg": counts(bars, rows[0].units, _caption(record, title)), "key": [],
        "note": "Intervals: people resampled.",
    }  # fmt: skip


def _beside(record: TechniquesVotesRecord) -> dict[str, Any] | None:
    """Questions against each other, word overlap, and numbers of maps."""
    values: dict[tuple[str, str], float] = {}
    for row in record.rows("questions", over="all"):
        if row.value is not None:
            first, second = row.names["question"], row.names["with"]
            values[first, second] = values[second, first] = row.value
    for row in record.rows("words"):
        if row.value is not None:
            values[row.names["measure"], row.names["question"]] = row.value
    for row in record.rows("numbers", over="all", method="pearson"):
        if row.value is not None:
            values[row.names["number"], row.names["question"]] = row.value
    if not values:
        return None
    columns = sorted({column for _, column in values})
    rows = [*columns, *dict.fromkeys(row for row, _ in values if row not in columns)]
    title = "Questions against each other, against word overlap and against numbers of maps"
    return {
        "title": title, "svg": squares(rows, columns, values, _caption(record, title)), "key": [],
        "note": "Pearson, over all explanations, with the mode of their votes; of words over "
        "single votes. Intervals are in the tables.",
    }  # fmt: skip


def grid_of(table: TechniqueTable) -> Table:
    """Lay out a table with one of its names across."""
    names = list(table.rows[0].names)
    across = next((name for name in COLUMNS if name in names and len(names) > 1), None)
    heads = [name for name in names if name != across]
    columns = list(dict.fromkeys(row.names[across] for row in table.rows)) if across else ["value"]
    by_label: dict[tuple[str, ...], dict[str, TechniqueRow]] = {}
    for row in table.rows:
        key = tuple(row.names.get(head, "") for head in heads)
        by_label.setdefault(key, {})[row.names[across] if across else "value"] = row
    units = dict.fromkeys(row.unit for row in table.rows if row.unit)
    return Table(
        heads=tuple(head.replace("_", " ") for head in heads),
        columns=tuple(columns),
        rows=tuple(
            Row(labels, tuple(_cell(cells[n]) if n in cells else Cell() for n in columns))
            for labels, cells in by_label.items()
        ),
        title=table.title,
        note=f"95 % intervals, resampled: {', '.join(units)}." if units else "",
    )


def _cell(row: TechniqueRow) -> Cell:
    if row.value is None:
        return Cell("undefined")
    under = "" if row.low is None or row.high is None else f"{row.low:.2f} to {row.high:.2f}"
    return Cell(f"{row.value:.2f}", under)


def _caption(record: TechniquesVotesRecord, title: str) -> str:
    scripted = record.source.startswith("scripted") and record.source not in title
    return f"{title} ({record.source})" if scripted else title


def _number(value: float | None) -> float:
    return math.nan if value is None else value
