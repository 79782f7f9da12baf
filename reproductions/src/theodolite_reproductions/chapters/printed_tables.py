"""Tables that a spec asks for: scores by their options, and stored tables, beside the paper's."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from theodolite._runs.folder.spec import GridSpec, TableRow, TableSpec
from theodolite._runs.report_material import RunMaterial
from theodolite.errors import EvidenceError
from theodolite.report.chapters.clean import is_defect_metric
from theodolite.report.tables import Cell, Row, Table
from theodolite.report.words import interval_words, option_text, value_text
from theodolite.results import Score


def printed_tables(material: RunMaterial) -> list[Table]:
    """Return the tables of scores and the stored tables that the spec names."""
    report = material.record.spec.report
    scores, _ = material.scored
    tables = [score_table(table, scores) for table in report.tables]
    tables += [grid_table(grid, material) for grid in report.grids]
    return [table for table in tables if table is not None]


def score_table(spec: TableSpec, scores: Sequence[Score]) -> Table | None:
    """Return rows by options, columns by a swept option, and the best null of each group."""
    matching = [s for s in scores if s.metric == spec.metric]
    if not matching or not spec.rows:
        return None
    columns = list(dict.fromkeys(s.options.get(spec.columns) for s in matching))
    rows: list[Row] = []
    for _, together in itertools.groupby(spec.rows, _group):
        rows += _group_rows(list(together), spec, matching, columns)
    heads = tuple(name.replace("_", " ") for name in spec.rows[0].options)
    names = tuple(option_text(spec.columns, c) for c in columns)
    return Table(heads, names, tuple(rows), spec.title, spec.note)


def _group(row: TableRow) -> list[Any]:
    """Rows that differ in their last option alone belong together."""
    return list(row.options.values())[:-1]


def _group_rows(
    group: Sequence[TableRow], spec: TableSpec, scores: Sequence[Score], columns: Sequence[Any]
) -> list[Row]:
    """Return a row each, and what it must beat: once where that is the same for all of them."""
    ours, nulls = [], []
    for number, row in enumerate(group):
        row_scores = [_find(scores, {**row.options, spec.columns: column}) for column in columns]
        labels = tuple(option_text(k, v) for k, v in row.options.items())
        before = tuple("" for _ in labels[:-1])
        cells = [
            _cell(score, row.paper.get(str(column)))
            for score, column in zip(row_scores, columns, strict=True)
        ]
        # a label that repeats is said once
        ours.append(Row((*(before if number else labels[:-1]), labels[-1]), tuple(cells)))
        nulls.append(_null_row(before, row_scores))
    if all(null == nulls[0] for null in nulls):
        return [*ours, nulls[0]]
    return [row for pair in zip(ours, nulls, strict=True) for row in pair]


def _find(scores: Sequence[Score], options: dict[str, Any]) -> Score | None:
    fits = (s for s in scores if all(s.options.get(k) == v for k, v in options.items()))
    return next(fits, None)


def _cell(score: Score | None, printed: float | None) -> Cell:
    if score is None:
        return Cell(paper="" if printed is None else f"{printed:g}")
    digits = 1 if score.bounds == (0.0, 1.0) else 2
    paper = "" if printed is None else f"{printed:.{digits}f}"
    interval = score.interval
    spread = "" if interval is None else interval_words(interval, score)
    return Cell(value_text(score.value, score), spread, paper=paper)


def _null_row(before: tuple[str, ...], scores: Sequence[Score | None]) -> Row:
    """Return what the row above must beat; one name for all columns comes first."""
    nulls = [None if score is None else score.null for score in scores]
    names = {null.label for null in nulls if null is not None}
    clean = any(score is not None and is_defect_metric(score) for score in scores)
    several = "clean null" if clean else "strongest baseline"
    shared = f"{'clean null' if clean else 'null'}: {names.pop()}" if len(names) == 1 else several
    cells = tuple(
        Cell()
        if score is None or null is None
        else Cell(value_text(null.value, score), null.label if shared == several else "")
        for score, null in zip(scores, nulls, strict=True)
    )
    return Row((*before, shared), cells, "null")


def grid_table(spec: GridSpec, material: RunMaterial) -> Table | None:
    """Return a stored table laid out as rows by columns, in per cent."""
    stored = material.table(Path(spec.table).name)
    if stored is None:
        return None
    missing = [name for name in (spec.rows, spec.columns, spec.values) if name not in stored]
    if missing:
        raise EvidenceError(f"table {spec.table!r}", f"no {missing}", f"some of {sorted(stored)}")
    chosen = stored.get("chosen", [False] * len(stored[spec.rows]))
    grid = {
        (str(row), str(column)): (value, mark)
        for row, column, value, mark in zip(
            stored[spec.rows], stored[spec.columns], stored[spec.values], chosen, strict=True
        )
    }
    rows = list(dict.fromkeys(row for row, _ in grid))
    columns = list(dict.fromkeys(column for _, column in grid))
    laid = []
    for row in rows:
        cells = []
        for column in columns:
            value, mark = grid.get((row, column), (None, False))
            share = 100 * value if spec.percent and value is not None else value
            paper = _number(spec.paper.get(row, {}).get(column), spec)
            cells.append(Cell(_number(share, spec), paper=paper, chosen=bool(mark)))
        laid.append(Row((row,), tuple(cells)))
    heads = (spec.rows.replace("_", " "),)
    names = tuple(
        f"{column} {spec.columns}" if column.replace(".", "").isdigit() else column
        for column in columns
    )
    return Table(heads, names, tuple(laid), spec.title, spec.note)


def _number(value: float | None, spec: GridSpec) -> str:
    if value is None:
        return ""
    return f"{value:.1f}" if spec.percent else f"{round(value, 2) + 0.0:.2f}"
