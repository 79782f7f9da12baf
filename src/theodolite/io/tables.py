"""Tables as Parquet."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.errors import RefusedInput
from theodolite.io.paths import all_or_nothing, existing

Columns = Mapping[str, Sequence[Any] | np.ndarray]


def read_parquet(path: Path, what: str = "table") -> dict[str, list[Any]]:
    """The columns of a Parquet file by name. Extension types can run code: they are refused."""
    import pyarrow as pa  # noqa: PLC0415  a third of a second that most commands do not need
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        file = pq.ParquetFile(existing(path, what))
        schema = file.schema_arrow
        extended = [f.name for f in schema if b"ARROW:extension:name" in (f.metadata or {})]
        extended += [f.name for f in schema if isinstance(f.type, pa.BaseExtensionType)]
        if extended:
            raise RefusedInput(
                f"{what} {path.name!r}", f"extension types in {extended}", "plain columns"
            )
        columns: dict[str, list[Any]] = file.read().to_pydict()
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise RefusedInput(f"{what} {path.name!r}", "no readable Parquet", "Parquet") from error
    return columns


def write_parquet(path: Path, columns: Columns) -> None:
    """Write columns of equal length, all or nothing."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    with all_or_nothing(path) as stream:
        pq.write_table(table, stream, compression="zstd")
