"""Write CSV files whose text no spreadsheet runs as a formula. Used by `study payments`."""

import csv
import io
from typing import Any

from theodolite.ext.studies import Table

STARTS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r")
PREFIX = "'"
NOTE = (
    "All cells are quoted. Text that begins with = + - @, a tab or a carriage return has a ' "
    "before it, so that no spreadsheet takes it for a formula; take it off when reading. A cell "
    "without anything is no answer. Parquet holds everything as it is."
)


def format_csv(table: Table) -> bytes:
    """Format a table as CSV in UTF-8 with a header line, every cell quoted."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(
        [_format_cell(value) for value in row] for row in zip(*table.values(), strict=True)
    )
    return stream.getvalue().encode()


def _format_cell(value: Any) -> str:
    """Format a cell. Numbers may begin with a minus; only text can contain formulas.

    >>> [_format_cell(value) for value in ("=1+1", -1.5, None, True, "so")]
    ["'=1+1", '-1.5', '', 'true', 'so']
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return repr(value)
    return PREFIX + value if value.startswith(STARTS_A_FORMULA) else value
