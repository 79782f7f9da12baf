"""Read and write Parquet tables, and read columns of CSV and Arrow files."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from theodolite._storage._parquet_checks import (
    MAX_COLUMNS,
    MAX_UNPACKED_BYTES,
    check_footer,
    check_sizes,
    own_types,
    unpacked_bytes,
)
from theodolite._storage.memory_limit import check_memory, get_memory_limit
from theodolite._storage.paths import all_or_nothing, existing, size_within
from theodolite._storage.row_files.arrow_rows import read_arrow_rows
from theodolite._storage.row_files.parquet_pages import read_page_sizes
from theodolite.errors import UnsafeInputError

Columns = Mapping[str, Sequence[Any] | np.ndarray]
# an empty cell is one byte of a CSV file and eight of a column of numbers
MAX_CSV_BYTES = MAX_UNPACKED_BYTES // 8
MAX_HEADER = 1 << 20
ARROW = (".arrow", ".arrows", ".feather", ".ipc")


@dataclass(frozen=True)
class Words:
    """A column of words: each is said once, cells hold its place. A cell without word has -1."""

    categories: tuple[str, ...]
    codes: Int[np.ndarray, " rows"]


def read_parquet(path: Path, what: str = "table") -> dict[str, list[Any]]:
    """The columns of a Parquet file by name. Extension types can run code: they are refused."""
    with existing(path, what).open("rb") as stream:
        return _columns(stream, f"{what} {path.name!r}")


def read_parquet_from(content: bytes, name: str) -> dict[str, list[Any]]:
    """The columns of a table from bytes, under the same rules."""
    return _columns(io.BytesIO(content), f"table {name!r}")


def read_arrow_from(content: bytes, name: str) -> Any:
    """A table from bytes as pyarrow has it, with its metadata, under the same rules."""
    stream = io.BytesIO(content)
    with _refused_plainly(stream, f"table {name!r}"):
        import pyarrow as pa  # noqa: PLC0415

        return pa.concat_tables(list(_groups(stream, f"table {name!r}"))).unify_dictionaries()


def read_coded(path: Path, what: str = "table") -> dict[str, Words | np.ndarray]:
    """The columns of a long table without a Python object per cell, under the same rules.

    Words come as codes into what they say, numbers as an array in which null is undefined.
    """
    with existing(path, what).open("rb") as stream:
        return _coded_columns(stream, f"{what} {path.name!r}")


def read_coded_from(content: bytes, name: str) -> dict[str, Words | np.ndarray]:
    """Read a coded table from bytes."""
    return _coded_columns(io.BytesIO(content), f"table {name!r}")


def _coded_columns(stream: io.BufferedIOBase, label: str) -> dict[str, Words | np.ndarray]:
    with _refused_plainly(stream, label):
        import pyarrow as pa  # noqa: PLC0415

        joined = pa.concat_tables(list(_groups(stream, label))).unify_dictionaries()
        return {name: _coded(joined[name]) for name in joined.column_names}


def _coded(column: Any) -> Words | np.ndarray:
    import pyarrow as pa  # noqa: PLC0415

    whole = column.combine_chunks()
    if pa.types.is_dictionary(whole.type):
        codes = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        categories = tuple(str(word) for word in whole.dictionary.to_pylist())
        return Words(categories, codes.astype(np.int64))
    if pa.types.is_integer(whole.type) or pa.types.is_floating(whole.type):
        return np.asarray(whole.cast(pa.float64()).to_numpy(zero_copy_only=False), float)
    return np.array(whole.to_pylist(), object)


def _columns(stream: io.BufferedIOBase, what: str) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {}
    with _refused_plainly(stream, what):
        for table in _groups(stream, what):
            for name in table.column_names:
                columns.setdefault(name, []).extend(table[name].to_pylist())
    return columns


@contextmanager
def _refused_plainly(stream: io.BufferedIOBase, what: str) -> Iterator[None]:
    """Look at the footer before pyarrow does; what pyarrow cannot read is refused in our words."""
    check_footer(stream, what)
    import pyarrow as pa  # noqa: PLC0415  a third of a second that most commands do not need

    try:
        yield
    except UnsafeInputError:
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise UnsafeInputError(what, "no readable Parquet", "Parquet") from error


def _groups(stream: io.BufferedIOBase, what: str) -> Iterator[Any]:
    """Groups of rows as pyarrow tables, after an empty one that says which columns there are."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    metadata = pq.read_metadata(stream)
    check_sizes(metadata, what)
    leaves = [metadata.schema.column(i) for i in range(len(metadata.schema))]
    # words stay stored once until it is known how much they unpack to
    words = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for number in range(group.num_columns):  # a page may say more than the footer does
            check_memory(read_page_sizes(stream, group.column(number), what).unpacked, what)
    stream.seek(0)
    file = pq.ParquetFile(stream, read_dictionary=words)
    extended = [field.name for field in file.schema_arrow if not own_types(pa.struct([field]))]
    if extended:
        raise UnsafeInputError(what, f"extension types in {extended}", "plain columns")
    names = file.schema_arrow.names
    if len(set(names)) < len(names):
        raise UnsafeInputError(what, f"columns {names}", "distinct names")
    yield file.schema_arrow.empty_table()
    room = limit = min(MAX_UNPACKED_BYTES, get_memory_limit())
    for group in range(file.num_row_groups):
        table = file.read_row_group(group)
        room -= sum(unpacked_bytes(part) for column in table.columns for part in column.chunks)
        if room < 0:
            raise UnsafeInputError(what, "more when unpacked", f"at most {limit:,} bytes")
        yield table


