"""What the benchmark writes: rows of figures with intervals, table by table."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from theodolite._stats.resampling import Draws, compute_percentile_ends
from theodolite._storage.records import Record
from theodolite._verdicts.scores_file import written
from theodolite_reproductions.unit_resamples import UnitResamples


class TechniqueRow(Record):
    """One figure with its interval."""

    names: dict[str, str]
    """What it is of, by column."""
    value: float | None
    low: float | None = None
    high: float | None = None
    error: float | None = None
    unit: str = ""
    """What was resampled."""
    units: int = 0
    n: int = 0
    """Explanations, votes or people that it is from."""


class TechniqueTable(Record):
    """Figures of one kind."""

    name: str
    title: str
    rows: list[TechniqueRow]


class TechniquesVotesRecord(Record):
    """All tables of the benchmark."""

    kind: Literal["techniques_votes"] = "techniques_votes"
    title: str
    source: str
    """Who voted."""
    explanations: int
    techniques: int
    images: int
    people: int | None
    """None where votes do not say whose they are."""
    tables: list[TechniqueTable]
    notes: list[str]

    def rows(self, table: str, **names: str) -> list[TechniqueRow]:
        """Rows of a table that have these names."""
        return [
            row
            for own in self.tables
            if own.name == table
            for row in own.rows
            if all(row.names.get(key) == value for key, value in names.items())
        ]


def row_from(
    names: Mapping[str, str], draws: Draws, resamples: UnitResamples, units: int, n: int
) -> TechniqueRow:
    """A row with its interval; without one where fewer than two units can be drawn, or where
    nothing is defined."""
    value = written(float(draws[0]))
    defined = draws[1:][~np.isnan(draws[1:])]
    if value is None or units < 2 or len(defined) < 2:
        return TechniqueRow(names=dict(names), value=value, unit=resamples.unit, units=units, n=n)
    low, high = compute_percentile_ends(draws)
    return TechniqueRow(
        names=dict(names), value=value, low=low, high=high, error=float(defined.std(ddof=1)),
        unit=resamples.unit, units=units, n=n,
    )  # fmt: skip


def table_from(name: str, title: str, rows: Sequence[TechniqueRow]) -> TechniqueTable:
    """A table of them."""
    return TechniqueTable(name=name, title=title, rows=list(rows))
