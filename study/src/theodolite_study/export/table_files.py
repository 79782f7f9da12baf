"""Stream rows of queries into Parquet and CSV files, and hash them while writing."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq  # noqa: TID251  nothing is read by it

from theodolite_study.export.answer_columns import CellKind

GROUP_ROWS, BATCH_ROWS = 50_000, 5_000
"""Rows of a row group, and rows that are parsed at once."""
TYPES: Mapping[CellKind, pa.DataType] = {
    "text": pa.string(), "json": pa.string(), "whole": pa.int64(), "number": pa.float64(),
    "flag": pa.bool_(),
}  # fmt: skip
INTERNAL_PREFIX = "_"
"""Prefix of internal columns, which are not written."""
FORMULA_PATTERN = "^[=+@\t\r-]"
CSV_NOTE = (
    "Cells with something in them are quoted. Text that begins with = + - @, a tab or a carriage "
    "return has a ' before it, so that no spreadsheet takes it for a formula; take it off when "
    "reading. A cell without anything is no answer. Parquet holds everything as it is."
)


class HashedFile:
    """New file whose digest is known when it is closed."""

    def __init__(self, path: Path) -> None:
        self.path, self._stream, self._digest = path, path.open("xb"), hashlib.sha256()
        self.closed = False

    def write(self, content: Any) -> int:
        """Append content to the file."""
        self._digest.update(content)
        return self._stream.write(content)

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self._stream.tell()

    def flush(self) -> None:
        """Flush the file."""
        self._stream.flush()

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        self.closed = True

    def hexdigest(self) -> str:
        """Return the SHA-256 of the written content."""
        return self._digest.hexdigest()


def stream_rows(connection: psycopg.Connection[Any], query: str, options: str) -> Iterator[bytes]:
    """Yield rows as COPY sends them, one at a time."""
    with (
        connection.cursor() as cursor,
        cursor.copy(f"copy ({query}) to stdout ({options})") as rows,
    ):
        for row in rows:
            yield bytes(row)


def stream_batches(
    connection: psycopg.Connection[Any], query: str, kinds: Mapping[str, CellKind]
) -> Iterator[pa.RecordBatch]:
    """Yield rows of a query in groups of equal size, so that equal rows give equal bytes."""
    convert = arrow_csv.ConvertOptions(
        column_types={name: TYPES[kind] for name, kind in kinds.items()}, null_values=[""],
        true_values=["t"], false_values=["f"], strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )  # fmt: skip
    read = arrow_csv.ReadOptions(column_names=list(kinds), use_threads=False, block_size=1 << 26)
    parse = arrow_csv.ParseOptions(newlines_in_values=True)
    rows = stream_rows(connection, query, "format csv")
    pieces: list[pa.Table] = []
    while content := b"".join(islice(rows, BATCH_ROWS)):
        pieces.append(arrow_csv.read_csv(pa.py_buffer(content), read, parse, convert))
        if len(pieces) == GROUP_ROWS // BATCH_ROWS:
            yield _join(pieces)
            pieces = []
    if pieces:
        yield _join(pieces)


def _join(pieces: list[pa.Table]) -> pa.RecordBatch:
    batch = pa.concat_tables(pieces).combine_chunks().to_batches()[0]
    pieces.clear()
    pa.default_memory_pool().release_unused()
    return batch


@dataclass
class TableFiles:
    """Writer of tables as Parquet, and optionally as CSV."""

    folder: Path
    csv: bool = False
    digests: dict[str, str] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)

    @contextmanager
    def table(self, name: str, kinds: Mapping[str, CellKind]) -> Iterator["OpenTable"]:
        """Open a table that batches are appended to."""
        written = {
            name: kind for name, kind in kinds.items() if not name.startswith(INTERNAL_PREFIX)
        }
        schema = pa.schema([(name, TYPES[kind]) for name, kind in written.items()])
        files = [HashedFile(self.folder / f"{name}.parquet")]
        parquet = pq.ParquetWriter(files[0], schema, compression="zstd")
        plain = None
        if self.csv:
            files.append(HashedFile(self.folder / f"{name}.csv"))
            options = arrow_csv.WriteOptions(quoting_style="all_valid")
            plain = arrow_csv.CSVWriter(files[1], schema, write_options=options)
        table = OpenTable(schema, parquet, plain)
        try:
            yield table
        finally:
            parquet.close()
            if plain is not None:
                plain.close()
            for file in files:
                file.close()
        self.rows[name] = table.rows
        self.digests |= {file.path.name: file.hexdigest() for file in files}

    def lines(self, name: str, rows: Iterator[bytes]) -> None:
        """Write a file of lines."""
        file = HashedFile(self.folder / name)
        for row in rows:
            file.write(row)
        file.close()
        self.digests[name] = file.hexdigest()

    def content(self, name: str, content: bytes) -> None:
        """Write a small file."""
        self.lines(name, iter([content]))


@dataclass
class OpenTable:
    """Table that is being written."""

    schema: pa.Schema
    parquet: Any
    plain: Any
    rows: int = 0

    def put(self, batch: pa.RecordBatch) -> None:
        """Append a batch of rows."""
        rows = batch.select(self.schema.names).cast(self.schema)
        self.parquet.write_batch(rows, row_group_size=GROUP_ROWS)
        if self.plain is not None:
            self.plain.write_batch(_escape_formulas(rows))
        self.rows += rows.num_rows


def _escape_formulas(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Escape text that a spreadsheet would run as a formula."""
    columns = []
    for column in batch.columns:
        if pa.types.is_string(column.type):
            starts = pc.match_substring_regex(column, FORMULA_PATTERN)
            column = pc.if_else(starts, pc.binary_join_element_wise("'", column, ""), column)
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)