def column_names(path: Path, what: str = "table") -> list[str]:
    """Return the names of the columns of a .csv, .parquet or Arrow file."""
    label = f"{what} {path.name!r}"
    if path.suffix == ".csv":
        return _csv_header(path, what)
    if path.suffix in ARROW:
        with existing(path, what).open("rb") as stream, read_arrow_rows(stream, label) as (own, _):
            if len(set(own.names)) < len(own.names) or len(own.names) > MAX_COLUMNS:
                got = f"{len(own.names):,} columns, {len(set(own.names)):,} names"
                raise UnsafeInputError(label, got, f"at most {MAX_COLUMNS:,} distinct names")
            return list(own.names)
    with existing(path, what).open("rb") as stream, _refused_plainly(stream, label):
        return list(next(_groups(stream, label)).column_names)


def read_columns(path: Path, names: Sequence[str], what: str = "table") -> dict[str, Any]:
    """Read some columns of a .csv, .parquet or Arrow file; memory is bounded beforehand."""
    label = f"{what} {path.name!r}"
    if path.suffix == ".csv":
        return _csv_columns(path, names, what)
    if path.suffix in ARROW:
        return _arrow_columns(path, names, what)
    with existing(path, what).open("rb") as stream, _refused_plainly(stream, label):
        import pyarrow as pa  # noqa: PLC0415

        joined = pa.concat_tables(list(_groups(stream, label))).unify_dictionaries()
        return {name: joined[name] for name in names}


def _csv_header(path: Path, what: str) -> list[str]:
    size_within(path, min(MAX_CSV_BYTES, get_memory_limit() // 8), what)
    with path.open("rb") as stream:
        start = stream.read(MAX_HEADER).decode("utf-8-sig", errors="replace")
    try:
        header = next(csv.reader(io.StringIO(start, newline=""), strict=True), [])
    except csv.Error as error:
        raise UnsafeInputError(f"{what} {path.name!r}", f"broken CSV ({error})", "CSV") from error
    if not header or len(set(header)) < len(header) or len(header) > MAX_COLUMNS:
        got = f"{len(header):,} columns, {len(set(header)):,} names"
        raise UnsafeInputError(
            f"{what} {path.name!r}", got, f"at most {MAX_COLUMNS:,} distinct names in line 1"
        )
    return header


def _csv_columns(path: Path, names: Sequence[str], what: str) -> dict[str, Any]:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.csv as arrow_csv  # noqa: PLC0415

    _csv_header(path, what)
    convert = arrow_csv.ConvertOptions(include_columns=list(names), strings_can_be_null=True)
    parse = arrow_csv.ParseOptions(newlines_in_values=True)
    try:
        with path.open("rb") as stream:  # by its name arrow would unpack it, too
            table = arrow_csv.read_csv(stream, parse_options=parse, convert_options=convert)
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UnsafeInputError(f"{what} {path.name!r}", f"broken CSV ({reason})", "CSV") from error
    return {name: table[name] for name in names}


def _arrow_columns(path: Path, names: Sequence[str], what: str) -> dict[str, Any]:
    import pyarrow as pa  # noqa: PLC0415

    label, batches, size = f"{what} {path.name!r}", [], 0
    with existing(path, what).open("rb") as stream, read_arrow_rows(stream, label) as (own, rows):
        batches.append(own.empty_table().select(names))
        for batch in rows:
            batches.append(pa.Table.from_batches([batch]).select(names))
            size += batches[-1].nbytes
            check_memory(size, label)
        joined = pa.concat_tables(batches).unify_dictionaries()
    return {name: joined[name] for name in names}


def parquet_bytes(columns: Mapping[str, Any], metadata: Mapping[str, str] | None = None) -> bytes:
    """Columns of equal length as the bytes of a Parquet file, perhaps with texts beside them."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    table = pa.table(
        {
            name: values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
            for name, values in columns.items()
        }
    ).replace_schema_metadata(metadata)
    stream = io.BytesIO()
    pq.write_table(table, stream, compression="zstd")
    return stream.getvalue()


def write_parquet(path: Path, columns: Columns) -> None:
    """Write columns of equal length, all or nothing."""
    content = parquet_bytes(columns)
    with all_or_nothing(path) as stream:
        stream.write(content)
