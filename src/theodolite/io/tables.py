"""Tables as Parquet."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.errors import RefusedInput
from theodolite.io._parquet_checks import (
    MAX_UNPACKED_BYTES,
    check_footer,
    check_sizes,
    own_types,
    unpacked_bytes,
)
from theodolite.io.paths import all_or_nothing, existing

Columns = Mapping[str, Sequence[Any] | np.ndarray]


def read_parquet(path: Path, what: str = "table") -> dict[str, list[Any]]:
    """The columns of a Parquet file by name. Extension types can run code: they are refused."""
    with existing(path, what).open("rb") as stream:
        return _columns(stream, f"{what} {path.name!r}")


def read_parquet_from(content: bytes, name: str) -> dict[str, list[Any]]:
    """The columns of a table from bytes, under the same rules."""
    return _columns(io.BytesIO(content), f"table {name!r}")


def _columns(stream: io.BufferedIOBase, what: str) -> dict[str, list[Any]]:
    check_footer(stream, what)
    import pyarrow as pa  # noqa: PLC0415  a third of a second that most commands do not need

    try:
        return _read(stream, what)
    except RefusedInput:
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise RefusedInput(what, "no readable Parquet", "Parquet") from error


def _read(stream: io.BufferedIOBase, what: str) -> dict[str, list[Any]]:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    about = pq.read_metadata(stream)
    check_sizes(about, what)
    leaves = [about.schema.column(i) for i in range(len(about.schema))]
    # words stay stored once until it is known how much they unpack to
    words = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    stream.seek(0)
    file = pq.ParquetFile(stream, read_dictionary=words)
    extended = [field.name for field in file.schema_arrow if not own_types(pa.struct([field]))]
    if extended:
        raise RefusedInput(what, f"extension types in {extended}", "plain columns")
    names = file.schema_arrow.names
    if len(set(names)) < len(names):
        raise RefusedInput(what, f"columns {names}", "distinct names")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    room = MAX_UNPACKED_BYTES
    for group in range(file.num_row_groups):
        table = file.read_row_group(group)
        room -= sum(unpacked_bytes(part) for column in table.columns for part in column.chunks)
        if room < 0:
            raise RefusedInput(what, "more when unpacked", f"at most {MAX_UNPACKED_BYTES:,} bytes")
        for name in names:
            columns[name] += table[name].to_pylist()
    return columns


def parquet_bytes(columns: Columns) -> bytes:
    """Columns of equal length as the bytes of a Parquet file."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    stream = io.BytesIO()
    pq.write_table(table, stream, compression="zstd")
    return stream.getvalue()


def write_parquet(path: Path, columns: Columns) -> None:
    """Write columns of equal length, all or nothing."""
    content = parquet_bytes(columns)
    with all_or_nothing(path) as stream:
        stream.write(content)
