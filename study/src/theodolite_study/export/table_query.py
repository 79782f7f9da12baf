"""Represent a table of an export as a query: columns with their kinds, and ordered rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import sql

from theodolite_study.export.answer_columns import AnswerColumn, CellKind
from theodolite_study.export.snapshot import Moments, StudySnapshot

Cells = dict[str, tuple[CellKind, str]]
"""Column name to its kind and SQL expression."""

# people who agreed and did not take it back; nothing by which a platform knows them
FROM_SQL = """
    with real as (
        select i.*, row_number() over (order by place, key collate "C") - 1 as n
          from instance i where study_id = %(study)s and kind = 'real'),
    person as (
        select p.id, p.platform, p.pseudonym, p.state, p.quota, p.design_row, p.flags, p.created_at,
               p.finished_at, p.version_id, p.language, p.condition_id, p.promised, p.outcome,
               p.outcome_at, row_number() over (order by pseudonym collate "C") - 1 as n
          from participant p where study_id = %(study)s and not preview and state <> 'withdrawn'
           and exists (select from consent c where c.participant_id = p.id)
           and (version_id = any (%(versions)s) or exists (
               select from assignment a join slot s on s.id = a.slot_id
                where a.participant_id = p.id and s.round = %(round)s)))
    select {cells} {rest}"""


@dataclass(frozen=True)
class TableQuery:
    """Query of one exported table."""

    name: str
    cells: Cells
    rest: str
    """SQL after the columns: tables, filter and order."""

    @property
    def kinds(self) -> Mapping[str, CellKind]:
        """Kinds of the columns by name."""
        return {name: kind for name, (kind, _) in self.cells.items()}

    def text(self, study: StudySnapshot) -> str:
        """Return the whole query."""
        cells = ", ".join(f'{what} as "{name}"' for name, (_, what) in self.cells.items())
        return study.filled(FROM_SQL.replace("{cells}", cells).replace("{rest}", self.rest))


def quote_literal(value: Any) -> str:
    """Quote a value for SQL, with percent signs doubled."""
    return sql.Literal(value).as_string(None).replace("%", "%%")


def build_cell(column: AnswerColumn, answers: str) -> tuple[CellKind, str]:
    key = quote_literal(column.block)
    if column.kind == "json":
        return column.kind, f"({answers} -> {key})::text"
    cast = {"whole": "::int", "number": "::float8"}.get(column.kind, "")
    return column.kind, f"({answers} ->> {key}){cast}"


def build_cells(columns: Sequence[AnswerColumn], answers: str) -> Cells:
    return {column.name: build_cell(column, answers) for column in columns}


def build_seconds_sql(start: str, end: str, moments: Moments) -> str:
    digits = 6 if moments == "of the study" else 0
    return (
        f"case when {end} >= {start} then round(extract(epoch from {end} - {start}), {digits}) end"
    )


def build_number_sql(what: str, *, exact: bool) -> str:
    """Return SQL that converts a browser's value to a number or null."""
    digits = 2 if exact else 0
    return f"case jsonb_typeof({what}) when 'number' then round(({what})::numeric, {digits}) end"
