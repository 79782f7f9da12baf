"""Tables of scores, with intervals, nulls and what a paper printed."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from theodolite._stats.resampling import mean_interval
from theodolite.report.chapters.clean import loses_to_null
from theodolite.report.words import minus, value_text
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
