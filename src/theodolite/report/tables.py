"""Tables of scores: rows by models or options, with intervals, nulls and the paper's values."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._runs.folder.spec import GridSpec, TableRow, TableSpec
from theodolite._runs.material import RunMaterial
from theodolite._stats.resampling import mean_interval
from theodolite.errors import EvidenceError
from theodolite.report.chapters.clean import is_defect_metric, loses_to_null
from theodolite.report.words import interval_words, minus, option_text, value_text
from theodolite.results import Score


@dataclass(frozen=True)
class Cell:
    """A value with its interval, what it must beat, and what the paper printed."""

    value: str = ""
    under: str = ""
    null: str = ""
    lost: bool = False
    """Whether the value is no better than the null."""
    paper: str = ""
    chosen: bool = False


@dataclass(frozen=True)
class Row:
    """A labeled row; the row of a null has what the rows above it must beat."""

    labels: tuple[str, ...]
    cells: tuple[Cell, ...]
    css: str = ""
    notes: tuple[str, ...] = ()
    """What stands small under the last label."""


@dataclass(frozen=True)
class Table:
    """A table ready to be laid out."""

    heads: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    title: str = ""
    note: str = ""
    css: str = ""
    better: tuple[str, ...] = ()
    """What stands small under each column's name."""

    @property
    def has_paper(self) -> bool:
        """Whether a paper printed any of the values."""
        return any(cell.paper for row in self.rows for cell in row.cells)

    @property
    def has_losers(self) -> bool:
        """Whether a value is no better than its null."""
        return any(cell.lost for row in self.rows for cell in row.cells)


def mean_over_seeds(score: Score, level: float) -> tuple[float, float, float]:
    """Return the mean over seeds with Student's interval; without seeds, the score and its own."""
    seeds = np.array(score.per_seed)
    if len(seeds) > 1 and not np.isnan(seeds).all():
        value = float(seeds[~np.isnan(seeds)].mean())
        interval = mean_interval(seeds, level, "seeds")
        return (value, value, value) if interval is None else (value, interval.low, interval.high)
    if score.interval is None:
        return score.value, math.nan, math.nan
    return score.value, score.interval.low, score.interval.high


def score_cell(
    score: Score | None,
    level: float,
    *,
    half: bool = False,
    printed: float | None = None,
    text: Callable[[float, Score], str] = value_text,
) -> Cell:
    """Return the mean over seeds with its interval, or half of it, and the score's null."""
    if score is None or math.isnan(score.value):
        return Cell("–", paper="" if printed is None else minus(f"{printed:g}"))
    value, low, high = mean_over_seeds(score, level)
    under = ""
    if not math.isnan(low) and half:
        # two seeds may have a wider interval than the score can be
        under = f"± {text(min((high - low) / 2, score.bounds[1] - score.bounds[0]), score)}"
    elif not math.isnan(low):
        under = f"{text(low, score)} to {text(high, score)}"
    return Cell(
        value=minus(text(value, score)),
        under=minus(under),
        null="" if score.null is None else minus(text(score.null.value, score)),
        lost=loses_to_null(score),
        paper="" if printed is None else minus(text(printed, score)),
    )


def score_table(spec: TableSpec, scores: Sequence[Score]) -> Table | None:
    """Rows by options, columns by a swept option; after each group the null hardest to beat."""
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
    """A row each, and what it must beat: once where that is the same for all of them."""
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
    """What the row above must beat. One name for all columns stands in front."""
    nulls = [None if score is None else score.null for score in scores]
    names = {null.label for null in nulls if null is not None}
    clean = any(score is not None and is_defect_metric(score) for score in scores)
    several = "clean null" if clean else "knows nothing, at best"
    shared = f"{'clean null' if clean else 'null'}: {names.pop()}" if len(names) == 1 else several
    cells = tuple(
        Cell()
        if score is None or null is None
        else Cell(value_text(null.value, score), null.label if shared == several else "")
        for score, null in zip(scores, nulls, strict=True)
    )
    return Row((*before, shared), cells, "null")


def _number(value: float | None, spec: GridSpec) -> str:
    if value is None:
        return ""
    return f"{value:.1f}" if spec.percent else f"{round(value, 2) + 0.0:.2f}"


def grid_table(spec: GridSpec, material: RunMaterial) -> Table | None:
    """A stored table laid out as rows by columns, in per cent."""
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
    scale = 100 if spec.percent else 1
    rows = list(dict.fromkeys(row for row, _ in grid))
    columns = list(dict.fromkeys(column for _, column in grid))
    laid = []
    for row in rows:
        cells = []
        for column in columns:
            value, mark = grid.get((row, column), (None, False))
            printed = spec.paper.get(row, {}).get(column)
            cells.append(
                Cell(
                    value=_number(None if value is None else value * scale, spec),
                    paper=_number(printed, spec),
                    chosen=bool(mark),
                )
            )
        laid.append(Row((row,), tuple(cells)))
    heads = (spec.rows.replace("_", " "),)
    names = tuple(
        f"{column} {spec.columns}" if column.replace(".", "").isdigit() else column
        for column in columns
    )
    return Table(heads, names, tuple(laid), spec.title, spec.note)
